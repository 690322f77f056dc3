"""Webhooks per second by one worker, over a bare client that posts the same bytes; and how long one is on its way."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from functools import cache
from typing import Any

from bench import process, traffic
from bench import webhook_peers as peers
from bench.create import ORDER, PAID_CARD, PATH
from bench.environment import Environment
from bench.report import BenchFailed, Finding, Line, Sample, Section, percentiles_ms
from bench.usage import Watch, resident_mb
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.infra.db import NOTIFY_EVERY_S, Database
from tidegate.infra.egress import USER_AGENT
from tidegate.webhook import sign
from tidegate.webhook.model import EVENT_CHANNEL, IN_FLIGHT_MAX

# More than the receiver can take, so that no allowance is what is measured.
RATE = 100_000
# Fewer would be limited by how many requests each of them may have in flight.
ENDPOINTS_PER_SHOP = 3
# More than a worker can do. Too few end the run with an error.
PREPARED_PER_S = 15_000
EVENTS, EVENT_EVERY_S = 1_000, 0.005
DELAY_AIM_MS, WORKER_AIM_MB = 500.0, 80.0
WITHIN_S = 60.0
LOOK_EVERY_S = 0.01


class Webhooks:
    """Endpoints at a receiver of the benchmark, and events that wait for them."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._runs = 0
        self._receiver = environment.start_server(["bench.webhook_peers", "receive"], ready_path=peers.COUNT, env={})
        self._url = f"http://{process.HOST}:{self._receiver.port}{peers.HOOK}"
        # A payload as the API writes it, and a pattern for all the others.
        order = {**ORDER, "reference": "webhook-pattern"}
        pay_code = environment.api.post(PATH, order, environment.shops[0].create_headers)["payCode"]
        environment.api.post(f"{PATH}/{pay_code}/charge", PAID_CARD, {})
        environment.execute("CREATE TABLE bench_event AS SELECT * FROM event WHERE reference = 'webhook-pattern'")
        self.payload = bytes(environment.fetchrow("SELECT payload FROM bench_event")["payload"])
        for shop in environment.shops * ENDPOINTS_PER_SHOP:
            # Those made before get only what is prepared for them, so that an event is one webhook.
            environment.execute(f"UPDATE webhook_endpoint SET events = '{{}}' WHERE business_id = '{shop.business_id}'")
            environment.api.post("/webhooks/endpoints", {"url": self._url}, {"api-key": shop.secret_key})
        environment.execute(f"UPDATE webhook_endpoint SET rate_per_second = {RATE}")
        self.at_once = len(environment.shops) * ENDPOINTS_PER_SHOP * IN_FLIGHT_MAX

    def ask(self, path: str) -> Any:
        return json.loads(self._receiver.ask(path))

    def prepare(self, count: int) -> None:
        """Deliveries that are due, for the endpoints in turn, though no worker knows yet: `release` lets them go."""
        self._runs += 1
        self._environment.execute(f"""
            CREATE TEMPORARY TABLE wanted AS
            WITH endpoint AS (SELECT business_id, id, row_number() OVER () - 1 AS place FROM webhook_endpoint)
            SELECT business_id, id AS endpoint_id, 'evt_' || left(md5('{self._runs} ' || number), 22) AS event_id
              FROM generate_series(0, {count - 1}) AS number
              JOIN endpoint ON place = number % {self.at_once // IN_FLIGHT_MAX};
            INSERT INTO event (business_id, id, type, cause, payload, reference, created_at, is_fanned_out)
            SELECT wanted.business_id, event_id, type, event_id, payload, event_id, now(), true
              FROM wanted, bench_event;
            INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, reference, priority,
                                          due_at, created_at)
            SELECT wanted.business_id, new_webhook_delivery_id(now()), endpoint_id, event_id, type, event_id, 0, now(),
                   now() FROM wanted, bench_event""")
        self._environment.execute("VACUUM ANALYZE event, webhook_delivery, webhook_attempt, endpoint_state")

    def release(self) -> None:
        self._environment.execute(f"UPDATE endpoint_state SET next_poll_at = now(); NOTIFY {EVENT_CHANNEL}")

    def forget_deliveries(self) -> None:
        self._environment.execute(
            "UPDATE endpoint_state SET next_poll_at = NULL, failures = 0, failing_since = NULL, openings = 0,"
            " open_until = NULL; TRUNCATE webhook_delivery CASCADE"
        )

    def warm_up(self) -> None:
        """Until the worker is there and its connections are open."""
        count = 2 * self.at_once
        self.prepare(count)
        self.ask(peers.FORGET)
        self.release()
        self.await_count(count)
        self.ask(peers.FORGET)

    def await_count(self, count: int) -> None:
        ends_at = time.monotonic() + WITHIN_S
        while (seen := self.ask(peers.COUNT)["count"]) < count:
            if time.monotonic() > ends_at:
                raise BenchFailed(f"of {count} webhooks, the receiver had {seen} after {WITHIN_S:.0f} s")
            time.sleep(LOOK_EVERY_S)

    def ours(self, seconds: float) -> Sample:
        """By the receiver's own count and clock, from one moment under load to another."""
        # About a second goes by until all connections are used.
        count = round(PREPARED_PER_S * (seconds + 1))
        with self._environment.worker() as worker:
            self.warm_up()
            self.prepare(count)
            watch = Watch(self._environment.watched(worker=worker.pid, receiver=self._receiver.process.pid))
            self.release()
            self.await_count(2 * self.at_once)
            before = self.ask(peers.COUNT)
            time.sleep(seconds)
            after = self.ask(peers.COUNT)
            usage = watch.usage(after["count"])
        if after["count"] >= count:
            raise BenchFailed(f"{count} webhooks were too few; the worker was faster than foreseen")
        self._refuse_difference()
        self.forget_deliveries()
        return Sample(after["count"] - before["count"], after["at"] - before["at"], after["count"], usage)

    def _refuse_difference(self) -> None:
        """Everything that came was recorded, and nothing came twice."""
        arrived, count = self.ask(peers.ARRIVALS), self.ask(peers.COUNT)["count"]
        recorded = self._environment.fetchrow(
            "SELECT count(*) AS count FROM webhook_delivery AS delivery JOIN webhook_attempt AS attempt"
            " ON attempt.business_id = delivery.business_id AND attempt.delivery_id = delivery.id"
            " WHERE delivery.status = 'delivered' AND attempt.status_code = 200 AND event_id = ANY ($1::text[])",
            list(arrived),
        )["count"]
        if not count == len(arrived) == recorded:
            raise BenchFailed(f"{count} webhooks came, {len(arrived)} different ones, and {recorded} are recorded")

    def yardstick(self, seconds: float) -> Sample:
        headers = sign.headers(ids.new_event_id(), self.payload, [sign.new_secret()], timestamp_s=int(time.time()))
        headers |= {"content-type": "application/json; charset=utf-8", "user-agent": USER_AGENT}
        plan = {"url": self._url, "headers": headers, "body": self.payload.decode(), "at_once": self.at_once}
        given = json.dumps(plan | {"lead_s": traffic.LEAD_S, "seconds": seconds})
        watch = Watch(self._environment.watched(receiver=self._receiver.process.pid))
        argv = [sys.executable, "-m", "bench.webhook_peers", "post"]
        count = int(process.run(argv, given=given, timeout_s=seconds + traffic.SPARE_S))
        return Sample(count, seconds, count, watch.usage(count))


webhooks_of = cache(Webhooks)


def line(environment: Environment) -> Line:
    webhooks = webhooks_of(environment)
    yardstick = f"aiohttp posting the same, {webhooks.at_once} at once"
    return Line("webhook", yardstick, webhooks.ours, webhooks.yardstick, target=0.6)


def delay(environment: Environment) -> Section:
    webhooks = webhooks_of(environment)
    with environment.worker() as worker:
        webhooks.warm_up()
        committed = asyncio.run(_write_events(environment, webhooks.payload))
        webhooks.await_count(len(committed))
        worker_mb = resident_mb(worker.pid)
    arrivals = webhooks.ask(peers.ARRIVALS)
    webhooks.forget_deliveries()
    ms = percentiles_ms([arrivals[event_id] - at for event_id, at in committed.items()])
    return Section(
        name="webhook-delay",
        title=f"from an event's commit to its receipt, {EVENTS:,} events of {len(environment.shops)} businesses",
        findings=[
            Finding("p50", ms["p50"], "ms", at_most=DELAY_AIM_MS),
            Finding("p99", ms["p99"], "ms"),
            Finding("memory of the worker afterwards", worker_mb, "MB", at_most=WORKER_AIM_MB),
        ],
    )


async def _write_events(environment: Environment, payload: bytes) -> dict[str, float]:
    """As settlements write them: committed first, then the worker is notified. When each was committed."""
    db = Database(environment.url)
    await db.open()
    committed: dict[str, float] = {}
    try:
        for number in range(EVENTS):
            event_id, shop = ids.new_event_id(), environment.shops[number % len(environment.shops)]
            async with db.connection() as tx:
                await tx.execute(
                    "INSERT INTO event (business_id, id, type, cause, payload, reference, created_at)"
                    " VALUES ($1, $2, 'charge.successful', $2, $3, $2, $4)",
                    shop.business_id, event_id, payload, SystemClock().now(),
                )  # fmt: skip
            committed[event_id] = time.monotonic()
            db.notify(EVENT_CHANNEL)
            await asyncio.sleep(EVENT_EVERY_S)
        # The last notification is sent a little later than its event.
        await asyncio.sleep(2 * NOTIFY_EVERY_S)
    finally:
        await db.close()
    return committed
