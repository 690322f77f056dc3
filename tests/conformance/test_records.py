"""Every record and event of the specification, in every state: each field is there and of its type."""

from __future__ import annotations

import json
from typing import Any

import pytest

from build import Checkout, Shop, order
from checkout.paying import WITHOUT_MONEY, card, phone
from conformance import shape
from conftest import MakeCheckout
from inflow import CLOSE, DIFFERENT, Inflows, credit
from tidegate.account import commands as accounts
from tidegate.audit.model import OPERATOR
from tidegate.core.money import Currency

# The specification's own matrix, with the currencies that the create operation lists; the others are refused.
MATRIX = {
    "KES": ("bank_transfer", "mobile_money"),
    "ZMW": ("card", "mobile_money"),
    "UGX": ("bank_transfer", "mobile_money"),
    "ZAR": ("bank_transfer", "card"),
    "GHS": ("bank_transfer", "mobile_money"),
    "NGN": ("bank_transfer", "card", "payAttitude"),
    "TZS": (),
    "USD": (),
}
METHODS = ("bank_transfer", "card", "mobile_money", "payAttitude")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("currency", MATRIX)
async def test_a_currency_offers_the_methods_of_the_matrix(shop: Shop, currency: str, method: str) -> None:
    """Matrix 2.1."""
    answer = await shop.create(order(currency=currency, paymentMethods=[method]))
    if method in MATRIX[currency]:
        assert answer.status_code == 201, answer.text
        record = (await shop.verify(answer.json()["data"]["reference"])).json()["data"]
        assert record["paymentMethods"] == [method.lower()]
        return
    assert answer.status_code == 422
    as_default = await shop.create(order(currency=currency, defaultPaymentMethod=method))
    assert as_default.status_code == 422
    if MATRIX[currency]:
        assert answer.json()["errorType"] == "METHOD_NOT_SUPPORTED_FOR_CURRENCY"
    else:
        assert answer.json()["errors"][0]["field"] == "currency"


async def records_in_every_state(new_checkout: MakeCheckout) -> dict[str, dict[str, Any]]:
    fresh = await new_checkout(metadata={"cart": 1}, successMessage="Thanks", redirectUrl="http://localhost/back")
    shop = fresh.shop
    waiting, paid, short, long, given_up, unknown, late = [
        await new_checkout(shop, currency=currency) for currency in ("NGN", "NGN", "NGN", "NGN", "NGN", "KES", "NGN")
    ]
    await waiting.account()
    await paid.charge(card())
    await short.transfer(await short.account(), "60")
    await long.transfer(await long.account(), "250")
    await given_up.charge(card(WITHOUT_MONEY))
    await given_up.cancel()
    await unknown.charge(phone("+254712340005"))
    seen = {"initiated": fresh, "pending": waiting, "processing": unknown}
    records = {name: await checkout.record() for name, checkout in seen.items()}
    await late.let_pass("3h")
    ended = {"success": paid, "underpaid": short, "overpaid": long, "failed": given_up, "expired": late}
    return records | {name: await checkout.record() for name, checkout in ended.items()}


async def test_a_payment_record_has_every_field_of_its_type_in_every_state(new_checkout: MakeCheckout) -> None:
    """Table 2.4."""
    records = await records_in_every_state(new_checkout)
    misfits = {name: shape.misfits(record, shape.PAYMENT) for name, record in records.items()}
    assert not any(misfits.values()), misfits
    expected = {"underpaid": "success", "overpaid": "success"}
    assert {name: record["status"] for name, record in records.items()} == {
        name: expected.get(name, name) for name in records
    }


async def events_of(admin: Any, business_id: str, event: str) -> list[dict[str, Any]]:
    rows = await admin.fetch(
        "SELECT payload FROM event WHERE business_id = $1 AND type = $2 ORDER BY created_at", business_id, event
    )
    return [json.loads(row["payload"]) for row in rows]


async def paid_by_every_method(new_checkout: MakeCheckout) -> dict[str, Checkout]:
    by_card = await new_checkout()
    shop = by_card.shop
    by_transfer, by_code = await new_checkout(shop, metadata={"cart": 1}), await new_checkout(shop)
    by_phone = await new_checkout(shop, currency="KES", feeBearer="customer")
    await by_card.charge(card())
    await by_transfer.transfer(await by_transfer.account(), "100")
    await by_phone.charge(phone("+254712340000"))
    await by_code.charge({"type": "payAttitude", "bank": "058"})
    await by_code.sandbox(f"charges/{by_code.pay_code}/approve")
    await by_code.tick()
    return {"card": by_card, "bank_transfer": by_transfer, "mobile_money": by_phone, "payattitude": by_code}


async def test_a_charge_event_has_every_field_of_both_sets_for_every_method(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    """Table 2.5 and the field reference behind it."""
    paid = await paid_by_every_method(new_checkout)
    payloads = await events_of(admin, paid["card"].shop.business_id, "charge.successful")
    assert {payload["data"]["type"] for payload in payloads} == set(paid)
    for payload in payloads:
        data = payload["data"]
        assert (payload["event"], payload["type"]) == ("charge.successful", "charge")
        assert shape.misfits(data, shape.CHARGE) == shape.misfits(data, shape.CHARGE_FIELD_REFERENCE) == {}
        assert ("virtualAccount" in data) == (data["type"] == "bank_transfer")
        if "virtualAccount" in data:
            assert shape.misfits(data["virtualAccount"], shape.CHARGE_ACCOUNT) == {}
        assert data["type"] == data["method"]
        assert data["reference"] == data["transactionReference"] == paid[data["type"]].pay_code
        assert data["merchantReference"] == data["paymentReference"] == paid[data["type"]].reference
        # What it names verifies, whichever name a receiver knows.
        for name in ("reference", "merchantReference"):
            found = await paid["card"].shop.verify(data[name])
            assert found.json()["data"]["status"] == "success"


async def test_an_account_record_has_every_field_of_its_type_in_every_state(inflows: Inflows) -> None:
    """Table 2.6."""
    asked_for = (await inflows.ask_for()).json()["data"]
    ids = {"pending": asked_for["_id"]}
    for currency in (Currency.EUR, Currency.USD):
        ids[currency] = (await inflows.account(currency)).id
    closed, declined = await inflows.account(), (await inflows.ask_for()).json()["data"]["_id"]
    await accounts.close(inflows.runtime.db, closed.id, "moved", by=OPERATOR, now=inflows.now)
    await accounts.decline(inflows.runtime.db, declined, "no passport", by=OPERATOR, now=inflows.now)
    for account_id in (*ids.values(), closed.id, declined):
        answer = (await inflows.call("GET", f"/profile/virtual-accounts/{account_id}")).json()
        assert set(answer) == {"success", "message", "data"}
        assert "will change" in answer["message"]
        assert shape.misfits(answer["data"], shape.ACCOUNT) == {}


async def test_an_inflow_record_has_every_field_of_its_type_in_every_state(inflows: Inflows) -> None:
    """Table 2.7."""
    number = await inflows.number()
    for typed in (None, "Ada Obi", CLOSE, DIFFERENT):
        await inflows.notify(credit(number, payeeName=typed))
    answer = (await inflows.list()).json()
    assert {"success", "message", "data"} == set(answer)
    results = answer["data"]["results"]
    assert {one["status"] for one in results} == {"successful", "pending", "reversed"}
    assert [shape.misfits(one, shape.COLLECTION) for one in results] == [{}] * 4
    assert answer["data"]["total"] == 4


async def test_a_deposit_event_has_every_field_of_its_type_also_when_converted(inflows: Inflows) -> None:
    """Table 2.8."""
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.0842")
    nobody = {"name": None, "accountNumber": None, "bankName": None, "bankCode": None}
    for number in (await inflows.number(), await inflows.number(Currency.EUR, Currency.USD)):
        await inflows.notify(credit(number))
        await inflows.notify(credit(number, payer=nobody, remittance=None))
    payloads = await events_of(inflows.admin, inflows.shop.business_id, "collection.successful")
    assert [(payload["event"], shape.misfits(payload["data"], shape.DEPOSIT)) for payload in payloads] == [
        ("collection.successful", {})
    ] * 4
