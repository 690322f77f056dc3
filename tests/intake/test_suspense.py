"""What operators decide about money in suspense: assigned, returned or closed, each once, with the books examined."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bank.transfer import PRICE, begun, paid, seen
from bank.world import BankWorld
from build import Shop
from conftest import check_books
from inflow import DIFFERENT, Inflows, credit, reversal_of
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict, NotFound, Refusal
from tidegate.core.money import Currency
from tidegate.intake import commands as intake
from tidegate.intake import suspense, suspense_store
from tidegate.intake.model import SuspenseDecision, SuspenseReceipt
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.payment.model import PaymentStatus
from tidegate.rail.event import DisputeChanged, DisputeStatus, Notification
from tidegate.reconcile import store as reconcile_store
from tidegate.runtime import Runtime

_numbers = count()
ADA, BISI = Actor("operator/ada"), Actor("operator/bisi")
UNKNOWN_NUMBER = "DE02120300000000202051"


@pytest.fixture
async def bank(shop: Shop, runtime: Runtime, admin: Any, tmp_path: Path) -> AsyncIterator[BankWorld]:
    yield BankWorld.of(shop, runtime, admin, tmp_path)
    await check_books(runtime)
    await balances_agree(runtime)


async def balances_agree(runtime: Runtime) -> None:
    """What moved at the rails is what the ledger says they owe us."""
    async with runtime.db.connection() as tx:
        assert [one for one in await reconcile_store.list_balances(tx) if not one.agrees] == []


async def open_cases(runtime: Runtime) -> list[SuspenseReceipt]:
    async with runtime.db.connection() as tx:
        return await suspense_store.list_open(tx, limit=100)


async def only_case(runtime: Runtime) -> SuspenseReceipt:
    [one] = await open_cases(runtime)
    return one


async def assign(bank: BankWorld, receipt_id: int, reference: str, by: Actor = ADA, **changed: Any) -> SuspenseDecision:
    given = {"business_id": bank.shop.business_id, "reference": reference, "note": "asked the payer", **changed}
    return await suspense.assign_to_payment(bank.deps, receipt_id, by=by, now=bank.now, **given)


async def test_assigned_to_a_payment_it_settles_like_a_transfer_that_matched(bank: BankWorld) -> None:
    pay_code, _ = await begun(bank)
    await bank.bring(paid("invoice 7"))
    case = await only_case(bank.runtime)
    made = await assign(bank, case.id, pay_code)
    assert (made.decision, made.given_to, made.subject) == ("assigned", bank.shop.business_id, pay_code)
    after = (await seen(bank, pay_code)).payment
    assert (after.status, after.received.minor) == (PaymentStatus.SUCCESS, PRICE)
    assert await bank.admin.fetchval("SELECT count(*) FROM event WHERE type = 'charge.successful'") == 1
    assert await open_cases(bank.runtime) == []
    rows = await bank.admin.fetch("SELECT business_id, actor, details FROM audit WHERE action = 'suspense.assigned'")
    assert {row["business_id"] for row in rows} == {PLATFORM_BUSINESS_ID, bank.shop.business_id}
    assert all(row["actor"] == "operator/ada" and "asked the payer" in row["details"] for row in rows)
    # Again, by its other reference: nothing changes.
    assert await assign(bank, case.id, after.reference, by=BISI) == made
    with pytest.raises(Conflict, match=f"assigned to {pay_code} .* by operator/ada"):
        await suspense.close(bank.deps, case.id, note="mine", by=BISI, now=bank.now)


async def test_the_same_transfer_in_a_later_file_stays_with_its_payment(bank: BankWorld) -> None:
    pay_code, _ = await begun(bank)
    await bank.bring(paid(None))
    await assign(bank, (await only_case(bank.runtime)).id, pay_code)
    await bank.bring(paid(None).replace(b"<MsgId>", b"<MsgId>again-"))
    assert await open_cases(bank.runtime) == []
    assert await bank.admin.fetchval("SELECT count(*) FROM receipt") == 1


async def test_two_operators_at_once_make_one_decision(bank: BankWorld) -> None:
    pay_codes = [(await begun(bank))[0] for _ in range(2)]
    await bank.bring(paid(None))
    case = await only_case(bank.runtime)
    made = await asyncio.gather(
        *(assign(bank, case.id, pay_code, by) for pay_code in pay_codes for by in (ADA, BISI)),
        suspense.send_back(bank.deps, case.id, note="unknown", by=BISI, now=bank.now),
        suspense.close(bank.deps, case.id, note="settled", by=ADA, now=bank.now),
        return_exceptions=True,
    )
    decisions = [one for one in made if isinstance(one, SuspenseDecision)]
    assert all(isinstance(one, SuspenseDecision | Conflict) for one in made), made
    assert len({(one.decision, one.subject) for one in decisions}) == 1
    assert await bank.admin.fetchval("SELECT count(*) FROM suspense_decision") == 1


async def test_what_the_rules_would_send_back_is_refused_and_stays(bank: BankWorld) -> None:
    pay_code, action = await begun(bank)
    await bank.bring(paid(action.reference))
    await bank.bring(paid("again", reference="2"))
    case = await only_case(bank.runtime)
    with pytest.raises(Conflict, match="already paid; assign it elsewhere, or return it"):
        await assign(bank, case.id, pay_code)
    assert await only_case(bank.runtime) == case


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"reference": "nothing"}, "has no payment nothing"),
        ({"business_id": "0" * 24}, f"the business {'0' * 24} has no payment"),
        ({"receipt_id": 0}, "0 is not in suspense"),
        ({"receipt_id": 2**80}, "is not in suspense"),
        ({"receipt_id": 987_654_321}, "987654321 is not in suspense"),
    ],
)
async def test_a_foreign_or_unknown_id_is_named(bank: BankWorld, changed: dict[str, Any], expected: str) -> None:
    pay_code, _ = await begun(bank)
    await bank.bring(paid(None))
    case = await only_case(bank.runtime)
    given = {"receipt_id": case.id, "reference": pay_code, **changed}
    with pytest.raises(NotFound, match=expected):
        await assign(bank, **given)
    assert await only_case(bank.runtime) == case


async def test_another_currency_or_another_way_to_pay_is_refused(bank: BankWorld, inflows: Inflows) -> None:
    pay_code, _ = await begun(bank)
    body = credit(UNKNOWN_NUMBER)
    await inflows.notify(body)
    case = await only_case(bank.runtime)
    with pytest.raises(Conflict, match="has no transfer by sandbox"):
        await assign(bank, case.id, pay_code)
    dollars = await inflows.account(Currency.USD)
    with pytest.raises(Conflict, match="takes USD, not EUR"):
        await to_account(inflows, case.id, dollars.id)
    with pytest.raises(NotFound, match="has no virtual account"):
        await to_account(inflows, case.id, "not-an-id")
    assert await only_case(bank.runtime) == case


async def to_account(inflows: Inflows, receipt_id: int, account_id: str) -> SuspenseDecision:
    return await suspense.assign_to_account(
        inflows.runtime.deps, receipt_id, business_id=inflows.shop.business_id, account_id=account_id, note="asked",
        by=ADA, now=inflows.now,
    )  # fmt: skip


@pytest.mark.parametrize("is_known", [False, True], ids=["unknown number", "wrong currency"])
async def test_assigned_to_an_account_it_is_an_inflow_which_the_bank_may_take_back(
    inflows: Inflows, is_known: bool
) -> None:
    """The money was under the platform, or under the same business. Reversals name the first number."""
    number = await inflows.number(Currency.USD) if is_known else UNKNOWN_NUMBER
    body, account = credit(number), await inflows.account()
    await inflows.notify(body)
    case = await only_case(inflows.runtime)
    await to_account(inflows, case.id, account.id)
    inflow = await inflows.inflow(body["transactionId"])
    assert (inflow["status"], await inflows.wallet("EUR")) == ("successful", 95_00)
    assert (await inflows.events())["collection.successful"] == 1
    again = {**body, "id": "again"}
    assert (await inflows.notify(again)).status_code == 200
    assert (await open_cases(inflows.runtime), await inflows.wallet("EUR")) == ([], 95_00)
    assert await inflows.admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 0
    await inflows.notify(reversal_of(body))
    await inflows.tick()
    assert ((await inflows.inflow(body["transactionId"]))["status"], await inflows.wallet("EUR")) == ("reversed", 0)
    await balances_agree(inflows.runtime)


async def test_a_business_whose_clock_is_ahead_gets_it_by_its_own_time(inflows: Inflows) -> None:
    """Otherwise its event is older than its endpoints, and is sent to none."""
    account = await inflows.account()
    await inflows.let_pass("5d")
    await inflows.notify(credit(UNKNOWN_NUMBER))
    case = await only_case(inflows.runtime)
    await suspense.assign_to_account(
        inflows.runtime.deps, case.id, business_id=inflows.shop.business_id, account_id=account.id, note="asked",
        by=ADA, now=inflows.runtime.clock.now(),
    )  # fmt: skip
    for table in ("collection", "event"):
        made_at = await inflows.admin.fetchval(f"SELECT max(created_at) FROM {table}")
        assert inflows.now - made_at < timedelta(days=1), table
    await balances_agree(inflows.runtime)


async def test_an_inflow_with_a_different_name_is_refused(inflows: Inflows) -> None:
    account = await inflows.account()
    await inflows.notify(credit(UNKNOWN_NUMBER, payeeName=DIFFERENT))
    case = await only_case(inflows.runtime)
    with pytest.raises(Conflict, match="cannot take it: the name"):
        await to_account(inflows, case.id, account.id)


async def test_a_transfer_that_came_in_time_is_in_time_when_it_is_assigned_later(bank: BankWorld) -> None:
    pay_code, _ = await begun(bank)
    await bank.bring(paid(None))
    case = await only_case(bank.runtime)
    late = bank.now + timedelta(minutes=45)
    await suspense.assign_to_payment(
        bank.deps, case.id, business_id=bank.shop.business_id, reference=pay_code, note="asked", by=ADA, now=late
    )
    assert (await seen(bank, pay_code)).payment.status is PaymentStatus.SUCCESS


async def test_returned_it_goes_back_by_its_rail_and_the_books_know(inflows: Inflows) -> None:
    await inflows.notify(credit(UNKNOWN_NUMBER))
    case = await only_case(inflows.runtime)
    deps = inflows.runtime.deps
    made = await suspense.send_back(deps, case.id, note="nobody knows the payer", by=ADA, now=inflows.now)
    assert await suspense.send_back(deps, case.id, note="again", by=BISI, now=inflows.now) == made
    await inflows.tick()
    left = {"type": "return.left", "businessId": PLATFORM_BUSINESS_ID, "reference": made.subject}
    await inflows.notify({**left, "id": "left-1", "transactionId": "out-1"})
    row = await inflows.admin.fetchrow("SELECT status, amount_minor, reason FROM money_return")
    assert tuple(row) == ("confirmed", 100_00, "nobody knows the payer")
    assert await kinds(inflows) == {"receipt_unclaimed", "held_returning", "return_done"}
    await balances_agree(inflows.runtime)


async def test_closed_it_leaves_the_books_and_a_reversal_afterwards_is_an_alarm(inflows: Inflows) -> None:
    body = credit(UNKNOWN_NUMBER)
    await inflows.notify(body)
    case = await only_case(inflows.runtime)
    made = await suspense.close(inflows.runtime.deps, case.id, note="the bank has it", by=ADA, now=inflows.now)
    assert (made.decision, made.subject) == ("closed", None)
    assert await kinds(inflows) == {"receipt_unclaimed", "unclaimed_released"}
    await balances_agree(inflows.runtime)
    await inflows.notify(reversal_of(body))
    await inflows.tick()
    note = await inflows.admin.fetchval("SELECT note FROM notification WHERE state = 'quarantined'")
    assert "after an operator had returned or closed it" in note
    await balances_agree(inflows.runtime)


@pytest.mark.parametrize("decision", ["assigned", "returned", "closed", "forgotten"])
async def test_the_database_itself_lets_nothing_leave_without_a_decision(inflows: Inflows, decision: str) -> None:
    await inflows.notify(credit(UNKNOWN_NUMBER))
    case = await only_case(inflows.runtime)
    change = {
        "decision": {"receipt_id": case.id, "decision": decision, "subject": "ret_x"},
        "return": {"reason": "by hand"},
        "journal": {
            "kind": "unclaimed_released", "cause": "x", "accounts": ["suspense", "rail"], "event_at": str(inflows.now),
            "currencies": ["EUR", "EUR"], "amounts_minor": [1, -1],
        },
    }  # fmt: skip
    with pytest.raises(asyncpg.PostgresError, match="has changed meanwhile"):
        async with inflows.runtime.db.transaction() as tx:
            await tx.execute("SELECT decide_unclaimed($1, $2, now())", PLATFORM_BUSINESS_ID, json.dumps(change))
    assert await only_case(inflows.runtime) == case


@pytest.mark.parametrize("is_known_first", [False, True], ids=["unknown number first", "right number first"])
async def test_money_that_a_business_has_already_is_neither_assigned_nor_returned(
    inflows: Inflows, is_known_first: bool
) -> None:
    """One transaction under two numbers: the bank had the wrong one, and corrected itself."""
    account = await inflows.account()
    assert account.details is not None
    wrong = credit(UNKNOWN_NUMBER)
    right = {**wrong, "id": "corrected", "accountNumber": account.details.account_number}
    for body in (right, wrong) if is_known_first else (wrong, right):
        assert (await inflows.notify(body)).status_code == 200
    case, deps, now = await only_case(inflows.runtime), inflows.runtime.deps, inflows.now
    held = f"{inflows.shop.business_id} has the transaction {wrong['transactionId']} already"
    with pytest.raises(Conflict, match=held):
        await to_account(inflows, case.id, account.id)
    with pytest.raises(Conflict, match=held):
        await suspense.send_back(deps, case.id, note="unknown", by=ADA, now=now)
    assert (await suspense.close(deps, case.id, note="it came once", by=ADA, now=now)).decision == "closed"
    assert await inflows.wallet("EUR") == 95_00
    await check_books(inflows.runtime)


async def kinds(inflows: Inflows) -> set[str]:
    rows = await inflows.admin.fetch("SELECT kind FROM journal WHERE business_id = $1", PLATFORM_BUSINESS_ID)
    return {row["kind"] for row in rows}


async def test_disputed_money_is_neither_assigned_nor_returned_but_may_be_closed(inflows: Inflows) -> None:
    body, account = credit(UNKNOWN_NUMBER), await inflows.account()
    await inflows.notify(body)
    case = await only_case(inflows.runtime)
    disputed = {"type": "dispute.changed", "id": "d-note", "disputeId": "d7", "transactionId": body["transactionId"]}
    amount = {"amount": body["amount"], "currency": "EUR"}
    told = await inflows.notify({**disputed, **amount, "status": "open", "dueAt": None, "reason": "chargeback"})
    assert told.status_code == 200, told.text
    deps, now = inflows.runtime.deps, inflows.now
    with pytest.raises(Conflict, match="dispute d7 is about this money"):
        await to_account(inflows, case.id, account.id)
    with pytest.raises(Conflict, match="dispute d7 is about this money"):
        await suspense.send_back(deps, case.id, note="x", by=ADA, now=now)
    assert (await suspense.close(deps, case.id, note="the bank has it", by=ADA, now=now)).decision == "closed"


async def test_a_dispute_that_was_won_in_suspense_is_of_the_payment_that_gets_the_money(bank: BankWorld) -> None:
    pay_code, _ = await begun(bank)
    await bank.bring(paid("invoice 7"))
    case = await only_case(bank.runtime)

    async def told(status: DisputeStatus) -> None:
        changed = DisputeChanged(
            dispute_id="d7", transaction_id=case.transaction_id, amount=case.amount, status=status, due_at=None,
            reason="chargeback",
        )  # fmt: skip
        heard = Notification(id=f"d7/{status}/{next(_numbers)}", event=changed)
        await intake.record_all(bank.deps, case.rail, [heard], b"{}", bank.runtime.clock)

    await told(DisputeStatus.OPEN)
    with pytest.raises(Conflict, match="dispute d7 is about this money"):
        await assign(bank, case.id, pay_code)
    await told(DisputeStatus.WON)
    await assign(bank, case.id, pay_code)
    # Told again, it is the same dispute.
    await told(DisputeStatus.WON)
    query = "SELECT status, payment_id IS NOT NULL AS is_linked FROM dispute WHERE business_id = $1"
    rows = await bank.admin.fetch(query, bank.shop.business_id)
    assert [(row["status"], row["is_linked"]) for row in rows] == [("won", True)]
    shown = await bank.admin.fetchval("SELECT dispute_status FROM payment WHERE pay_code = $1", pay_code)
    assert shown == "won"
    assert await bank.admin.fetchval("SELECT count(*) FROM event WHERE type = 'charge.disputed'") == 0


async def test_what_the_bank_has_taken_back_is_not_decided_on(inflows: Inflows) -> None:
    body = credit(UNKNOWN_NUMBER)
    await inflows.notify(body)
    case = await only_case(inflows.runtime)
    await inflows.notify(reversal_of(body))
    with pytest.raises(Refusal, match="the bank has taken this money back"):
        await suspense.close(inflows.runtime.deps, case.id, note="x", by=ADA, now=inflows.now)
