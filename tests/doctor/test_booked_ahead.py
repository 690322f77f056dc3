"""Wallets that are booked into the future: a caller with a wrong clock makes one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from tidegate.core.clock import SystemClock
from tidegate.doctor import money_store

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_wallet_that_is_booked_into_the_future_is_found(
    shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    assert (await (await new_checkout(shop)).charge(card())).status_code == 200
    soon = SystemClock().now() + timedelta(minutes=15)
    assert await money_store.list_booked_ahead(admin, soon) == []
    change = admin.transaction()
    await change.start()
    await admin.execute("UPDATE wallet SET booked_until = '9999-01-01'")
    found = await money_store.list_booked_ahead(admin, soon)
    await change.rollback()
    assert found == [f"{shop.business_id}/NGN"]
