"""Transfers to virtual accounts: nothing is lost, nothing is credited twice."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from conftest import MakeCheckout
from inflow import CLOSE, DIFFERENT, Inflows, credit, reversal_of
from tidegate.account import commands as accounts
from tidegate.audit.model import OPERATOR
from tidegate.collection import reversal
from tidegate.core.money import Currency
from tidegate.intake import commands as intake
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.merchant import commands as merchants
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.sandbox import signed_notification

# As the specification's 2.8 names them.
EVENT_FIELDS = (
    "business", "virtualAccount", "senderAddress", "sourceCurrency", "destinationCurrency", "sourceAmount",
    "destinationAmount", "description", "amountReceived", "fee", "customerName", "settlementDestination", "status",
    "initiatedAt", "createdAt", "updatedAt", "reference", "paymentScheme",
)  # fmt: skip
NOBODY = {"name": None, "accountNumber": None, "bankName": None, "bankCode": None}


async def counts(inflows: Inflows) -> dict[str, int]:
    tables = ("notification", "collection", "receipt", "journal", "event", "money_return")
    # An account that was opened has told of it.
    spared = {"event": " WHERE type NOT LIKE 'virtualaccount%'"}
    return {
        table: await inflows.admin.fetchval(f"SELECT count(*) FROM {table}{spared.get(table, '')}") for table in tables
    }


async def quarantined(inflows: Inflows) -> list[str]:
    rows = await inflows.admin.fetch("SELECT note FROM notification WHERE state = 'quarantined' ORDER BY received_at")
    return [row["note"] for row in rows]


async def test_the_event_has_every_field_and_each_is_true(inflows: Inflows) -> None:
    account = await inflows.account(merchant_reference="SHOP-EUR")
    assert account.details is not None
    record = await inflows.notified(credit(account.details.account_number, 100_50))
    data = await inflows.event("collection.successful")
    assert [name for name in EVENT_FIELDS if data.get(name) is None] == []
    same = (
        "senderAddress", "sourceCurrency", "destinationCurrency", "sourceAmount", "destinationAmount", "description",
        "amountReceived", "fee", "vat", "customerName", "status", "initiatedAt", "createdAt", "updatedAt", "reference",
        "paymentScheme", "merchantReference",
    )  # fmt: skip
    assert {name: data[name] for name in same} == {name: record[name] for name in same}
    assert (data["business"], data["virtualAccount"]) == (inflows.shop.business_id, account.id)
    assert data["settlementDestination"] == "wallet"
    assert (record["status"], await inflows.wallet("EUR")) == ("successful", 95_50)
    assert await inflows.entries("inflow_credited") == {
        ("rail", "EUR", -100_50), ("wallet", "EUR", 95_50), ("fee", "EUR", 5_00),
    }  # fmt: skip


async def test_an_unsigned_notification_is_refused_and_not_stored(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    before = await counts(inflows)
    for header in ("", "t=1,v1=" + "0" * 64, "t=99999999999,v1=" + "0" * 64, "junk"):
        assert (await inflows.notify(body, **{"sandbox-signature": header})).status_code == 401
    assert await counts(inflows) == before


async def test_the_same_notification_fifty_times_is_one_credit(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    for _ in range(5):
        answers = await asyncio.gather(*(inflows.notify(body) for _ in range(10)))
        assert {answer.status_code for answer in answers} <= {200, 503}
    assert await inflows.wallet("EUR") == 95_00
    assert (await inflows.page())["total"] == 1
    assert await inflows.events() == {"collection.successful": 1, "virtualaccount.approved": 1}


@pytest.mark.parametrize(
    "pair",
    [({}, {"amount": "20000"}), ({}, {"currency": "USD"}), ({"currency": "USD"}, {})],
    ids=["another amount", "another currency", "another currency first"],
)
async def test_the_same_bank_reference_in_other_words_is_quarantined(
    inflows: Inflows, pair: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    number = await inflows.number()
    first, second = [credit(number, **{"transactionId": "T-1", **words}) for words in pair]
    assert (await inflows.notify(first)).status_code == 200
    before = await counts(inflows)
    for _ in range(2):
        assert (await inflows.notify(second)).status_code == 200
    [why] = await quarantined(inflows)
    assert "T-1" in why
    assert await counts(inflows) == {**before, "notification": 2}


async def test_the_same_bank_reference_for_another_account_is_quarantined(inflows: Inflows) -> None:
    for number in (await inflows.number(), await inflows.number()):
        assert (await inflows.notify(credit(number, transactionId="T-1"))).status_code == 200
    [why] = await quarantined(inflows)
    assert "T-1" in why
    assert await inflows.wallet("EUR") == 95_00


@pytest.mark.parametrize("is_inflow_first", [True, False])
@pytest.mark.parametrize("says", ["money arrived", "the attempt succeeded"])
async def test_one_bank_reference_is_an_inflow_or_pays_a_payment(
    says: str, is_inflow_first: bool, inflows: Inflows, new_checkout: MakeCheckout
) -> None:
    checkout = await new_checkout(inflows.shop)
    inflow = credit(await inflows.number(), transactionId="T-1")
    payment = credit(await checkout.account(), 10_000, currency="NGN", scheme="nip", transactionId="T-1")
    if says == "the attempt succeeded":
        reference = await inflows.admin.fetchval("SELECT reference FROM attempt")
        payment = {
            "type": "attempt.succeeded", "id": payment["id"], "businessId": inflows.shop.business_id,
            "reference": reference, "transactionId": "T-1", "amount": "10000", "currency": "NGN",
        }  # fmt: skip
    notifications = [inflow, payment] if is_inflow_first else [payment, inflow]
    for notification in notifications:
        assert (await inflows.notify(notification)).status_code == 200
    [why] = await quarantined(inflows)
    assert "T-1" in why
    seen = await counts(inflows)
    assert (seen["collection"], seen["receipt"], seen["journal"]) == (is_inflow_first, not is_inflow_first, 1)
    assert (await checkout.record())["status"] == ("pending" if is_inflow_first else "success")


@pytest.mark.parametrize("amount", [0, -1, "0", "-5", "1.005", "1e9999", "", "x", None, [], 10**19])
async def test_an_amount_that_is_no_amount_is_quarantined(inflows: Inflows, amount: Any) -> None:
    answer = await inflows.notify(credit(await inflows.number(), amount=amount))
    assert answer.status_code == 200
    seen = await counts(inflows)
    assert (seen["notification"], seen["collection"], seen["journal"]) == (1, 0, 0)
    assert len(await quarantined(inflows)) == 1


@pytest.mark.parametrize(
    "odd",
    [{"transactionId": "x" * 500}, {"valuedAt": "9999-12-31T23:59:59-12:00"}, {"valuedAt": "0001-01-01T00:00:00Z"},
     {"payeeName": "a\0b"}, {"remittance": "\ud800"}, {"scheme": ""}, {"accountNumber": "\0"}],
    ids=str,
)  # fmt: skip
async def test_a_notification_with_text_that_cannot_be_stored_is_quarantined(
    inflows: Inflows, odd: dict[str, Any]
) -> None:
    assert (await inflows.notify(credit(await inflows.number(), **odd))).status_code == 200
    assert len(await quarantined(inflows)) == 1


async def test_another_currency_is_recorded_in_suspense(inflows: Inflows) -> None:
    number = await inflows.number()
    for currency in ("USD", "NGN"):
        assert (await inflows.notify(credit(number, currency=currency))).status_code == 200
    rows = await inflows.admin.fetch("SELECT business_id, outcome, account_number FROM receipt")
    assert {tuple(row) for row in rows} == {(inflows.shop.business_id, "suspense", number)}
    assert await inflows.entries("receipt_unclaimed") == {
        ("rail", "USD", -100_00), ("suspense", "USD", 100_00), ("rail", "NGN", -100_00), ("suspense", "NGN", 100_00),
    }  # fmt: skip
    assert (await inflows.page())["total"] == 0


async def test_an_unknown_account_is_recorded_under_the_operators_business(inflows: Inflows) -> None:
    body = credit("DE89370400440532013000")
    for _ in range(3):
        assert (await inflows.notify(body)).status_code == 200
    assert (await inflows.notify({**body, "id": "another"})).status_code == 200
    rows = await inflows.admin.fetch("SELECT business_id, amount_minor FROM receipt")
    assert [tuple(row) for row in rows] == [(PLATFORM_BUSINESS_ID, 100_00)]


@pytest.mark.parametrize("state", ["suspended", "expired", "expired and swept", "closed"])
async def test_an_account_that_takes_no_money_sends_it_back(inflows: Inflows, state: str) -> None:
    db = inflows.runtime.db
    expires_at = inflows.now + timedelta(microseconds=1) if "expired" in state else None
    account = await inflows.account(expires_at=expires_at)
    assert account.details is not None
    if state == "suspended":
        await accounts.suspend(db, account.id, "a complaint", by=OPERATOR, now=inflows.now)
    if state == "closed":
        await accounts.close(db, account.id, "for good", by=OPERATOR, now=inflows.now)
    if state == "expired and swept":
        await accounts.expire_due(inflows.runtime.deps, inflows.runtime.clock)
    asked = await inflows.notified(credit(account.details.account_number))
    assert (asked["status"], asked["isReversed"], asked["amountReceived"]) == ("reversed", 1, None)
    refund = asked["refundInfo"]
    assert refund["reasonCode"] == f"account_{state.split(maxsplit=1)[0]}"
    assert (refund["status"], refund["confirmedAt"]) == ("asked", None)
    assert refund["askedAt"] == asked["createdAt"]
    assert "collection.returned" not in await inflows.events()
    await inflows.tick()
    await inflows.let_pass("1m")
    done = (await inflows.get(asked["reference"]))["refundInfo"]
    assert (done["status"], done["returnReference"]) == ("confirmed", refund["returnReference"])
    assert await inflows.entries("receipt_returning") == {("rail", "EUR", -100_00), ("returns", "EUR", 100_00)}
    assert await inflows.entries("return_done") == {("returns", "EUR", -100_00), ("rail", "EUR", 100_00)}
    events = await inflows.events()
    assert ("collection.successful" in events, events["collection.returned"]) == (False, 1)
    data = await inflows.event("collection.returned")
    assert (data["reasonCode"], data["returnReference"]) == (refund["reasonCode"], refund["returnReference"])
    assert data["returnedAt"] == done["confirmedAt"]
    assert await inflows.wallet("EUR") == 0


async def test_an_account_that_was_reinstated_takes_money_again(inflows: Inflows) -> None:
    account = await inflows.account()
    assert account.details is not None
    await accounts.suspend(inflows.runtime.db, account.id, "a complaint", by=OPERATOR, now=inflows.now)
    await accounts.reinstate(inflows.runtime.db, account.id, by=OPERATOR, now=inflows.now)
    assert (await inflows.notified(credit(account.details.account_number)))["status"] == "successful"


async def test_an_inflow_under_another_name_is_returned_with_the_reason(inflows: Inflows) -> None:
    record = await inflows.notified(credit(await inflows.number(), payeeName=DIFFERENT))
    assert (record["status"], record["refundInfo"]["reasonCode"]) == ("reversed", "name_differs")
    assert record["nameCheck"]["verdict"] == "different"
    assert record["payeeName"] == DIFFERENT
    reason = await inflows.admin.fetchval("SELECT reason FROM money_return")
    assert reason.startswith("BE01 ")


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        ("ADA OBI", "successful"),
        ("  ada   obi ", "successful"),
        ("Obi, Ada", "successful"),
        ("Mrs Ada Chioma Obi", "successful"),
        ("Ada Óbi", "successful"),
        (CLOSE, "pending"),
        ("A. Obi", "pending"),
        ("Obi", "reversed"),
    ],
)
async def test_names_are_compared_by_the_one_rule(inflows: Inflows, typed: str, status: str) -> None:
    assert (await inflows.notified(credit(await inflows.number(), payeeName=typed)))["status"] == status


@pytest.mark.parametrize("payer", ["Ada Obi", "Chidi Eze", None])
async def test_an_inflow_without_a_recipient_name_is_held_for_any_sender(inflows: Inflows, payer: str | None) -> None:
    body = credit(await inflows.number(), payeeName=None, payer={**NOBODY, "name": payer}, remittance=None)
    record = await inflows.notified(body)
    assert (record["status"], record["nameCheck"]["compared"]) == ("pending", "none")
    assert record["reason"] == "the bank gave no name for the recipient"
    assert record["payeeName"] == "Ada Obi"


async def test_what_the_bank_does_not_say_is_empty_text(inflows: Inflows) -> None:
    record = await inflows.notified(credit(await inflows.number(), payer=NOBODY, remittance=None))
    event = await inflows.event("collection.successful")
    for shown in (record, event):
        assert (shown["customerName"], shown["senderAddress"], shown["senderBank"]) == ("", "", "")
        assert shown["description"] == "Bank transfer"


@pytest.mark.parametrize(
    "name", ["", "x" * 1_000, "عبد الله", "\u202eiba", "'; DROP TABLE collection --", "<script>", "𝔸𝕕𝕒", "a " * 500]
)
async def test_any_text_may_stand_for_a_name(inflows: Inflows, name: str) -> None:
    record = await inflows.notified(credit(await inflows.number(), payeeName=name, payer={**NOBODY, "name": name}))
    assert record["status"] == ("reversed" if name else "pending")
    assert record["reason"]


@pytest.mark.parametrize(
    ("valued_at", "flag"),
    [("2099-01-01T00:00:00Z", "future"), ("2016-01-01T00:00:00+05:30", "old"), ("1900-06-01T00:00:00Z", "old")],
)
async def test_an_odd_value_date_is_shown_and_the_books_have_our_time(
    inflows: Inflows, valued_at: str, flag: str
) -> None:
    record = await inflows.notified(credit(await inflows.number(), valuedAt=valued_at))
    assert (record["status"], record["valueDateFlag"]) == ("successful", flag)
    booked_at = await inflows.admin.fetchval("SELECT event_at FROM journal")
    assert abs(booked_at - inflows.now) < timedelta(minutes=1)


async def test_a_usual_value_date_has_no_flag(inflows: Inflows) -> None:
    valued_at = (inflows.now - timedelta(days=2)).isoformat()
    assert (await inflows.notified(credit(await inflows.number(), valuedAt=valued_at)))["valueDateFlag"] is None


async def test_a_reversal_before_its_credit_waits_for_it(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    assert (await inflows.notify(reversal_of(body))).status_code == 200
    assert await inflows.journals() == {}
    assert (await reversal.apply_due(inflows.runtime.deps, inflows.runtime.clock)).done == 0
    await inflows.notified(body)
    await inflows.tick()
    record = await inflows.inflow(body["transactionId"])
    assert (record["status"], record["refundInfo"]["reasonCode"]) == ("failed", "taken_back")
    # Nobody was told of money that was gone already.
    assert (await inflows.wallet("EUR"), "collection.successful" in await inflows.events()) == (0, False)


async def test_a_reversal_notified_twice_is_one(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    await inflows.notified(body)
    back = reversal_of(body)
    for notification in (back, back, {**back, "id": "another"}, reversal_of(body)):
        assert (await inflows.notify(notification)).status_code == 200
    await inflows.tick()
    assert await inflows.journals() == {"inflow_credited": 1, "credit_reversed": 1}
    assert (await inflows.page(status="reversed"))["total"] == 1
    assert (await inflows.page(status="successful"))["total"] == 0


async def test_any_amount_is_credited_unless_the_operator_asks_for_a_review(inflows: Inflows) -> None:
    assert (await inflows.notified(credit(await inflows.number(), 60_000_00)))["status"] == "successful"


async def arrive(inflows: Inflows, deps: PaymentDeps, body: dict[str, Any]) -> dict[str, Any]:
    """At a service with other terms than the one that listens."""
    clock = inflows.runtime.clock
    signed = signed_notification.sign(json.dumps(body).encode(), inflows.runtime.secret, now=clock.now())
    await intake.receive(deps, "sandbox", signed, clock)
    return await inflows.inflow(body["transactionId"])


async def test_an_amount_from_the_operators_review_limit_on_is_held_with_the_reason(inflows: Inflows) -> None:
    number, limit, deps = await inflows.number(), 50_000_00, inflows.runtime.deps
    strict = replace(deps, inflow_terms=replace(deps.inflow_terms, review_from_major=50_000))
    below, held = [await arrive(inflows, strict, credit(number, minor)) for minor in (limit - 1, limit)]
    assert (below["status"], held["status"]) == ("successful", "pending")
    assert "reviewed" in held["reason"]
    assert (held["amountReceived"], held["isReversed"], held["refundInfo"]) == (None, 0, None)
    assert await inflows.entries("receipt_held") == {("rail", "EUR", -limit), ("suspense", "EUR", limit)}
    assert (await inflows.events())["collection.successful"] == 1


async def test_money_for_a_suspended_business_is_held(inflows: Inflows) -> None:
    number = await inflows.number()
    await merchants.change(inflows.runtime.db, inflows.shop.business_id, {"status": "suspended"}, now=inflows.now)
    assert (await inflows.notify(credit(number))).status_code == 200
    row = await inflows.admin.fetchrow("SELECT status, reason FROM collection")
    assert tuple(row) == ("pending", "business_suspended")


async def test_two_deposits_in_the_same_moment_are_two(inflows: Inflows) -> None:
    number = await inflows.number()
    answers = await asyncio.gather(*(inflows.notify(credit(number)) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert await inflows.wallet("EUR") == 8 * 95_00
    assert (await inflows.events())["collection.successful"] == 8


async def test_the_event_is_written_with_the_money_and_not_with_the_wake_up(
    inflows: Inflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(inflows.runtime.db), "notify", lambda *_: None)
    await inflows.notified(credit(await inflows.number(Currency.USD), currency="USD"))
    is_fanned_out = await inflows.admin.fetchval("SELECT is_fanned_out FROM event WHERE type = 'collection.successful'")
    assert is_fanned_out is False
