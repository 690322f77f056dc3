"""The worker as a process of its own: stopped gently, killed, started again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import httpx
import pytest

from process import free_port, stop, tidegate
from receiver import OK, Exchange, Receiver, hang, receiving
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.sandbox import store as sandbox_store
from webhook.world import World, make_world


@pytest.fixture
async def world(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[World]:
    """In a database of its own: these workers would do the work of other tests as well."""
    db = Database(await make_database("tidegate_test_worker"))
    await db.open()
    async with make_world(db) as made:
        made.clock = SystemClock()  # type: ignore[assignment]
        yield made
    await db.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


@contextmanager
def worker(world: World, **environment: str) -> Iterator[None]:
    process = tidegate("worker", DATABASE_URL=world.db.url, **environment)
    try:
        yield
    finally:
        stop(process)


async def test_a_stopped_worker_waits_for_the_answer_and_ends_well(world: World, receiver: Receiver) -> None:
    may_answer = asyncio.Event()

    async def slowly(exchange: Exchange) -> None:
        await may_answer.wait()
        await OK(exchange)

    receiver.behaviour = slowly
    await world.endpoint(receiver.url())
    await world.event()
    process = tidegate("worker", DATABASE_URL=world.db.url)
    await receiver.got(1)
    process.send_signal(signal.SIGTERM)
    asyncio.get_running_loop().call_later(0.5, may_answer.set)
    assert await asyncio.to_thread(stop, process) == 0
    delivery = await world.delivery()
    assert (delivery.status, delivery.attempts_made) == ("delivered", 1)


async def test_a_killed_worker_loses_nothing(world: World, receiver: Receiver) -> None:
    receiver.behaviour = hang
    await world.endpoint(receiver.url())
    event_id = await world.event()
    process = tidegate("worker", DATABASE_URL=world.db.url)
    await receiver.got(1)
    os.killpg(process.pid, signal.SIGKILL)
    await asyncio.to_thread(stop, process)
    assert (await world.delivery()).status == "pending"
    receiver.behaviour = OK
    async with world.db.connection() as tx:
        # The lease of the dead runs out; nobody has to wait for it here.
        await sandbox_store.advance(tx, world.business_id, timedelta(minutes=1), ahead_max=timedelta(days=1))
    with worker(world):
        await receiver.got(2)
    delivery = await world.delivery()
    assert delivery.status == "delivered"
    assert [attempt.error for attempt in delivery.attempts] == ["interrupted", None]
    assert {got.event_id for got in receiver.received} == {event_id}
    assert len({got.body for got in receiver.received}) == 1


async def test_a_worker_serves_its_metrics_on_the_configured_port(world: World, receiver: Receiver) -> None:
    port = free_port()
    await world.endpoint(receiver.url())
    await world.event()
    with worker(world, TIDEGATE_METRICS_PORT=str(port)):
        await receiver.got(1)
        async with httpx.AsyncClient() as client:
            text = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    assert "tidegate_deliveries_total" in text
    assert "tidegate_delivery_oldest_due_seconds" in text
