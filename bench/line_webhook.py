"""Webhooks per second by one worker, over a bare client that posts the same bytes; and how long one is on its way."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict

from bench import process, traffic
from bench import webhook_receiver as receiver
from bench.cpu import Watch
from bench.delay import Delay
from bench.line import BenchFailed, Line, Sample
from bench.stage import Shop, Stage
from bench.webhook_yardstick import Plan
from bench.webhooks import Webhooks
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.infra.db import RING_EVERY_S, Database
from tidegate.infra.egress import USER_AGENT
from tidegate.webhook import sign
from tidegate.webhook.model import EVENT_CHANNEL, IN_FLIGHT_MAX

TARGET = 0.6
# How many are prepared for a run: this many times the fastest so far, or the first guess.
MARGIN = 1.5
FIRST_GUESS_PER_S = 6_000
# About as long as it takes until connections are open.
LEAD_S = 1.0
# Of the delays.
EVENTS_PER_S = 200
# To one endpoint. It may have ten under way at a time, so that on a busy machine more would only wait for one another.
EVENTS_PER_S_OF_ONE = 50
# Less than it takes until the worker has had enough of an endpoint that hangs.
EVENTS_FOR_S = 12
POISON = 10_000
AIM_S = 0.5


def line(stage: Stage) -> Line:
    webhooks = Webhooks.of(stage)
    at_once = len(webhooks.endpoints) * IN_FLIGHT_MAX
    fastest = [float(FIRST_GUESS_PER_S)]

    def ours(seconds: float) -> Sample:
        sample = _ours(stage, webhooks, seconds, count=round(MARGIN * max(fastest) * (seconds + LEAD_S)))
        fastest.append(sample.per_second)
        return sample

    return Line(
        name="webhook",
        description=f"webhooks delivered, {len(webhooks.endpoints)} endpoints",
        yardstick=f"aiohttp posting the same, {at_once} at once",
        run_ours=ours,
        run_yardstick=lambda seconds: _yardstick(stage, webhooks, seconds, at_once=at_once),
        target=TARGET,
    )


def receipt(stage: Stage) -> Delay:
    webhooks = Webhooks.of(stage)
    return Delay(
        name="webhook-receipt",
        description=f"from an event's commit to its receipt, {EVENTS_PER_S} a second, {len(webhooks.shops)} endpoints",
        aim_s=AIM_S,
        measure=lambda: _wait_for_events(stage, webhooks, webhooks.shops, per_second=EVENTS_PER_S),
    )


def alone(stage: Stage) -> Delay:
    webhooks = Webhooks.of(stage)
    return Delay(
        name="webhook-alone",
        description=f"the same, {EVENTS_PER_S_OF_ONE} a second to one endpoint",
        aim_s=AIM_S,
        measure=lambda: _wait_for_events(stage, webhooks, webhooks.shops[:1], per_second=EVENTS_PER_S_OF_ONE),
    )


def beside_poison(stage: Stage) -> Delay:
    webhooks = Webhooks.of(stage)
    return Delay(
        name="webhook-beside-poison",
        description=f"the same, while another hangs with {POISON:,} due; p99 within twice of alone",
        aim_s=AIM_S,
        measure=lambda: _wait_for_events(
            stage, webhooks, webhooks.shops[:1], per_second=EVENTS_PER_S_OF_ONE, poison=POISON
        ),
    )


def _ours(stage: Stage, webhooks: Webhooks, seconds: float, *, count: int) -> Sample:
    """By the receiver's own count and clock, from a moment when it is being served to another."""
    with stage.worker() as worker:
        webhooks.warm()
        webhooks.prepare(webhooks.endpoints, count)
        watch = Watch(stage.watched(worker=worker.pid, receiver=webhooks.receiver.process.pid))
        webhooks.release(webhooks.endpoints)
        # Connections are being opened; each has been used twice then.
        webhooks.await_count(2 * IN_FLIGHT_MAX * len(webhooks.endpoints))
        before = webhooks.ask(receiver.COUNT)
        time.sleep(seconds)
        after = webhooks.ask(receiver.COUNT)
        details = watch.details(after["count"])
        if after["count"] >= count:
            raise BenchFailed(f"{count} webhooks were too few; the worker was faster than foreseen")
    _refuse_difference(stage, webhooks)
    webhooks.forget_what_waits()
    return Sample(after["count"] - before["count"], after["at"] - before["at"], details)


def _refuse_difference(stage: Stage, webhooks: Webhooks) -> None:
    """All that came was written down, and nothing came twice."""
    arrived = webhooks.ask(receiver.ARRIVALS)
    count = webhooks.ask(receiver.COUNT)["count"]
    noted = stage.fetchrow(
        "SELECT count(*) AS count FROM webhook_delivery AS delivery JOIN webhook_attempt AS attempt"
        " ON attempt.business_id = delivery.business_id AND attempt.delivery_id = delivery.id"
        " WHERE delivery.status = 'delivered' AND attempt.status_code = 200 AND event_id = ANY ($1::text[])",
        list(arrived),
    )["count"]
    if not count == len(arrived) == noted:
        raise BenchFailed(f"{count} webhooks came, {len(arrived)} different ones, and {noted} are written down")


def _yardstick(stage: Stage, webhooks: Webhooks, seconds: float, *, at_once: int) -> Sample:
    body = webhooks.payload
    headers = sign.headers(ids.new_event_id(), body, [sign.new_secret()], timestamp_s=int(time.time()))
    headers |= {"content-type": "application/json; charset=utf-8", "user-agent": USER_AGENT}
    plan = Plan(webhooks.url(receiver.HOOK), headers, body.decode(), at_once, traffic.LEAD_S, seconds)
    watch = Watch(stage.watched(receiver=webhooks.receiver.process.pid))
    printed = process.run(
        [sys.executable, "-m", "bench.webhook_yardstick"],
        given=json.dumps(asdict(plan)),
        timeout_s=seconds + traffic.SPARE_S,
    )
    result = json.loads(printed)
    return Sample(result["count"], result["seconds"], watch.details(result["count"]))


def _wait_for_events(
    stage: Stage, webhooks: Webhooks, shops: list[Shop], *, per_second: int, poison: int = 0
) -> list[float]:
    with stage.worker():
        webhooks.warm()
        if poison:
            webhooks.prepare([webhooks.poisoned], poison)
            webhooks.release([webhooks.poisoned])
            webhooks.await_hanging(IN_FLIGHT_MAX)
        committed = asyncio.run(_write_events(stage.url, shops, webhooks.payload, per_second=per_second))
        webhooks.await_count(len(committed))
        # Nobody has to wait for those that hang until the worker has had enough of them.
        webhooks.forget_what_waits()
        webhooks.ask(receiver.RELEASE)
    webhooks.forget_what_waits()
    arrivals = webhooks.ask(receiver.ARRIVALS)
    return [arrivals[event_id] - at for event_id, at in committed.items()]


async def _write_events(url: str, shops: list[Shop], payload: bytes, *, per_second: int) -> dict[str, float]:
    """At a steady pace, as whoever settles writes them: committed first, and then somebody is rung for."""
    db = Database(url)
    await db.open()
    committed: dict[str, float] = {}
    began = time.monotonic()
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(per_second * EVENTS_FOR_S):
                await asyncio.sleep(max(began + number / per_second - time.monotonic(), 0))
                group.create_task(_write_event(db, shops[number % len(shops)], payload, committed))
        # The last ring comes a little later than its news.
        await asyncio.sleep(2 * RING_EVERY_S)
    finally:
        await db.close()
    return committed


async def _write_event(db: Database, shop: Shop, payload: bytes, committed: dict[str, float]) -> None:
    event_id = ids.new_event_id()
    async with db.connection() as tx:
        await tx.execute(
            "INSERT INTO event (business_id, id, type, cause, payload, reference, created_at)"
            " VALUES ($1, $2, 'charge.successful', $2, $3, $2, $4)",
            shop.business_id, event_id, payload, SystemClock().now(),
        )  # fmt: skip
    committed[event_id] = time.monotonic()
    db.notify(EVENT_CHANNEL)
