"""The functions that write money, called by hand as the service: what is not whole, own and fresh is refused."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Any

import asyncpg
import pytest

from build import Checkout
from conftest import MakeCheckout
from tidegate.infra.db import Database
from tidegate.infra.http.operation import encode
from tidegate.payment import event_examples

Change = dict[str, Any]

REFUSED = (
    asyncpg.PostgresError,  # Every refusal of the database itself,
    asyncpg.DataError,  # and of the driver, which checks types.
)
TABLES = (
    *("payment", "attempt", "receipt", "notification", "money_return", "event", "journal", "entry", "wallet"),
    *("refund", "refund_leg", "collection", "collection_tally"),
)
NOW = "2026-11-15T12:00:00.123456Z"
PAYLOAD = b64encode(encode(event_examples.EVENTS[0].example)).decode()


async def rows(admin: Any) -> str:
    """Of every table that the functions write, as text."""
    texts = [
        await admin.fetchval(f"SELECT coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '') FROM {table} AS t")
        for table in TABLES
    ]
    return "\n".join(texts)


async def settlement(checkout: Checkout, admin: Any) -> Change:
    """Of a payment that waits for a transfer, as the program would write it."""
    await checkout.account()
    found = await admin.fetchrow(
        """
        SELECT payment.id, payment.version, expected_minor, payment.fee_rule_id, attempt.id AS attempt_id,
               account_id, account_number
          FROM payment JOIN attempt USING (business_id, expected_minor)
         WHERE pay_code = $1 AND attempt.payment_id = payment.id
        """,
        checkout.pay_code,
    )
    expected = found["expected_minor"]
    return {
        "payment_id": found["id"], "version": found["version"], "now": NOW, "status": "success",
        "received_minor": expected, "held_minor": 0, "returned_minor": 0, "fee_minor": 100, "vat_minor": 8,
        "settled_minor": expected - 108, "method": "bank_transfer", "paid_at": NOW, "expected_minor": expected,
        "fee_rule_id": found["fee_rule_id"], "ref_rail": "sandbox", "ref_id": f"by-hand-{found['id']}",
        "ref_body": b64encode(b"{}").decode(), "attempt_id": found["attempt_id"], "attempt_status": "succeeded",
        "account_id": found["account_id"], "account_number": found["account_number"], "polls": 0, "answers": 0,
        "resends": 0, "rail": "sandbox", "transaction_id": f"by-hand-{found['id']}", "currency": "NGN",
        "amount_minor": expected, "outcome": "settled", "payer": {}, "kind": "checkout_settled",
        "cause": f"payment/{found['id']}", "accounts": ["rail", "wallet", "fee", "vat"],
        "currencies": ["NGN"] * 4, "amounts_minor": [-expected, expected - 108, 100, 8], "event_at": NOW,
        "event_id": f"evt_{found['id']}", "event_type": "charge.successful", "event_cause": f"payment/{found['id']}",
        "event_payload": PAYLOAD, "event_reference": checkout.reference,
    }  # fmt: skip


async def apply(db: Database, business_id: str, *changes: Any) -> Any:
    async with db.connection() as tx:
        return await tx.fetchval(
            "SELECT apply_payment_changes($1, $2, $3)", business_id, json.dumps(changes), datetime.fromisoformat(NOW)
        )


NOT_WRITTEN: dict[str, Callable[[Change, Change], Change]] = {
    "of another version": lambda own, _: own | {"version": own["version"] + 1},
    "of another business": lambda _, other: other,
    "under a lease that nobody holds": lambda own, _: (
        own | {"lease": "x", "lease_kind": "ask_about_attempts", "lease_id": "x"}
    ),
    "an attempt of another business": lambda own, other: own | {"attempt_id": other["attempt_id"]},
    "an attempt that does not exist": lambda own, _: own | {"attempt_id": 10**15},
    "a cent too little": lambda own, _: own | {"amounts_minor": [-10, 7, 1, 1]},
    "a journal without lines": lambda own, _: own | {"accounts": [], "currencies": [], "amounts_minor": []},
    "more settled than received": lambda own, _: own | {"settled_minor": own["settled_minor"] + 1},
    "a status that does not exist": lambda own, _: own | {"status": "paid"},
    "money that is none": lambda own, _: own | {"amount_minor": 0},
    "more than a number holds": lambda own, _: own | {"received_minor": 2**63},
    "a text for a number": lambda own, _: own | {"received_minor": "many"},
    "a notification that is not base64": lambda own, _: own | {"ref_body": "***"},
    "a journal that is not known": lambda own, _: own | {"kind": "gift"},
    "nothing at all": lambda _, __: {},
}


@pytest.mark.parametrize("spoil", NOT_WRITTEN.values(), ids=NOT_WRITTEN)
async def test_a_change_of_a_payment_is_refused_as_a_whole(
    spoil: Callable[[Change, Change], Change], new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout, other = await new_checkout(), await new_checkout()
    own, foreign = await settlement(checkout, admin), await settlement(other, admin)
    before = await rows(admin)
    try:
        outcomes = await apply(db, checkout.shop.business_id, spoil(own, foreign))
    except REFUSED:
        outcomes = []
    assert "written" not in outcomes
    assert await rows(admin) == before
    assert await apply(db, checkout.shop.business_id, own) == ["written"]  # It was good before it was spoilt.


@pytest.mark.parametrize("text", ["", "null", "{}", "[[]]", "[7]", '"x"', "[{}", '[{"now":"\\u0000"}]'])
async def test_what_is_no_list_of_changes_is_refused(text: str, db: Database, admin: Any) -> None:
    before = await rows(admin)
    async with db.connection() as tx:
        try:
            outcomes = await tx.fetchval("SELECT apply_payment_changes('x', $1, now())", text)
        except REFUSED:
            outcomes = []
    assert "written" not in (outcomes or [])
    assert await rows(admin) == before


async def test_no_change_is_no_outcome(db: Database, admin: Any) -> None:
    before = await rows(admin)
    assert await apply(db, "x") == []
    assert await rows(admin) == before


async def test_the_same_change_twice_is_written_once(new_checkout: MakeCheckout, db: Database, admin: Any) -> None:
    checkout = await new_checkout()
    own = await settlement(checkout, admin)
    assert await apply(db, checkout.shop.business_id, own, own) == ["written", "duplicate"]
    before = await rows(admin)
    again = own | {"version": own["version"] + 1}
    assert await apply(db, checkout.shop.business_id, own, again) == ["duplicate", "duplicate"]
    assert await apply(db, checkout.shop.business_id, again | {"ref_id": "another"}) == ["already_received"]
    assert await rows(admin) == before


async def test_one_bad_change_does_not_keep_the_others_out(
    new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    one = await new_checkout()
    two = await new_checkout(one.shop)
    first, second = await settlement(one, admin), await settlement(two, admin)
    stale = first | {"version": 99}
    assert await apply(db, one.shop.business_id, stale, second) == ["stale", "written"]


@pytest.mark.one_server("a call is for one business on a cluster")
async def test_of_several_businesses_each_writes_what_is_its_own(
    new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    one, two = await new_checkout(), await new_checkout()
    first, second = await settlement(one, admin), await settlement(two, admin)

    async def apply_to(*business_ids: str) -> Any:
        async with db.connection() as tx:
            return await tx.fetchval(
                "SELECT apply_payment_changes_of_several($1, $2, $3)",
                list(business_ids), json.dumps([first, second]), [datetime.fromisoformat(NOW)] * 2,
            )  # fmt: skip

    before = await rows(admin)
    assert await apply_to(two.shop.business_id, one.shop.business_id) == ["stale", "stale"]
    assert await rows(admin) == before
    assert await apply_to(one.shop.business_id, one.shop.business_id) == ["written", "stale"]
    assert await apply_to(one.shop.business_id, two.shop.business_id) == ["duplicate", "written"]


JOURNAL = {
    "kind": "return_done", "cause": "by hand", "accounts": ["returns", "rail"], "currencies": ["NGN", "NGN"],
    "amounts_minor": [-100, 100], "event_at": NOW,
}  # fmt: skip
NOTIFICATION = {"rail": "sandbox", "id": "by-hand", "body": b64encode(b"{}").decode()}
INFLOW = {
    "id": 1, "version": 0, "reference": "col_x", "account_id": "x", "status": "successful", "source_currency": "USD",
    "source_minor": 100, "destination_currency": "USD", "rail": "sandbox", "transaction_id": "x", "payer": {},
    "scheme": "ach", "name_check": {}, "valued_at": NOW,
}  # fmt: skip
RECEIPT = {"rail": "sandbox", "transaction_id": "x", "currency": "NGN", "amount_minor": 100, "payer": {}}
REFUND = {
    "reference": "ref_x", "currency": "NGN", "amount_minor": 100, "fee_returned_minor": 0, "vat_returned_minor": 0,
}  # fmt: skip
UNBALANCED = JOURNAL | {"amounts_minor": [-100, 99]}
# By function: what stands between its business and its time.
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "record_inflow": [
        ({},),
        ({"inflow": INFLOW, "notification": NOTIFICATION, "journal": JOURNAL, "account_version": 0},),
        ({"inflow": INFLOW | {"account_id": None}, "journal": JOURNAL},),
    ],
    "change_inflow": [({},), ({"inflow": INFLOW, "journal": JOURNAL},)],
    "record_unclaimed": [
        ({},),
        ({"receipt": RECEIPT, "notification": NOTIFICATION, "journal": UNBALANCED},),
        ({"receipt": RECEIPT | {"amount_minor": -1}, "notification": NOTIFICATION, "journal": JOURNAL},),
        ({"receipt": RECEIPT | {"payment_id": 10**15}, "notification": NOTIFICATION, "journal": JOURNAL},),
        ({"receipt": RECEIPT, "journal": JOURNAL},),
    ],
    "decide_unclaimed": [({},), ({"decision": {"receipt_id": 1, "decision": "assigned"}, "journal": JOURNAL},)],
    "confirm_return": [("ret_x", {}), ("ret_x", {"journal": JOURNAL, "sent_as": "x"}), (None, {"journal": JOURNAL})],
    "start_refund": [
        ({},),
        ({"refund": REFUND, "legs": [], "journal": JOURNAL},),
        ({"refund": REFUND | {"payment_id": 10**15}, "legs": [], "journal": JOURNAL},),
        ({"refund": REFUND | {"collection_id": 10**15}, "legs": [], "journal": JOURNAL},),
    ],
}


@pytest.mark.parametrize(("function", "given"), [(name, given) for name, calls in CALLS.items() for given in calls])
async def test_other_changes_are_refused_as_a_whole(
    function: str, given: tuple[Any, ...], new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await new_checkout()
    before = await rows(admin)
    arguments = [json.dumps(part) if isinstance(part, dict) else part for part in given]
    places = ", ".join(f"${number}" for number in range(2, len(given) + 2))
    async with db.connection() as tx:
        try:
            done = await tx.fetchval(f"SELECT {function}($1, {places}, now())", checkout.shop.business_id, *arguments)
        except REFUSED:
            done = False
    assert done in (False, None, "already_received", "duplicate")
    assert await rows(admin) == before


async def test_functions_with_their_owners_rights_look_into_pg_temp_last(admin: Any) -> None:
    found = await admin.fetch(
        "SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace"
        " AND 'search_path=public, pg_temp' <> ALL (coalesce(proconfig, '{}'))"
    )
    assert found == []


@pytest.mark.one_server("on a cluster the function runs on another node")
@pytest.mark.parametrize("table", ["journal", "entry", "wallet", "journal_to_link"])
async def test_no_temporary_table_stands_in_for_the_ledger(
    table: str, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await new_checkout()
    own = await settlement(checkout, admin)
    before = await admin.fetchval(f"SELECT count(*) FROM {table}")
    async with db.transaction() as tx:
        await tx.execute(f"CREATE TEMPORARY TABLE {table} (LIKE public.{table} INCLUDING ALL) ON COMMIT DROP")
        await tx.execute(f"GRANT ALL ON pg_temp.{table} TO PUBLIC")
        outcomes = await tx.fetchval(
            "SELECT apply_payment_changes($1, $2, now())", checkout.shop.business_id, json.dumps([own])
        )
        assert await tx.fetchval(f"SELECT count(*) FROM pg_temp.{table}") == 0
    assert outcomes == ["written"]
    assert await admin.fetchval(f"SELECT count(*) FROM {table}") > before


async def post(
    db: Database, posting: str, *, businesses: str = "ARRAY[$1]", nows: str = "ARRAY[now()]", of: str
) -> Any:
    async with db.connection() as tx:
        return await tx.fetchval(f"SELECT post_journals_of_several({businesses}, ARRAY[{posting}], {nows})", of)


def unclaimed(currencies: str = "{USD,USD}", event_at: str = "now()", cause: str = "x") -> str:
    return f"ROW('return_done', '{cause}', '{{rail,fee}}', '{currencies}', '{{5,-5}}', {event_at})::posting"


@pytest.mark.parametrize("currencies", ["{{NGN,USD}}", "{{NGN},{USD}}", "[0:1]={NGN,NGN}", "{NGN,NULL}"])
async def test_a_journal_whose_currencies_are_no_plain_list_is_refused(
    currencies: str, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    business_id = (await new_checkout()).shop.business_id
    before = await rows(admin)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await post(db, unclaimed(currencies), of=business_id)
    assert await rows(admin) == before


async def test_a_list_in_a_list_hides_no_second_currency(new_checkout: MakeCheckout, db: Database, admin: Any) -> None:
    checkout = await new_checkout()
    own = await settlement(checkout, admin)
    before = await rows(admin)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await apply(db, checkout.shop.business_id, own | {"currencies": [["NGN", "NGN", "USD", "NGN"]]})
    assert await rows(admin) == before


async def test_a_journal_of_no_business_is_refused(db: Database, admin: Any) -> None:
    before = await rows(admin)
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await post(db, unclaimed(), of="nobusiness")
    assert await rows(admin) == before


async def test_nothing_but_a_journal_awaits_the_chain(new_checkout: MakeCheckout, db: Database) -> None:
    business_id = (await new_checkout()).shop.business_id
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with db.connection() as tx:
            await tx.execute("INSERT INTO journal_to_link (business_id, journal_id) VALUES ($1, 1)", business_id)


@pytest.mark.parametrize("moment", ["infinity", "-infinity", "294276-12-31 00:00+00", "4000-01-01 00:00+00 BC"])
async def test_what_happened_at_no_time_of_this_age_is_refused(
    moment: str, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    business_id = (await new_checkout()).shop.business_id
    before = await rows(admin)
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await post(db, unclaimed(), nows=f"ARRAY['{moment}'::timestamptz]", of=business_id)
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await post(db, unclaimed(event_at=f"'{moment}'::timestamptz"), of=business_id)
    with pytest.raises(asyncpg.InvalidParameterValueError):
        async with db.connection() as tx:
            await tx.fetchval(f"SELECT close_wallet_period($1, 'NGN', '{moment.removesuffix(' BC')}')", business_id)
    assert await rows(admin) == before


@pytest.mark.parametrize(
    ("businesses", "nows"),
    [
        ("ARRAY[$1]", "ARRAY[now(), now()]"),
        ("ARRAY[$1, $1]", "ARRAY[now()]"),
        ("'[0:1]={x,x}'::text[] || ARRAY[$1]", "ARRAY[now(), now()]"),
        ("ARRAY[$1, $1]", "'[0:1]={2026-11-19,2026-11-19}'::timestamptz[]"),
        ("ARRAY[[$1], [$1]]", "ARRAY[now(), now()]"),
    ],
)
async def test_journals_without_a_business_and_a_time_each_are_refused(
    businesses: str, nows: str, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    business_id = (await new_checkout()).shop.business_id
    before = await rows(admin)
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await post(db, f"{unclaimed()}, {unclaimed(cause='y')}", businesses=businesses, nows=nows, of=business_id)
    assert await rows(admin) == before


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_money_is_written_in_transactions_that_see_what_they_waited_for(
    isolation: str, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await new_checkout()
    own = await settlement(checkout, admin)
    before = await rows(admin)
    async with db.connection() as tx:
        with pytest.raises(asyncpg.InvalidTransactionStateError):
            async with tx.transaction(isolation=isolation):  # type: ignore[attr-defined]
                await tx.fetchval(
                    "SELECT apply_payment_changes($1, $2, now())", checkout.shop.business_id, json.dumps([own])
                )
    assert await rows(admin) == before


async def test_no_payment_is_a_success_without_its_journal(
    new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await new_checkout()
    own = await settlement(checkout, admin)
    before = await rows(admin)
    no_journal = {name: value for name, value in own.items() if name != "kind"}
    no_money = {name: value for name, value in no_journal.items() if name != "transaction_id"}
    other_journal = own | {"cause": "payment/0"}
    assert await apply(db, checkout.shop.business_id, no_journal, no_money, other_journal) == ["stale"] * 3
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await apply(db, checkout.shop.business_id, no_journal | {"status": "pending"})
    assert await rows(admin) == before


@pytest.mark.parametrize("accounts", ["[0:1]={rail,refunds}", "{NULL,refunds}"])
async def test_a_journal_whose_accounts_are_no_plain_list_is_refused(
    accounts: str, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    business_id = (await new_checkout()).shop.business_id
    before = await rows(admin)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await post(
            db, f"ROW('refund_started', 'x', '{accounts}', '{{NGN,NGN}}', '{{5,-5}}', now())::posting", of=business_id
        )
    assert await rows(admin) == before


@pytest.mark.parametrize("businesses", ["ARRAY[$1]", "ARRAY[$1, NULL]", "ARRAY[$1, $1, $1]"])
async def test_changes_without_a_business_each_are_refused(
    businesses: str, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await new_checkout()
    changes = json.dumps([{"version": 99}, await settlement(checkout, admin)])
    before = await rows(admin)
    with pytest.raises(asyncpg.InvalidParameterValueError):
        async with db.connection() as tx:
            await tx.fetchval(
                f"SELECT apply_payment_changes_of_several({businesses}, $2, ARRAY[now(), now()])",
                checkout.shop.business_id,
                changes,
            )
    assert await rows(admin) == before
