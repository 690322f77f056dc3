"""Quoting fees, and prices of a business's own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from build import Shop
from conftest import MakeCheckout
from tidegate.core.fee import FeeRule
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants

NOW = datetime(2026, 11, 15, tzinfo=UTC)


async def quote(shop: Shop, **changes: Any) -> httpx.Response:
    body = {"currency": "NGN", "type": "bank_transfer", "amount": 100, **changes}
    return await shop.client.post("/checkout/data/fees", json=body, headers={"api-key": shop.secret_key})


async def test_the_published_sample_is_quoted(shop: Shop) -> None:
    answer = await quote(shop)
    assert answer.status_code == 200
    assert '"fee":1.4,"vat":0.11,"total":1.51,"amountExpectedFromCustomer":101.51' in answer.text


@pytest.mark.parametrize(
    ("currency", "method", "fee"),
    [("KES", "mobile_money", 1), ("GHS", "mobile_money", 1.5), ("ZAR", "card", 1.6), ("UGX", "mobile_money", 2)],
)
async def test_other_currencies_have_their_price_and_no_vat(shop: Shop, currency: str, method: str, fee: float) -> None:
    data = (await quote(shop, currency=currency, type=method)).json()["data"]
    assert (data["fee"], data["vat"]) == (fee, 0)


@pytest.mark.parametrize(
    ("changes", "field", "error_type"),
    [
        ({"type": "cash"}, "type", "VALIDATION_FAILED"),
        ({"currency": "KES", "type": "card"}, "type", "METHOD_NOT_SUPPORTED_FOR_CURRENCY"),
        ({"amount": 0}, "amount", "VALIDATION_FAILED"),
        ({"amount": 10.5}, "amount", "VALIDATION_FAILED"),
        ({"currency": "USD"}, "currency", "VALIDATION_FAILED"),
    ],
)
async def test_a_quote_that_makes_no_sense_is_refused(
    shop: Shop, changes: dict[str, Any], field: str, error_type: str
) -> None:
    answer = await quote(shop, **changes)
    assert answer.status_code == 422
    assert answer.json()["errorType"] == error_type
    assert [problem["field"] for problem in answer.json()["errors"]] == [field]


async def test_a_payment_keeps_the_price_it_was_made_with(
    shop: Shop, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    business_id = shop.business_id
    rule = FeeRule("", basis_points=100, vat_basis_points=0, fixed_minor=50, cap_minor=120)
    await merchants.set_fee_rule(
        db, business_id, currency=Currency.NGN, method=Method.BANK_TRANSFER, rule=rule, now=NOW
    )
    own = await new_checkout(shop, feeBearer="customer")
    expected = (await own.record())["amountExpected"]
    assert expected == 101.2, "1 % and 0.50, at most 1.20"
    account = await own.account()
    later = FeeRule("", basis_points=500, vat_basis_points=0)
    await merchants.set_fee_rule(
        db, business_id, currency=Currency.NGN, method=Method.BANK_TRANSFER, rule=later, now=NOW
    )
    await own.transfer(account, "101.2")
    row = await admin.fetchrow("SELECT fee_minor, settled_minor FROM payment WHERE pay_code = $1", own.pay_code)
    assert (row["fee_minor"], row["settled_minor"]) == (120, 10_000)
