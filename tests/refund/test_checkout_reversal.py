"""The bank reverses a checkout's transfer: the wallet is debited or owes it, and it is shown everywhere."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import httpx
import pytest

from build import Checkout
from conftest import MakeCheckout
from inflow import SPEND, reversal_of
from intake.test_notifications import credit
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.core.finding import Finding
from tidegate.doctor import refund_store
from tidegate.doctor.commands import examine_books
from tidegate.ledger import chain
from tidegate.rail.sandbox import signed_notification
from tidegate.refund import reversal
from tidegate.runtime import Runtime


@dataclass(frozen=True)
class Bank:
    """Tells of transfers and takes them back; and looks at what became of it."""

    runtime: Runtime
    client: httpx.AsyncClient
    admin: Any

    async def notify(self, checkout: Checkout, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        signed = signed_notification.sign(raw, self.runtime.secret, now=self.runtime.clock.now())
        answer = await self.client.post("/intake/sandbox", content=raw, headers=dict(signed.headers))
        assert answer.status_code == 200, answer.text
        await checkout.tick()

    async def paid(self, checkout: Checkout, minor: int = 10_000, account: str = "") -> dict[str, Any]:
        transfer = credit(account or await checkout.account(), minor)
        await self.notify(checkout, transfer)
        return transfer

    async def wallet(self, checkout: Checkout) -> int:
        found = await self.admin.fetchval(
            "SELECT balance_minor FROM wallet WHERE business_id = $1", checkout.shop.business_id
        )
        return int(found or 0)

    async def spend(self, checkout: Checkout, minor: int) -> None:
        await self.admin.execute(SPEND, checkout.shop.business_id, "NGN", minor, ids.new_event_id())

    async def owed(self, checkout: Checkout) -> int:
        owed: int = await self.admin.fetchval("SELECT owed_minor FROM payment WHERE pay_code = $1", checkout.pay_code)
        return owed

    async def events(self, checkout: Checkout) -> list[dict[str, Any]]:
        rows = await self.admin.fetch(
            "SELECT payload FROM event WHERE business_id = $1 AND type = 'charge.reversed'", checkout.shop.business_id
        )
        return [json.loads(row["payload"], parse_float=Decimal) for row in rows]

    async def findings(self) -> dict[str, Finding]:
        clock = SystemClock()
        while (await chain.extend(self.runtime.db, clock)).done:
            pass
        found, _ = await examine_books(self.runtime.db, now=clock.now())
        return {finding.subject: finding for finding in found}

    async def is_well(self) -> bool:
        return all(one.is_well for one in (await self.findings()).values())


@pytest.fixture
def bank(runtime: Runtime, client: httpx.AsyncClient, admin: Any) -> Bank:
    return Bank(runtime, client, admin)


async def refund(checkout: Checkout, amount: float | None = None) -> httpx.Response:
    body = {"transReference": checkout.reference, **({"amount": amount} if amount else {})}
    answer = await checkout.post("/collections/refund", body, **{"api-key": checkout.shop.secret_key})
    await checkout.let_pass("1m")
    return answer


async def test_a_reversal_debits_the_wallet_and_is_shown_everywhere(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    assert await bank.wallet(checkout) == 98_49
    await bank.notify(checkout, reversal_of(transfer))
    assert await bank.wallet(checkout) == 0
    record = await checkout.record()
    assert (record["status"], record["isReversed"], record["amountReversed"]) == ("success", True, 100)
    assert (record["amountReceived"], record["message"]) == (100, "PAYMENT_REVERSED")
    assert "reversed the customer's transfer" in record["actionRequired"]
    [event] = await bank.events(checkout)
    assert (event["event"], event["type"], event["data"]["isReversed"]) == ("charge.reversed", "charge", True)
    assert (event["data"]["amountReversed"], event["data"]["merchantReference"]) == (100, checkout.reference)
    assert event["data"]["reversal"]["sessionId"] == transfer["transactionId"]
    assert await bank.is_well()


async def test_a_payment_that_was_not_taken_back_says_so(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await bank.paid(checkout)
    record = await checkout.record()
    assert (record["isReversed"], record["amountReversed"], record["message"]) == (False, 0, None)


async def test_a_reversal_that_is_notified_twice_counts_once(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    other = await new_checkout(checkout.shop)
    await bank.paid(other)
    body = reversal_of(transfer)
    for again in (body, body, reversal_of(transfer)):
        await bank.notify(checkout, again)
    assert await bank.wallet(checkout) == 98_49
    assert len(await bank.events(checkout)) == 1
    assert await bank.is_well()


async def test_two_workers_at_once_take_it_once(bank: Bank, new_checkout: MakeCheckout, runtime: Runtime) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    quiet = replace(checkout, tick=_nothing)
    await bank.notify(quiet, reversal_of(transfer))
    tallies = await asyncio.gather(*(reversal.apply_due(runtime.deps, runtime.clock) for _ in range(4)))
    assert (sum(tally.done for tally in tallies), await bank.wallet(checkout)) == (1, 0)


async def _nothing() -> None:
    pass


async def test_what_the_wallet_no_longer_has_is_owed_and_collected_later(
    bank: Bank, new_checkout: MakeCheckout
) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    await bank.spend(checkout, 90_00)
    await bank.notify(checkout, reversal_of(transfer))
    assert (await bank.wallet(checkout), await bank.owed(checkout)) == (0, 90_00)
    assert (await checkout.wallet())["owedBalance"] == 90
    found = await bank.findings()
    assert f"{checkout.pay_code}: the merchant owes it" in found["reversals"].what
    assert all(one.is_well for one in found.values())
    next_sale = await new_checkout(checkout.shop)
    await bank.paid(next_sale)
    assert (await bank.wallet(checkout), await bank.owed(checkout)) == (8_49, 0)
    found = await bank.findings()
    assert "none is owed" in found["reversals"].what
    assert all(one.is_well for one in found.values())


async def test_nothing_of_it_can_be_refunded_afterwards(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    await bank.notify(checkout, reversal_of(transfer))
    for amount in (None, 1):
        answer = await refund(checkout, amount)
        assert (answer.status_code, answer.json()["errorType"]) == (409, "CONFLICT")
        assert "reversed this money" in answer.json()["message"]


async def test_after_a_partial_refund_the_merchant_gives_all_of_it(bank: Bank, new_checkout: MakeCheckout) -> None:
    """The customer has the refunded part twice, which only the merchant can ask for."""
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    assert (await refund(checkout, 40)).status_code == 200
    assert await bank.wallet(checkout) == 58_49
    await bank.notify(checkout, reversal_of(transfer))
    assert (await bank.wallet(checkout), await bank.owed(checkout)) == (0, 40_00)
    record = await checkout.record()
    assert (record["amountRefunded"], record["amountReversed"]) == (40, 100)
    assert (await refund(checkout)).status_code == 409
    assert await bank.is_well()


async def test_after_a_full_refund_the_merchant_owes_it(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    other = await new_checkout(checkout.shop)
    await bank.paid(other)
    assert (await refund(checkout)).status_code == 200
    assert await bank.wallet(checkout) == 2 * 98_49 - 100_00
    await bank.notify(checkout, reversal_of(transfer))
    assert (await bank.wallet(checkout), await bank.owed(checkout)) == (0, 98_49 - (2 * 98_49 - 100_00))
    assert await bank.is_well()


async def test_before_settlement_what_was_held_is_gone(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    transfer = await bank.paid(checkout, 40_00, account)
    await bank.notify(checkout, reversal_of(transfer))
    record = await checkout.record()
    assert (record["status"], record["amountReceived"], record["isReversed"]) == ("pending", 0, False)
    assert await bank.is_well()
    await bank.paid(checkout, 30_00, account)
    await checkout.let_pass("3h")
    # Only what was still there goes back.
    assert (await checkout.view())["amountReturned"] == 30
    assert await bank.is_well()


async def test_of_two_transfers_one_may_stay(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    first, second = [await bank.paid(checkout, minor, account) for minor in (40_00, 60_00)]
    await bank.notify(checkout, reversal_of(first))
    # Four tenths of the fee of 1.40 and the tax of 0.11 came back.
    assert await bank.wallet(checkout) == 98_49 - (40_00 - 56 - 4)
    assert (await checkout.record())["amountReversed"] == 40
    too_much = await refund(checkout, 61)
    assert (too_much.status_code, too_much.json()["errorType"]) == (422, "REFUND_EXCEEDS_AVAILABLE")
    await bank.notify(checkout, reversal_of(second))
    assert await bank.wallet(checkout) == 0
    assert (await checkout.record())["amountReversed"] == 100
    assert await bank.is_well()


async def test_the_transfer_that_stays_can_be_refunded(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    first, _ = [await bank.paid(checkout, minor, account) for minor in (40_00, 60_00)]
    other = await new_checkout(checkout.shop)
    await bank.paid(other)
    await bank.notify(checkout, reversal_of(first))
    answer = await refund(checkout)
    assert (answer.status_code, answer.json()["data"]["amountRefunded"]) == (200, 60)
    assert (await refund(checkout)).status_code == 409
    assert await bank.is_well()


@pytest.mark.breaks_the_books
async def test_what_had_been_sent_back_already_is_for_the_operator(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    transfer = await bank.paid(checkout, 40_00)
    assert (await checkout.view())["amountReturned"] == 40
    await bank.notify(checkout, reversal_of(transfer))
    found = await bank.findings()
    assert [subject for subject, one in found.items() if not one.is_well] == ["quarantine"]
    assert "had been sent back" in found["quarantine"].what


async def test_another_amount_than_arrived_is_for_the_operator(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    await bank.notify(checkout, reversal_of(transfer, amount="9999"))
    assert await bank.wallet(checkout) == 98_49
    assert not (await checkout.record())["isReversed"]
    assert "had arrived" in (await bank.findings())["quarantine"].what


async def test_a_reversal_of_an_unknown_transaction_waits_and_is_shown(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    await bank.notify(checkout, reversal_of(transfer, transactionId="T-unknown"))
    assert await bank.wallet(checkout) == 98_49
    assert "sandbox/T-unknown: waits for its credit" in (await bank.findings())["reversals"].what


async def test_a_statement_names_the_payment_that_was_taken_back(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    await bank.notify(checkout, reversal_of(transfer))
    answer = await checkout.shop.client.get(
        "/wallets/NGN/statement", params={"order": "asc"}, headers={"api-key": checkout.shop.secret_key}
    )
    line = answer.json()["data"]["results"][-1]
    assert (line["kind"], line["reference"], line["balance"]) == ("credit_reversed", checkout.reference, 0)
    assert line["description"] == "Reversal of bank transfer from Ada Obi"


async def test_the_payer_is_shown_that_the_bank_took_it_back(bank: Bank, new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    assert (await checkout.view())["amountReversed"] == 0
    await bank.notify(checkout, reversal_of(transfer))
    view = await checkout.view()
    assert (view["status"], view["amountReceived"], view["amountReversed"]) == ("success", 100, 100)
    page = await checkout.shop.client.get(f"/pay/{checkout.pay_code}", headers={"accept-language": "en"})
    assert "Your bank took" in page.text
    assert "Thank you" not in page.text
    receipt = await checkout.shop.client.get(f"/pay/{checkout.pay_code}/receipt", headers={"accept-language": "en"})
    assert "Your bank took" in receipt.text


TAMPERED = (
    "UPDATE payment SET reversed_minor = reversed_minor - 1 WHERE reversed_minor > 0",
    "UPDATE payment SET owed_minor = owed_minor + 1 WHERE reversed_minor > 0",
    "UPDATE journal SET cause = 'x' || cause WHERE kind = 'credit_reversed'",
    "UPDATE journal SET cause = 'x' || cause WHERE kind = 'debt_collected'",
    "DELETE FROM event WHERE type = 'charge.reversed'",
)


@pytest.mark.breaks_the_books
async def test_the_doctor_finds_a_reversal_that_was_tampered_with(
    bank: Bank, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    transfer = await bank.paid(checkout)
    await bank.spend(checkout, 90_00)
    await bank.notify(checkout, reversal_of(transfer))
    next_sale = await new_checkout(checkout.shop)
    await bank.paid(next_sale, 20_00)
    for statement in TAMPERED:
        undone = admin.transaction()
        await undone.start()
        try:
            await admin.execute("SET LOCAL session_replication_role = replica")
            assert await refund_store.list_wrongly_reversed(admin) == []
            assert not (await admin.execute(statement)).endswith(" 0"), statement
            assert await refund_store.list_wrongly_reversed(admin) != [], statement
        finally:
            await undone.rollback()
