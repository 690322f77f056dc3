"""The event of a payment: each field as the specification lists it, and that it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from build import Checkout
from checkout.paying import card, phone
from conftest import MakeCheckout
from receiver import Receiver, receiving
from tidegate.infra.egress import Egress
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime
from tidegate.webhook.deliver import Sender
from tidegate.worker import sender_of

# Table 2.5, and the field reference that follows it. A receiver may look for either.
DATA = {
    "id", "authorization", "auth_model", "amount", "amountReceived", "currency", "fee", "vat", "message", "status",
    "reference", "description", "type", "customer", "metadata", "settlementDestination", "amountToSettle",
    "chargeReference",
    "method", "paymentReference", "transactionReference", "merchantReference", "feeBearer", "createdAt", "updatedAt",
}  # fmt: skip
VIRTUAL_ACCOUNT = {
    "bankName", "id", "bankCode", "accountName", "accountNumber", "sessionId", "channelName", "payerAccountNumber",
    "payerAccountName", "payerBankName", "payerBankCode", "expiresAt", "business",
}  # fmt: skip
OURS = {"amountExpected", "varianceType"}


class Webhooks:
    """An endpoint of the business behind a checkout. Called, it sends what is due and returns all payloads so far."""

    def __init__(self, runtime: Runtime, receiver: Receiver) -> None:
        self._way_out = Egress(runtime.webhook_deps.guard)
        self._sender = Sender(runtime.db, self._way_out, runtime.webhook_deps.vault, runtime.clock, Meter())
        self.receiver = receiver

    async def __call__(self) -> list[dict[str, Any]]:
        async with self._way_out.open():
            await self._sender.fan_out()
            deliveries = await self._sender.take()
            await self._sender.finish([await self._sender.send(delivery) for delivery in deliveries])
        return [json.loads(got.body) for got in self.receiver.received]


@pytest.fixture
async def webhooks(runtime: Runtime) -> AsyncIterator[Webhooks]:
    async with receiving() as receiver:
        yield Webhooks(runtime, receiver)


async def listen(checkout: Checkout, webhooks: Webhooks) -> None:
    made = await checkout.post(
        "/webhooks/endpoints", {"url": webhooks.receiver.url()}, **{"api-key": checkout.shop.secret_key}
    )
    assert made.status_code == 201, made.text


async def test_the_event_of_a_transfer_has_every_field_of_both_sets(
    new_checkout: MakeCheckout, webhooks: Webhooks
) -> None:
    checkout = await new_checkout(
        reference="ORD-2025",
        metadata={"cart": 7, "rate": 0.1},
        feeBearer="customer",
        customer={"name": "Ada", "email": "a@b.com"},
    )
    await listen(checkout, webhooks)
    account = await checkout.account()
    payer = {"name": "Ada Obi", "accountNumber": "0123456789", "bankName": "Sample Bank"}
    await checkout.transfer(account, "101.51", payer=payer)
    [payload] = await webhooks()
    assert set(payload) == {"event", "type", "data"}
    assert (payload["event"], payload["type"]) == ("charge.successful", "charge")
    data = payload["data"]
    assert set(data) == DATA | OURS | {"virtualAccount"}
    assert set(data["virtualAccount"]) == VIRTUAL_ACCOUNT
    assert set(data["authorization"]) == {"mode", "redirect", "metadata"}
    assert data["customer"] == {"name": "Ada", "email": "a@b.com", "phoneNumber": ""}
    assert data["reference"] == data["transactionReference"] == checkout.pay_code
    assert data["merchantReference"] == data["paymentReference"] == "ORD-2025"
    assert data["type"] == data["method"] == "bank_transfer"
    assert (data["status"], data["settlementDestination"], data["feeBearer"]) == ("success", "wallet", "customer")
    assert data["metadata"] == {"cart": 7, "rate": 0.1}
    assert data["virtualAccount"]["accountNumber"] == account
    assert data["virtualAccount"]["payerAccountName"] == "Ada Obi"
    assert data["virtualAccount"]["business"] == checkout.shop.business_id
    # Exact in the text itself, whatever a receiver makes of it.
    body = webhooks.receiver.received[0].body
    assert b'"amount":101.51' in body
    assert b'"amountReceived":101.51' in body
    assert b'"fee":1.4,' in body
    assert b'"vat":0.11' in body
    assert b'"amountToSettle":100,' in body
    assert b": " not in body


@pytest.mark.parametrize(
    ("fields", "charge", "method"),
    [
        ({"currency": "NGN"}, card(), "card"),
        ({"currency": "KES"}, phone("+254712340000"), "mobile_money"),
        ({"currency": "NGN"}, {"type": "payAttitude", "bank": "058"}, "payattitude"),
    ],
)
async def test_the_event_of_another_method_has_no_account(
    new_checkout: MakeCheckout, webhooks: Webhooks, fields: dict[str, Any], charge: dict[str, Any], method: str
) -> None:
    checkout = await new_checkout(**fields)
    await listen(checkout, webhooks)
    answer = await checkout.charge(charge)
    assert answer.status_code == 200, answer.text
    await checkout.sandbox(f"charges/{checkout.pay_code}/approve")
    await checkout.tick()
    [payload] = await webhooks()
    assert set(payload["data"]) == DATA | OURS
    assert payload["data"]["type"] == payload["data"]["method"] == method


@pytest.mark.parametrize(("amount", "variance"), [("60", "underpayment"), ("250", "overpayment")])
async def test_underpayment_and_overpayment_have_an_event_as_well(
    new_checkout: MakeCheckout, webhooks: Webhooks, amount: str, variance: str
) -> None:
    checkout = await new_checkout()
    await listen(checkout, webhooks)
    await checkout.transfer(await checkout.account(), amount)
    [payload] = await webhooks()
    data = payload["data"]
    assert (data["varianceType"], data["message"]) == (variance, "INCORRECT_AMOUNT")
    # `amount` is what the customer paid; what was asked for is beside it.
    assert (data["amount"], data["amountReceived"], data["amountExpected"]) == (int(amount), int(amount), 100)


async def test_what_the_payers_bank_does_not_say_is_empty_text(new_checkout: MakeCheckout, webhooks: Webhooks) -> None:
    checkout = await new_checkout()
    await listen(checkout, webhooks)
    await checkout.transfer(await checkout.account(), "100", payer={"name": "Ada Obi"})
    [payload] = await webhooks()
    account = payload["data"]["virtualAccount"]
    assert (account["payerAccountNumber"], account["payerBankName"]) == ("", "")
    assert [name for name, value in account.items() if not isinstance(value, str)] == ["payerBankCode"]


async def test_a_checkout_that_failed_expired_or_was_cancelled_has_no_event(
    new_checkout: MakeCheckout, webhooks: Webhooks
) -> None:
    failed, given_up, ran_out = [await new_checkout(paymentMethods=["card"]) for _ in range(3)]
    for checkout in (failed, given_up, ran_out):
        await listen(checkout, webhooks)
    for _ in range(5):
        await failed.charge(card("4084080000005408"))
    await given_up.cancel()
    await ran_out.let_pass("3h")
    assert [(await checkout.record())["status"] for checkout in (failed, given_up, ran_out)] == [
        "failed", "failed", "expired"
    ]  # fmt: skip
    assert await webhooks() == []


async def test_the_first_word_comes_as_soon_as_the_money_is_booked(
    new_checkout: MakeCheckout, runtime: Runtime, webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A settlement notifies: a sender that would not poll for an hour sends at once."""
    monkeypatch.setattr("tidegate.webhook.deliver.POLL_S", 3_600.0)
    checkout = await new_checkout()
    await listen(checkout, webhooks)
    running = asyncio.create_task(sender_of(runtime, Meter()).run(grace_s=1.0))
    try:
        await checkout.charge(card())
        await checkout.tick()
        await webhooks.receiver.got(1)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert json.loads(webhooks.receiver.received[0].body)["data"]["reference"] == checkout.pay_code
