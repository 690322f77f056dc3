"""Each payer sees their own payment, as it is now, and nothing of another payer."""

from __future__ import annotations

import asyncio
import re

from conftest import MakeCheckout
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants


async def test_each_payer_sees_their_own_payment(new_checkout: MakeCheckout) -> None:
    checkouts = [
        await new_checkout(reference=f"together-{number}", amount=100 + number, settings={"name": f"Shop {number}"})
        for number in range(8)
    ]
    await checkouts[3].charge({"type": "bank_transfer"})
    client = checkouts[0].shop.client
    pages = await asyncio.gather(*(client.get(f"/pay/{checkout.pay_code}") for checkout in checkouts * 3))
    for page, (number, checkout) in zip(pages, [*enumerate(checkouts)] * 3, strict=True):
        assert page.status_code == 200
        # A nonce may have "tg_" in it, too.
        assert set(re.findall(rf"tg_\w{{{len(checkout.pay_code) - 3}}}", page.text)) == {checkout.pay_code}
        assert f"<bdi>Shop {number}</bdi>" in page.text
        assert f"Order together-{number}<" in page.text
        assert set(re.findall(r"₦([\d.,]+)", page.text)) == {f"{100 + number}.00"}
        assert ("Send exactly" in page.text or "data-countdown" in page.text) is (number == 3)


async def test_a_payment_that_is_not_there_does_not_disturb_the_others(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    client = checkout.shop.client
    missing = checkout.pay_code[:-4] + "0000"
    pages = await asyncio.gather(*(client.get(f"/pay/{code}") for code in [checkout.pay_code, missing] * 5))
    assert [page.status_code for page in pages] == [200, 404] * 5


async def test_a_change_of_the_shop_is_shown_by_the_next_request(new_checkout: MakeCheckout, db: Database) -> None:
    """Though businesses are cached: the next request reads the change."""
    checkout = await new_checkout()
    for name in ("First Name", "Second Name", "Third Name"):
        await merchants.change(db, checkout.shop.business_id, {"name": name}, now=SystemClock().now())
        page = await checkout.shop.client.get(f"/pay/{checkout.pay_code}")
        assert f"<bdi>{name}</bdi>" in page.text
