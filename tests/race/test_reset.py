"""A sandbox that is emptied while money arrives in it."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from conftest import MakeCheckout

WITHIN_S = 120.0

pytestmark = pytest.mark.one_server("pg_locks has those of one node")


async def somebody_waits(admin: Any) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not await admin.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_what_arrives_in_the_very_moment_is_deleted_too(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    arriving = admin.transaction()
    await arriving.start()
    await admin.execute(
        "INSERT INTO receipt (business_id, rail, transaction_id, currency, amount_minor, outcome, payer, created_at,"
        " payment_id) SELECT business_id, 'sandbox', 'late', 'NGN', 100, 'suspense', '{}', now(), id FROM payment"
        " WHERE business_id = $1",
        checkout.shop.business_id,
    )
    emptied = asyncio.create_task(checkout.sandbox("reset"))
    # It has deleted all receipts that it saw, and waits for the holder of the payment's lock.
    await somebody_waits(admin)
    await arriving.commit()
    assert (await emptied).status_code == 200
    left = await admin.fetchval("SELECT count(*) FROM receipt WHERE business_id = $1", checkout.shop.business_id)
    assert left == 0


async def test_a_change_that_locks_in_another_order_is_waited_for(new_checkout: MakeCheckout, admin: Any) -> None:
    """A deadlock: PostgreSQL stops one of the two, usually the reset, which waits longer. The reset tries again."""
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100")
    business_id = checkout.shop.business_id
    working = admin.transaction()
    await working.start()
    await admin.execute("SELECT FROM wallet WHERE business_id = $1 FOR UPDATE", business_id)
    emptied = asyncio.create_task(checkout.sandbox("reset"))
    # The reset has the payment and waits for the wallet; with this update each waits for the other.
    await somebody_waits(admin)
    try:
        await admin.execute("UPDATE payment SET updated_at = updated_at WHERE business_id = $1", business_id)
    except asyncpg.DeadlockDetectedError:  # A busy machine began the update so late that it was the one to be stopped.
        await working.rollback()
    else:
        await working.commit()
    assert (await emptied).status_code == 200
    assert await admin.fetchval("SELECT count(*) FROM payment WHERE business_id = $1", business_id) == 0
