"""An endpoint is deleted at the moment at which something is queued for it: nothing may stay queued for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from tidegate.audit.model import OPERATOR
from tidegate.core.errors import Refusal
from tidegate.infra.db import Database
from tidegate.webhook import commands, store
from tidegate.webhook.log_store import Window
from webhook.world import World, make_world

pytestmark = pytest.mark.one_server("a wait on another node is not seen")

Queue = Callable[[World, str, int], Awaitable[object]]


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        yield made


async def fan_out(world: World, _: str, __: int) -> None:
    await world.event()
    await world.sender.fan_out()


async def replay(world: World, _: str, __: int) -> None:
    now = world.clock.now()
    window = Window(start=now - timedelta(days=1), end=now + timedelta(days=1))
    async with world.db.transaction() as tx:
        await commands.replay(tx, world.business_id, window, by=OPERATOR, now=now)


async def resend(world: World, _: str, delivery_id: int) -> None:
    async with world.db.transaction() as tx:
        await commands.resend(tx, world.business_id, delivery_id, by=OPERATOR, now=world.clock.now())


async def send_test(world: World, endpoint_id: str, _: int) -> None:
    async with world.db.transaction() as tx:
        await commands.send_test(tx, world.business_id, endpoint_id, by=OPERATOR, now=world.clock.now())


@pytest.mark.parametrize("queue", [fan_out, replay, resend, send_test])
async def test_nothing_is_queued_for_an_endpoint_that_is_deleted_at_this_moment(
    world: World, admin: Any, queue: Queue
) -> None:
    endpoint_id = (await world.endpoint("http://127.0.0.1:9/")).endpoint.id
    await world.event()
    await world.sender.fan_out()
    delivery_id = (await world.delivery()).id
    async with world.db.transaction() as tx:
        await store.delete(tx, world.business_id, endpoint_id, now=world.clock.now())
        queueing = asyncio.create_task(_ignoring_refusals(queue(world, endpoint_id, delivery_id)))
        await until_somebody_waits(admin)
    await queueing
    assert await admin.fetchval("SELECT count(*) FROM webhook_delivery WHERE status = 'pending'") == 0
    assert await admin.fetchval("SELECT count(*) FROM event WHERE NOT is_fanned_out") == 0


async def _ignoring_refusals(work: Awaitable[object]) -> None:
    with suppress(Refusal):
        await work


async def until_somebody_waits(admin: Any) -> None:
    async with asyncio.timeout(60):
        waiting = 0
        while waiting == 0:
            await asyncio.sleep(0.01)
            waiting = await admin.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )


async def test_an_endpoint_that_has_just_unsubscribed_gets_no_event(world: World, admin: Any) -> None:
    endpoint_id = (await world.endpoint("http://127.0.0.1:9/")).endpoint.id
    await world.event()
    async with world.db.transaction() as tx:
        await store.update(tx, world.business_id, endpoint_id, {"events": ["charge.failed"]}, now=world.clock.now())
        queueing = asyncio.create_task(world.sender.fan_out())
        await until_somebody_waits(admin)
    await queueing
    assert await world.deliveries() == []
