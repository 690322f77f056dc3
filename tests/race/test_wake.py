"""A delivery becomes due at the moment at which a sender finds that none is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tidegate.core import ids
from tidegate.infra.db import Database
from tidegate.webhook import log_store
from tidegate.webhook.model import TEST_EVENT
from webhook.world import World, make_world

ENDPOINTS = 7
ROUNDS = 60


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        yield made


async def test_a_delivery_that_becomes_due_during_a_poll_is_not_overlooked(world: World, admin: Any) -> None:
    endpoints = [(await world.endpoint(f"http://127.0.0.1:9/{n}")).endpoint.id for n in range(ENDPOINTS)]
    for count in range(ROUNDS):
        await admin.execute("UPDATE endpoint_state SET next_poll_at = $1", world.clock.now())
        await asyncio.gather(world.sender.take(), *(send_to(world, one) for one in endpoints[: count % ENDPOINTS + 1]))
        assert await overlooked(admin) == 0
        await admin.execute("DELETE FROM webhook_delivery")


async def send_to(world: World, endpoint_id: str) -> None:
    async with world.db.connection() as tx:
        await log_store.insert_test(
            tx, world.business_id, endpoint_id, event_id=ids.new_event_id(), event_type=TEST_EVENT, payload=b"{}",
            now=world.clock.now(),
        )  # fmt: skip


async def overlooked(admin: Any) -> int:
    """Deliveries of endpoints at which nobody will look."""
    count: int = await admin.fetchval(
        """
        SELECT count(*) FROM webhook_delivery JOIN endpoint_state USING (business_id, endpoint_id)
         WHERE due_at IS NOT NULL AND lease_until IS NULL AND next_poll_at IS NULL
        """
    )
    return count
