"""The running sender: woken by notifications or by polling, beside others, stopped, cut off."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from receiver import OK, Exchange, Receiver, answer, hang, receiving
from serving import metrics_of
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.infra.egress import Egress
from tidegate.infra.telemetry import Meter
from tidegate.webhook import deliver, schedule
from tidegate.webhook.deliver import Sender
from tidegate.webhook.model import EVENT_CHANNEL, IN_FLIGHT_MAX
from webhook.world import World, make_world, new_business

NEVER_S = 3_600.0


@pytest.fixture
async def world(db: Database) -> AsyncIterator[World]:
    async with make_world(db) as made:
        made.clock = SystemClock()  # type: ignore[assignment]
        yield made


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as made:
        yield made


def new_sender(world: World, meter: Meter | None = None) -> Sender:
    return Sender(world.db, Egress(world.webhook_deps.guard), world.webhook_deps.vault, world.clock, meter or Meter())


@asynccontextmanager
async def running(*senders: Sender, grace_s: float = 5.0) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(sender.run(grace_s=grace_s)) for sender in senders]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


async def eventually(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await look():  # noqa: ASYNC110 - a table tells nobody that it has changed
            await asyncio.sleep(0.01)


async def statuses(world: World) -> Counter[str]:
    return Counter(str(delivery.status) for delivery in await world.deliveries())


async def test_a_notification_wakes_the_sender_before_its_next_poll(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "POLL_S", NEVER_S)
    await world.endpoint(receiver.url())
    async with running(new_sender(world)):
        for count in range(1, 4):
            await world.event()
            world.db.notify(EVENT_CHANNEL)
            await receiver.got(count)


async def test_a_landing_makes_room_for_the_next_at_once(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "POLL_S", NEVER_S)
    await world.endpoint(receiver.url(), rate_per_second=1_000)
    for _ in range(3 * IN_FLIGHT_MAX):
        await world.event()
    async with running(new_sender(world)):
        await receiver.got(3 * IN_FLIGHT_MAX)


async def test_without_notifications_polling_is_enough(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "POLL_S", 0.02)
    await world.endpoint(receiver.url())
    async with running(new_sender(world)):
        await world.event()
        await receiver.got(1)
        await world.event()
        await receiver.got(2)


async def test_a_lost_listener_listens_again(
    world: World, receiver: Receiver, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "POLL_S", NEVER_S)
    monkeypatch.setattr("tidegate.infra.db.LISTEN_AGAIN_S", 0.01)
    await world.endpoint(receiver.url())
    find = (
        f"SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN \"{EVENT_CHANNEL}\"' AND datname = current_database()"
    )
    async with running(new_sender(world)):
        await world.event()
        await receiver.got(1)
        # It looks before it listens, so the first event may have come without.
        await eventually(lambda: _is_listening(admin, find))
        listeners = await admin.fetch(find)
        for row in listeners:  # An earlier one may still be on its way out.
            await admin.execute("SELECT pg_terminate_backend($1::integer)", row["pid"])
        assert listeners
        await world.event()
        await receiver.got(2)  # Whoever listens again looks first: there may have been news meanwhile.


async def test_a_retry_comes_when_it_is_due_and_not_at_the_next_poll(
    world: World, receiver: Receiver, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "POLL_S", NEVER_S)
    monkeypatch.setattr(schedule, "DELAYS", (timedelta(0), timedelta(seconds=0.05)))
    receiver.script = [answer(500)]
    await world.endpoint(receiver.url())
    async with running(new_sender(world)):
        await world.event()
        world.db.notify(EVENT_CHANNEL)
        await receiver.got(2)


async def test_several_at_once_send_everything_once(world: World, receiver: Receiver) -> None:
    for number in range(3):
        await world.endpoint(receiver.url(f"/{number}"), rate_per_second=1_000)
    events = [await world.event() for _ in range(60)]
    async with running(*(new_sender(world) for _ in range(3))):
        await receiver.got(180)
        await eventually(lambda: _is(world, delivered=180))
    sent = Counter((got.path, got.event_id) for got in receiver.received)
    assert sent == Counter({(f"/{number}", event): 1 for number in range(3) for event in events})
    assert receiver.at_once_most <= 3 * IN_FLIGHT_MAX


async def _is(world: World, **wanted: int) -> bool:
    return await statuses(world) == Counter(wanted)


async def test_an_endpoint_that_hangs_with_a_long_queue_delays_no_other(world: World, receiver: Receiver) -> None:
    other = await new_business(world.db)
    async with receiving(hang) as dead:
        await world.endpoint(dead.url(), rate_per_second=1_000)
        await world.endpoint(receiver.url("/same"), rate_per_second=1_000)
        await world.endpoint(receiver.url("/other"), business_id=other, rate_per_second=1_000)
        for _ in range(100):
            await world.event()
        async with running(new_sender(world), new_sender(world), grace_s=0.0):
            await dead.got(IN_FLIGHT_MAX)
            await receiver.got(100)
            for count in range(101, 111):
                await world.event(business_id=other)
                world.db.notify(EVENT_CHANNEL)
                await receiver.got(count)
        # All this while it held what one endpoint may have, of two workers, and no more.
        assert dead.at_once_most == len(dead.received) == IN_FLIGHT_MAX


async def test_who_stops_waits_for_what_is_under_way(world: World, receiver: Receiver) -> None:
    may_answer = asyncio.Event()

    async def slowly(exchange: Exchange) -> None:
        await may_answer.wait()
        await OK(exchange)

    receiver.behaviour = slowly
    await world.endpoint(receiver.url())
    await world.event()
    task = asyncio.create_task(new_sender(world).run(grace_s=10.0))
    await receiver.got(1)
    task.cancel()
    # Long after he was told.
    asyncio.get_running_loop().call_later(0.3, may_answer.set)
    with suppress(asyncio.CancelledError):
        await task
    assert (await world.delivery()).status == "delivered"


@pytest.mark.one_server("on a cluster leases expire by themselves")
async def test_who_cannot_wait_gives_back_what_he_holds(world: World, receiver: Receiver, admin: Any) -> None:
    receiver.behaviour = hang
    await world.endpoint(receiver.url())
    await world.event()
    async with running(new_sender(world), grace_s=0.0):
        await receiver.got(1)
    delivery = await world.delivery()
    assert (delivery.status, [attempt.error for attempt in delivery.attempts]) == ("pending", ["interrupted"])
    assert await admin.fetchval("SELECT count(*) FROM webhook_delivery WHERE lease_token IS NOT NULL") == 0
    receiver.behaviour = OK
    async with running(new_sender(world)):
        await receiver.got(2)
        await eventually(lambda: _is(world, delivered=1))
    assert receiver.received[0].event_id == receiver.received[1].event_id


@pytest.mark.one_server("on a cluster a success does not wait for this lock")
async def test_what_landed_while_nothing_can_be_written_is_written_later(
    world: World, receiver: Receiver, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock is held for so long that statements time out: to the sender the database is away."""
    monkeypatch.setattr(deliver, "PAUSE_AWAY_S", 0.02)
    own = Database(world.db.url, statement_timeout_ms=300)
    await own.open()
    holder = await asyncpg.connect(world.db.url)
    holding = holder.transaction()

    async def lock_everything(exchange: Exchange) -> None:
        await holding.start()
        await holder.execute("SELECT FROM endpoint_state WHERE business_id = $1 FOR UPDATE", world.business_id)
        await OK(exchange)

    await world.endpoint(receiver.url(), rate_per_second=1_000)
    for _ in range(20):
        await world.event()
    receiver.script = [lock_everything]
    meter = Meter()
    sender = Sender(own, Egress(world.webhook_deps.guard), world.webhook_deps.vault, world.clock, meter)
    try:
        async with running(sender):
            with capture_logs() as lines:
                await receiver.got(1)
                await eventually(lambda: _has_stumbled(meter, times=6))
            # Once for each of what takes and what writes down.
            assert [line["event"] for line in lines].count("webhooks wait for the database") in (1, 2)
            assert await statuses(world) == Counter(pending=20)
            await holding.rollback()
            await eventually(lambda: _is(world, delivered=20))
    finally:
        holder.terminate()  # What it holds must not outlive a test that failed.
        await own.close()
    sent = Counter(got.event_id for got in receiver.received)
    assert (len(sent), max(sent.values())) == (20, 1)


async def _is_listening(admin: Any, find: str) -> bool:
    return bool(await admin.fetch(find))


async def _has_stumbled(meter: Meter, *, times: int) -> bool:
    found = re.search(r'tidegate_work_failures_total\{loop="deliver_webhooks"\} (\d+)', metrics_of(meter))
    return found is not None and int(found[1]) >= times


async def test_what_it_does_can_be_graphed(world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliver, "MEASURE_EVERY_S", 0.01)
    receiver.script = [answer(500)]
    await world.endpoint(receiver.url())
    disabled = await world.endpoint(receiver.url("/2"))
    meter = Meter()
    async with running(new_sender(world, meter)):
        await world.event()
        world.db.notify(EVENT_CHANNEL)
        await receiver.got(2)
        await eventually(lambda: _shows(meter, 'tidegate_deliveries_total{outcome="failed"} 1.0'))
        await eventually(lambda: _shows(meter, 'tidegate_deliveries_total{outcome="delivered"} 1.0'))
        await eventually(lambda: _shows(meter, "tidegate_delivery_oldest_due_seconds 0.0"))
    assert disabled.endpoint.status == "enabled"


async def _shows(meter: Meter, line: str) -> bool:
    return line in metrics_of(meter)
