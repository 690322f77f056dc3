"""Held inflows: an operator credits them or sends them back, once. And credits that a bank takes back."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from conftest import MakeCheckout
from inflow import CLOSE, DIFFERENT, Inflows, credit, reversal_of
from tidegate.account import commands as accounts
from tidegate.audit.model import OPERATOR
from tidegate.collection import reversal, review
from tidegate.core.errors import Conflict, IllegalTransition, NotFound
from tidegate.core.money import Currency
from tidegate.doctor.commands import examine_books
from tidegate.merchant import commands as merchants


async def held(inflows: Inflows, **changes: Any) -> dict[str, Any]:
    number = changes.pop("number", None) or await inflows.number()
    record = await inflows.notified(credit(number, payeeName=CLOSE, **changes))
    assert record["status"] == "pending"
    return record


async def pass_(inflows: Inflows, reference: str, note: str | None = "looked at the passport") -> Any:
    return await review.credit(inflows.runtime.deps, reference, note=note, by=OPERATOR, now=inflows.now)


async def refuse(inflows: Inflows, reference: str, note: str | None = None) -> Any:
    return await review.send_back(inflows.runtime.deps, reference, note=note, by=OPERATOR, now=inflows.now)


async def audited(inflows: Inflows, reference: str) -> list[tuple[str, str, Any]]:
    rows = await inflows.admin.fetch("SELECT actor, action, details FROM audit WHERE subject = $1", reference)
    return [(row["actor"], row["action"], json.loads(row["details"])) for row in rows]


async def test_a_held_inflow_is_credited_by_an_operator(inflows: Inflows) -> None:
    before = await held(inflows)
    await pass_(inflows, before["reference"])
    after = await inflows.get(before["reference"])
    assert (after["status"], after["reason"], int(after["amountReceived"])) == ("successful", None, 95)
    assert (after["id"], after["createdAt"], after["nameCheck"]) == (
        before["id"], before["createdAt"], before["nameCheck"],
    )  # fmt: skip
    assert await inflows.entries("held_settled") == {
        ("suspense", "EUR", -100_00), ("wallet", "EUR", 95_00), ("fee", "EUR", 5_00),
    }  # fmt: skip
    assert (await inflows.event("collection.successful"))["status"] == "successful"
    note = {"note": "looked at the passport"}
    assert await audited(inflows, before["reference"]) == [("operator", "collection.credited", note)]
    with pytest.raises(IllegalTransition):
        await refuse(inflows, before["reference"])
    assert ((await inflows.page(status="pending"))["total"], (await inflows.page())["total"]) == (0, 1)


async def test_a_held_inflow_goes_back_by_itself_after_three_days(inflows: Inflows) -> None:
    before = await held(inflows)
    created_at = datetime.fromisoformat(before["createdAt"])
    assert datetime.fromisoformat(before["heldUntil"]) == created_at + timedelta(days=3)
    await inflows.let_pass("71h")
    assert (await inflows.get(before["reference"]))["status"] == "pending"
    await inflows.let_pass("1h")
    after = await inflows.get(before["reference"])
    assert (after["status"], after["isReversed"], after["heldUntil"]) == ("reversed", 1, None)
    assert after["refundInfo"]["reasonCode"] == "hold_ended"
    [audit] = await audited(inflows, before["reference"])
    assert audit[:2] == ("tidegate", "collection.hold_ended")
    await inflows.let_pass("1m")
    assert (await inflows.get(before["reference"]))["refundInfo"]["status"] == "confirmed"
    assert await inflows.wallet("EUR") == 0


async def test_what_was_decided_on_in_time_does_not_go_back_at_its_end(inflows: Inflows) -> None:
    before = await held(inflows)
    await pass_(inflows, before["reference"])
    await inflows.let_pass("80h")
    assert (await inflows.get(before["reference"]))["status"] == "successful"


@pytest.mark.parametrize("typed", [CLOSE, None])
async def test_a_strict_business_returns_at_once_whatever_is_not_the_same_name(
    inflows: Inflows, typed: str | None
) -> None:
    number = await inflows.number()
    changed = {"inflow_name_policy": "strict"}
    await merchants.change(inflows.runtime.db, inflows.shop.business_id, changed, now=inflows.now)
    record = await inflows.notified(credit(number, payeeName=typed))
    assert (record["status"], record["heldUntil"]) == ("reversed", None)
    assert (await inflows.notified(credit(number)))["status"] == "successful"


async def test_a_held_inflow_is_sent_back_by_an_operator(inflows: Inflows) -> None:
    before = await held(inflows)
    await refuse(inflows, before["reference"], "not ours")
    asked = await inflows.get(before["reference"])
    assert (asked["status"], asked["isReversed"]) == ("reversed", 1)
    assert (asked["refundInfo"]["reasonCode"], asked["refundInfo"]["status"]) == ("review_refused", "asked")
    assert await inflows.entries("held_returning") == {("suspense", "EUR", -100_00), ("returns", "EUR", 100_00)}
    await inflows.tick()
    await inflows.let_pass("1m")
    assert (await inflows.get(before["reference"]))["refundInfo"]["status"] == "confirmed"
    events = await inflows.events()
    assert ("collection.successful" in events, events["collection.returned"]) == (False, 1)
    assert (await audited(inflows, before["reference"]))[0][1] == "collection.sent_back"
    with pytest.raises(IllegalTransition):
        await pass_(inflows, before["reference"])


async def test_a_held_inflow_is_converted_at_the_rate_of_the_decision(inflows: Inflows) -> None:
    number = await inflows.number(Currency.EUR, Currency.USD)
    record = await held(inflows, number=number)
    with pytest.raises(Conflict, match="no exchange rate"):
        await pass_(inflows, record["reference"])
    await inflows.set_rate(Currency.EUR, Currency.USD, "2", spread=100)
    await pass_(inflows, record["reference"])
    assert await inflows.entries("held_converted") == {
        ("suspense", "EUR", -100_00), ("conversion", "EUR", 100_00), ("conversion", "USD", -200_00),
        ("spread", "USD", 2_00), ("fee", "USD", 10_00), ("wallet", "USD", 188_00),
    }  # fmt: skip


async def test_what_is_too_small_to_convert_can_only_go_back(inflows: Inflows) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "0.1")
    record = await held(inflows, number=await inflows.number(Currency.EUR, Currency.USD), amount="1")
    with pytest.raises(Conflict, match="return it"):
        await pass_(inflows, record["reference"])
    await refuse(inflows, record["reference"])


async def test_what_was_held_is_not_credited_to_an_account_that_takes_no_money(inflows: Inflows) -> None:
    account = await inflows.account()
    assert account.details is not None
    record = await held(inflows, number=account.details.account_number)
    await accounts.close(inflows.runtime.db, account.id, "for good", by=OPERATOR, now=inflows.now)
    with pytest.raises(Conflict, match="the account is closed"):
        await pass_(inflows, record["reference"])
    assert await inflows.wallet("EUR") == 0


async def test_of_two_operators_at_once_one_decides(inflows: Inflows) -> None:
    number = await inflows.number()
    for _ in range(4):
        reference = (await held(inflows, number=number))["reference"]
        acts = (pass_(inflows, reference), refuse(inflows, reference), pass_(inflows, reference))
        done = await asyncio.gather(*acts, return_exceptions=True)
        assert sum(not isinstance(one, BaseException) for one in done) == 1
        assert all(isinstance(one, Conflict) for one in done if isinstance(one, BaseException)), done
        assert len(await audited(inflows, reference)) == 1


async def test_an_unknown_reference_is_not_found(inflows: Inflows) -> None:
    with pytest.raises(NotFound):
        await pass_(inflows, "col_unknown")


async def test_a_credit_that_the_bank_takes_back_leaves_the_wallet_with_its_fee(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    await inflows.notified(body)
    assert (await inflows.notify(reversal_of(body))).status_code == 200
    record = await inflows.inflow(body["transactionId"])
    assert (record["status"], record["isReversed"], await inflows.wallet("EUR")) == ("reversed", 1, 0)
    refund = record["refundInfo"]
    assert (refund["reasonCode"], refund["status"], refund["returnReference"]) == ("taken_back", "confirmed", None)
    assert await inflows.entries("credit_reversed") == {
        ("rail", "EUR", 100_00), ("wallet", "EUR", -95_00), ("fee", "EUR", -5_00),
    }  # fmt: skip
    events = await inflows.events()
    assert (events["collection.returned"], events["collection.successful"]) == (1, 1)


async def test_a_converted_credit_is_taken_back_as_it_came(inflows: Inflows) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.0857", spread=50)
    body = credit(await inflows.number(Currency.EUR, Currency.USD), 200_00)
    await inflows.notified(body)
    await inflows.set_rate(Currency.EUR, Currency.USD, "5")
    await inflows.notify(reversal_of(body))
    forth, back = await inflows.entries("inflow_converted"), await inflows.entries("credit_reversed")
    assert back == {(account, currency, -minor) for account, currency, minor in forth}


async def test_a_held_one_that_is_taken_back_has_failed(inflows: Inflows) -> None:
    body = credit(await inflows.number(), payeeName=CLOSE)
    record = await inflows.notified(body)
    await inflows.notify(reversal_of(body))
    after = await inflows.get(record["reference"])
    assert (after["status"], after["isReversed"], after["refundInfo"]["reasonCode"]) == ("failed", 0, "taken_back")
    assert await inflows.entries("held_reversed") == {("suspense", "EUR", -100_00), ("rail", "EUR", 100_00)}
    with pytest.raises(IllegalTransition):
        await pass_(inflows, record["reference"])


async def test_what_the_wallet_no_longer_has_is_owed(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    record = await inflows.notified(body)
    await inflows.spend("EUR", 90_00)
    assert (await inflows.notify(reversal_of(body))).status_code == 200
    after = await inflows.get(record["reference"])
    # What is there is taken, and what is missing is owed.
    assert (after["status"], after["amountOwed"], await inflows.wallet("EUR")) == ("reversed", 90, 0)
    assert await inflows.entries("credit_reversed") >= {
        ("rail", "EUR", 100_00), ("wallet", "EUR", -5_00), ("fee", "EUR", -5_00), ("suspense", "EUR", -90_00),
    }  # fmt: skip
    await inflows.notified(credit(body["accountNumber"], 45_00))
    await inflows.tick()
    assert ((await inflows.get(record["reference"]))["amountOwed"], await inflows.wallet("EUR")) == (50, 0)
    await inflows.notified(credit(body["accountNumber"], 100_00))
    await asyncio.gather(*(reversal.collect_debts(inflows.runtime.deps, inflows.runtime.clock) for _ in range(4)))
    assert ((await inflows.get(record["reference"]))["amountOwed"], await inflows.wallet("EUR")) == (0, 45_00)


async def test_a_reversal_of_money_in_suspense_takes_it_out_again(inflows: Inflows) -> None:
    body = credit(await inflows.number(), currency="USD")
    assert (await inflows.notify(body)).status_code == 200
    assert (await inflows.notify(reversal_of(body))).status_code == 200
    await inflows.tick()
    assert await inflows.entries("held_reversed") == {("suspense", "USD", -100_00), ("rail", "USD", 100_00)}
    findings, _ = await examine_books(inflows.runtime.db, now=inflows.now)
    assert {f.what for f in findings if f.subject == "suspense"} == {"all money has an owner"}


async def test_a_reversal_of_what_paid_a_checkout_is_no_alarm(inflows: Inflows, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(inflows.shop)
    sent = await checkout.transfer(await checkout.account(), "100", reference="BANK-7")
    assert sent.status_code == 201
    assert (await checkout.sandbox("transfers/BANK-7/reverse")).status_code == 200
    await checkout.tick()
    assert await inflows.admin.fetchval("SELECT count(*) FROM notification WHERE state = 'quarantined'") == 0
    assert (await checkout.record())["isReversed"]


@pytest.mark.parametrize("words", [{}, {"amount": "9999"}, {"currency": "USD"}])
async def test_a_reversal_that_does_not_fit_is_quarantined(inflows: Inflows, words: dict[str, str]) -> None:
    body = credit(await inflows.number(), payeeName=CLOSE if words else DIFFERENT)
    record = await inflows.notified(body)
    before = await inflows.journals()
    back = reversal_of(body, **words)
    for _ in range(2):
        assert (await inflows.notify(back)).status_code == 200
    note = await inflows.admin.fetchval("SELECT note FROM notification WHERE state = 'quarantined'")
    assert record["reference"] in note
    # What was sent back and is taken back as well has left twice, and the books say so.
    assert await inflows.journals() == (before if words else {**before, "held_reversed": 1})
    assert (await inflows.get(record["reference"]))["status"] == record["status"]


async def test_a_second_reversal_of_another_amount_is_no_repeat(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    await inflows.notified(body)
    for back in (reversal_of(body), reversal_of(body, amount="1")):
        assert (await inflows.notify(back)).status_code == 200
    rows = await inflows.admin.fetch("SELECT note FROM notification WHERE state = 'quarantined'")
    assert ["another amount" in row["note"] for row in rows] == [True]
    assert await inflows.journals() == {"inflow_credited": 1, "credit_reversed": 1}
