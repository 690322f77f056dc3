"""The balances of a merchant, one wallet per currency."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from build import Shop
from conftest import MakeShop
from inflow import CLOSE, Inflows, credit
from tidegate.core.money import Currency
from tidegate.infra.db import Database
from wallet.merchant import MIDNIGHT, Merchant, refund, sale


@pytest.fixture
def merchant(db: Database, shop: Shop) -> Merchant:
    return Merchant(db, shop)


async def test_a_wallet_says_what_is_there_and_what_is_on_its_way_out(merchant: Merchant) -> None:
    await merchant.book(sale(100_00, fee=1_40, vat=11))
    await merchant.book(refund(40_50), at=MIDNIGHT + timedelta(hours=1))
    [wallet] = await merchant.wallets()
    number = wallet.pop("walletNumber")
    assert int(number) > 1_000_000_000
    assert wallet == {
        "id": f"{merchant.shop.business_id}-NGN",
        "business": merchant.shop.business_id,
        "currency": "NGN",
        "availableBalance": Decimal("59.5"),
        "ledgerBalance": 100,
        "lockedBalance": Decimal("40.5"),
        "pendingBalance": 0,
        "owedBalance": 0,
        "status": "active",
        "createdAt": "2026-11-02T00:00:00.000Z",
        "updatedAt": "2026-11-02T01:00:00.000Z",
    }


async def test_there_is_one_wallet_for_each_currency_that_was_received(merchant: Merchant) -> None:
    assert await merchant.wallets() == []
    await merchant.book(sale(5, Currency.UGX), sale(7, Currency.USD), sale(9, Currency.UGX))
    found = [(wallet["currency"], wallet["availableBalance"]) for wallet in await merchant.wallets()]
    assert found == [("UGX", 14), ("USD", Decimal("0.07"))]


async def test_a_business_cannot_see_the_wallet_of_another(merchant: Merchant, new_shop: MakeShop) -> None:
    await merchant.book(sale(100_00))
    stranger = Merchant(merchant.db, await new_shop())
    assert await stranger.wallets() == []
    assert (await stranger.ask("/wallets/NGN/statement")).status_code == 404
    answer = await merchant.shop.client.get("/wallets")
    assert (answer.status_code, answer.json()["errorType"]) == (401, "UNAUTHENTICATED")


async def test_what_is_held_for_review_is_pending_until_it_is_decided(inflows: Inflows, merchant: Merchant) -> None:
    number = await inflows.number()
    await inflows.notified(credit(number, 100_00))
    await inflows.notified(credit(number, 30_00, payeeName=CLOSE))
    held = await inflows.notified(credit(number, 5_05, payeeName=CLOSE))
    assert held["status"] == "pending"
    [wallet] = await merchant.wallets()
    assert (wallet["currency"], wallet["pendingBalance"]) == ("EUR", Decimal("35.05"))
    assert wallet["availableBalance"] == wallet["ledgerBalance"] == Decimal(await inflows.wallet("EUR")) / 100
