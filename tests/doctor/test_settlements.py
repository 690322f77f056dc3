"""Settling journals and successful payments, one for one: somebody with all rights may have deleted either."""

from __future__ import annotations

from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from tidegate.doctor import money_store

pytestmark = pytest.mark.usefixtures("unlimited")


async def test_a_settled_payment_without_its_journal_and_a_journal_without_its_payment_are_found(
    shop: Shop, new_checkout: MakeCheckout, admin: Any
) -> None:
    assert (await (await new_checkout(shop)).charge(card())).status_code == 200
    payment_id = await admin.fetchval("SELECT id FROM payment")
    assert await money_store.list_wrongly_posted(admin) == []
    change = admin.transaction()
    await change.start()
    await admin.execute("UPDATE journal SET cause = 'payment/gone'")
    found = await money_store.list_wrongly_posted(admin)
    await change.rollback()
    assert sorted(found) == sorted([f"{shop.business_id}/{payment_id}", f"{shop.business_id}/payment/gone"])
