"""The sender: creates deliveries for events, sends what is due, records the outcome. Any number may run.

No lock is held while sending. A sender holds a lease, and its result is written only while the lease is valid; after
the lease has expired, another sender sends the delivery again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec
import structlog

from tidegate.audit import store as audit
from tidegate.audit.model import OURSELVES
from tidegate.core.clock import Clock, SystemClock, monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.infra.db import REFUSED, Database
from tidegate.infra.egress import Egress, WebhookResponse
from tidegate.infra.leased_work import text_of
from tidegate.infra.telemetry import Meter, is_logged
from tidegate.infra.trace import CLIENT, Tracer
from tidegate.infra.vault import NoKey, Vault
from tidegate.webhook import queue, queue_store, schedule, sign
from tidegate.webhook.model import (
    EVENT_CHANNEL,
    IN_FLIGHT_MAX,
    PAYLOAD_ERASED,
    Circuit,
    ClaimedDelivery,
    DeliveryResult,
    DisabledReason,
)
from tidegate.webhook.queue_store import DeliveryKey

# In batches: while one is written, others are being sent and claimed.
FINISH_BATCH = 100
# Per sender; the limit per endpoint is lower.
SENDING_MAX = 500
# Endpoints per claim: with more, the first requests would end before the last are claimed.
TAKEN_FROM_MAX = 10
# Longer than any time-out of a request.
LEASE = timedelta(seconds=45)
# Poll interval without notifications: the only way behind a pooler, which loses NOTIFY.
POLL_S = 0.5
PAUSE_MIN_S = 0.005
# How long to wait for a request to end before the database is queried for the next due time.
ENDS_SOON_S = 0.01
GATHER_S = 0.002
# While the database is away; results are kept in memory.
PAUSE_AWAY_S = 0.5
# On stop, the last request sent gets the same time as any other.
GRACE_S = 16.0
MEASURE_EVERY_S = 10.0
LOOP = queue_store.DELIVER
OUTCOMES = DELIVERED, FAILED, EXHAUSTED = "delivered", "failed", "exhausted"
SECRETS_KEPT_MAX = 10_000

log = structlog.get_logger("webhook")


class Sender:
    def __init__(
        self, db: Database, egress: Egress, vault: Vault, clock: Clock, meter: Meter, *, tracer: Tracer | None = None
    ) -> None:
        self._db = db
        self._egress = egress
        self._vault = vault
        self._clock = clock
        # Receivers compare a signature's time with real time, not with a sandbox's clock.
        self._wall = SystemClock()
        self._meter = meter
        self._tracer = tracer
        self._opened: dict[tuple[str, str], str] = {}
        self._in_flight: dict[asyncio.Task[None], tuple[ClaimedDelivery, datetime]] = {}
        self._results: list[DeliveryResult] = []
        self._has_results = asyncio.Event()
        self._has_events = asyncio.Event()
        self._is_wanted = asyncio.Event()
        self._fanned_out_at = float("-inf")

    async def run(self, *, grace_s: float = GRACE_S) -> None:
        """Until cancelled; then requests in flight are waited for."""
        self._meter.begin_deliveries(LOOP, OUTCOMES)
        async with self._egress.open():
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._db.listen(EVENT_CHANNEL, self._wake))
                    group.create_task(self._repeat(self._take_and_send))
                    group.create_task(self._repeat(self._write_down))
                    group.create_task(self._repeat(self._measure))
                    if self._tracer is not None:
                        group.create_task(self._tracer.run())
            finally:
                await self._drain(grace_s)

    async def fan_out(self) -> None:
        """Creates the deliveries of new events."""
        await queue.fan_out(self._db, self._clock.now())

    async def take(self, free: int = SENDING_MAX) -> list[ClaimedDelivery]:
        """Leases due deliveries, as many as there is capacity for."""
        now = self._clock.now()
        # Each endpoint may contribute as many as it may have in flight.
        endpoints = min(free // IN_FLIGHT_MAX, TAKEN_FROM_MAX)
        if not endpoints:
            return []
        token = secrets.token_hex(8)
        return await queue.claim(
            self._db, now, endpoints=endpoints, in_flight_max=IN_FLIGHT_MAX, lease=LEASE, token=token
        )

    async def send(self, delivery: ClaimedDelivery) -> DeliveryResult:
        """Never raises, whatever the receiver does and whatever is wrong with the row: both are retried on schedule."""
        started_at = self._clock.now_of(delivery.business_id)
        headers: dict[str, str] = {}
        try:
            if delivery.body is not None:
                headers = self._headers_of(delivery, delivery.body)
            reply = await self._post(delivery, headers)
        except NoKey as problem:
            log.error("webhook cannot be signed", endpoint=delivery.endpoint_id, why=str(problem))
            reply = WebhookResponse(None, "secret_unreadable", b"", None, 0)
        except Exception:
            log.exception("webhook cannot be sent", endpoint=delivery.endpoint_id, delivery=delivery.delivery_id)
            reply = WebhookResponse(None, "internal_error", b"", None, 0)
        result = self._result_of(delivery, headers, reply, started_at)
        self._show(result)
        return result

    def _show(self, result: DeliveryResult) -> None:
        """In the log and the trace of the request that caused the event."""
        delivery = result.delivery
        if is_logged(logging.INFO):
            log.info(
                "webhook sent",
                request_id=delivery.request_id,
                event_id=delivery.event_id,
                endpoint=delivery.endpoint_id,
                status=result.status_code,
                error=result.error,
                ms=result.duration_ms,
            )
        if self._tracer is not None and delivery.request_id is not None:
            facts = {"tidegate.event_id": delivery.event_id, "http.response.status_code": result.status_code or 0}
            self._tracer.record(
                "webhook", delivery.request_id, kind=CLIENT, seconds=result.duration_ms / 1000, attributes=facts,
                failed=not result.is_success,
            )  # fmt: skip

    async def _post(self, delivery: ClaimedDelivery, headers: Mapping[str, str]) -> WebhookResponse:
        if delivery.body is None:
            return WebhookResponse(None, PAYLOAD_ERASED, b"", None, 0)
        return await self._egress.post(delivery.url, delivery.body, headers)

    def _headers_of(self, delivery: ClaimedDelivery, body: bytes) -> dict[str, str]:
        timestamp_s = int(self._wall.now().timestamp())
        signed = sign.headers(delivery.event_id, body, self._keys_of(delivery), timestamp_s=timestamp_s)
        return {"content-type": "application/json; charset=utf-8", **signed}

    async def finish(self, results: Sequence[DeliveryResult]) -> None:
        for batch in queue.batches(self._db, results):
            await self._finish(batch)

    async def _finish(self, results: Sequence[DeliveryResult]) -> None:
        by_endpoint: dict[DeliveryKey, list[DeliveryResult]] = {}
        for one in results:
            by_endpoint.setdefault((one.delivery.business_id, one.delivery.endpoint_id), []).append(one)
        if all(one.is_success for one in results):
            # After a success the circuit is closed, whatever it was: nothing has to be read before the write.
            async with self._db.connection() as tx:
                await queue.finish(self._db, tx, results, dict.fromkeys(by_endpoint, Circuit()), self._clock)
        else:
            await self._finish_with_failures(results, by_endpoint)
        for outcome, count in Counter(map(_outcome_of, results)).items():
            self._meter.count_deliveries(outcome, count)

    async def _finish_with_failures(
        self, results: Sequence[DeliveryResult], by_endpoint: Mapping[DeliveryKey, Sequence[DeliveryResult]]
    ) -> None:
        async with self._db.transaction() as tx:
            known = await queue_store.lock_circuits(tx, by_endpoint)
            if not known:
                return  # The sandbox was reset meanwhile.
            circuits = {
                key: _after(circuit, by_endpoint[key], self._clock.now_of(key[0])) for key, circuit in known.items()
            }
            await queue.finish(self._db, tx, results, circuits, self._clock)
            for key, circuit in circuits.items():
                now = self._clock.now_of(key[0])
                reason = _reason_to_disable(circuit, by_endpoint[key], now)
                if reason and await queue_store.disable(tx, key, reason, now=now):
                    await audit.insert(
                        tx, key[0], OURSELVES, action="webhook.endpoint.disabled", subject=key[1],
                        details={"reason": reason}, now=now,
                    )  # fmt: skip

    def _keys_of(self, delivery: ClaimedDelivery) -> list[str]:
        """The current secret first. A previous one that cannot be decrypted is left out: after the loss of a key,
        rotating is enough."""
        keys: list[str] = []
        for sealed in delivery.sealed_secrets:
            try:
                keys.append(self._secret(delivery.business_id, sealed))
            except NoKey:
                if not keys:
                    raise
        return keys

    def _secret(self, business_id: str, sealed: str) -> str:
        """Decrypted once; the encrypted text differs after every change."""
        secret = self._opened.get((business_id, sealed))
        if secret is None:
            if len(self._opened) >= SECRETS_KEPT_MAX:
                self._opened.clear()
            secret = self._opened[business_id, sealed] = self._vault.open(sealed, owner=business_id)
        return secret

    def _result_of(
        self, delivery: ClaimedDelivery, headers: Mapping[str, str], reply: WebhookResponse, started_at: datetime
    ) -> DeliveryResult:
        result = DeliveryResult(
            delivery=delivery,
            started_at=started_at,
            duration_ms=reply.duration_ms,
            status_code=reply.status,
            error=reply.error,
            # For people to read; PostgreSQL does not store U+0000.
            body=reply.body.decode("utf-8", "replace").replace("\0", "\ufffd"),
            request_headers="\n".join(f"{name}: {value}" for name, value in headers.items()) or None,
            answer_headers=reply.headers or None,
        )
        if result.is_success or result.error == PAYLOAD_ERASED:
            return result
        retry_after = schedule.retry_after_in(reply.retry_after, now=self._wall.now())
        return msgspec.structs.replace(result, next_attempt_at=self._next_attempt_at(delivery, retry_after))

    def _next_attempt_at(self, delivery: ClaimedDelivery, retry_after: timedelta | None = None) -> datetime | None:
        now = self._clock.now_of(delivery.business_id)
        return schedule.next_attempt_at(delivery.failures + 1, now=now, jitter=_chance(), retry_after=retry_after)

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        is_waiting = False
        while True:
            try:
                await work()
                is_waiting = False
            except Unavailable as error:
                self._meter.count_failure(LOOP)
                if not is_waiting:
                    log.warning("webhooks wait for the database", error=str(error))
                is_waiting = True
                await asyncio.sleep(PAUSE_AWAY_S)
            except Exception:
                # One broken row must not stop the sender for all.
                self._meter.count_failure(LOOP)
                log.exception("webhook sender round failed")
                await asyncio.sleep(PAUSE_AWAY_S)

    async def _take_and_send(self) -> None:
        # Cleared before the queue is read, so that a later notification is not lost.
        self._is_wanted.clear()
        if self._has_events.is_set() or monotonic_s() - self._fanned_out_at >= POLL_S:
            self._has_events.clear()
            self._fanned_out_at = monotonic_s()
            await self.fan_out()
        deliveries = await self.take(SENDING_MAX - len(self._in_flight) - len(self._results))
        for delivery in deliveries:
            task = asyncio.create_task(self._send_and_keep(delivery))
            self._in_flight[task] = (delivery, self._clock.now_of(delivery.business_id))
            task.add_done_callback(self._in_flight.pop)
        if len({delivery.endpoint_id for delivery in deliveries}) == TAKEN_FROM_MAX:
            return  # There may be more.
        # Requests just sent mostly end soon, and then the queue is read anyway.
        if not (deliveries and await self._is_wanted_within(ENDS_SOON_S)):
            await self._wait()

    async def _wait(self) -> None:
        """For a notification, for a request to end, or until the next delivery is due."""
        if self._is_wanted.is_set():
            return
        async with self._db.connection() as tx:
            next_poll_at = await queue_store.find_next_poll_at(tx)
        until_due_s = (next_poll_at - self._clock.now()).total_seconds() if next_poll_at else POLL_S
        await self._is_wanted_within(min(max(until_due_s, PAUSE_MIN_S), POLL_S))

    async def _is_wanted_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_wanted.wait()
        return self._is_wanted.is_set()

    def _wake(self) -> None:
        self._has_events.set()
        self._is_wanted.set()

    async def _send_and_keep(self, delivery: ClaimedDelivery) -> None:
        self._results.append(await self.send(delivery))
        self._has_results.set()

    async def _write_down(self) -> None:
        await self._has_results.wait()
        # Requests that end within the next moment are written in the same batch.
        await asyncio.sleep(GATHER_S)
        self._has_results.clear()
        while batch := self._results[:FINISH_BATCH]:
            try:
                await self.finish(batch)
            except Unavailable:
                self._has_results.set()
                raise
            except Exception:
                log.exception("batch of delivery results cannot be written")
                await self._finish_each(batch)
            del self._results[: len(batch)]
            self._is_wanted.set()

    async def _finish_each(self, results: Sequence[DeliveryResult]) -> None:
        """A result that cannot be written is retried on schedule, and its error is recorded for the operator."""
        for one in results:
            try:
                await self.finish([one])
            except Unavailable:
                continue  # Sent again when its lease expires.
            except Exception as error:
                log.exception("delivery result cannot be written", delivery=one.delivery.delivery_id)
                await self._put_off(one.delivery, text_of(error))

    async def _put_off(self, delivery: ClaimedDelivery, error: str) -> None:
        self._meter.count_failure(LOOP)
        next_attempt_at = self._next_attempt_at(delivery)
        try:
            async with self._db.connection() as tx:
                now = self._clock.now_of(delivery.business_id)
                await queue_store.put_off(tx, delivery, error, next_attempt_at=next_attempt_at, now=now)
        except (Unavailable, *REFUSED):
            log.exception(
                "delivery cannot be rescheduled; it waits until its lease expires", delivery=delivery.delivery_id
            )

    async def _measure(self) -> None:
        longest = await queue.find_longest_due(self._db, self._clock.now())
        self._meter.show_oldest_due(longest.total_seconds() if longest else 0.0)
        await asyncio.sleep(MEASURE_EVERY_S)

    async def _drain(self, grace_s: float) -> None:
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=grace_s)
        cut = dict(self._in_flight.values())
        for task in list(self._in_flight):
            task.cancel()
        with suppress(Unavailable):  # Then the leases expire by themselves.
            if self._results:
                await self.finish(self._results)
            # On a cluster their leases expire by themselves.
            if cut and not self._db.is_cluster:
                async with self._db.connection() as tx:
                    await queue_store.give_up(tx, cut, now=self._clock.now())


def _after(circuit: Circuit, results: Sequence[DeliveryResult], now: datetime) -> Circuit:
    succeeded = sum(one.is_success for one in results)
    return circuit.after(succeeded=succeeded, failed=len(results) - succeeded, now=now)


def _reason_to_disable(circuit: Circuit, results: Sequence[DeliveryResult], now: datetime) -> DisabledReason | None:
    if any(one.is_gone for one in results):
        return DisabledReason.GONE
    return DisabledReason.FAILING if circuit.has_failed_too_long(now) else None


def _outcome_of(result: DeliveryResult) -> str:
    if result.is_success:
        return DELIVERED
    return FAILED if result.next_attempt_at else EXHAUSTED


def _chance() -> float:
    return secrets.randbelow(2_001) / 1_000 - 1
