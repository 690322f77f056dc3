"""The queue of deliveries: in one statement for all businesses on one PostgreSQL, business by business on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from tidegate.core.clock import Clock
from tidegate.infra.db import Database, Tx
from tidegate.webhook import business_queue_store, queue_store
from tidegate.webhook.model import Circuit, ClaimedDelivery, DeliveryResult
from tidegate.webhook.queue_store import DeliveryKey

FAN_OUT_BATCH = 500


async def fan_out(db: Database, now: datetime) -> None:
    """Creates the deliveries of new events."""
    async with db.connection() as tx:
        if db.is_cluster:
            for business_id in await business_queue_store.list_with_new_events(tx, limit=FAN_OUT_BATCH):
                await business_queue_store.fan_out(tx, business_id, now, limit=FAN_OUT_BATCH)
            return
        while await queue_store.fan_out(tx, now, limit=FAN_OUT_BATCH) == FAN_OUT_BATCH:
            pass


async def claim(
    db: Database, now: datetime, *, endpoints: int, in_flight_max: int, lease: timedelta, token: str
) -> list[ClaimedDelivery]:
    """Leases due deliveries, a few per endpoint."""
    async with db.connection() as tx:
        if not db.is_cluster:
            return await queue_store.claim(
                tx, now, endpoints=endpoints, in_flight_max=in_flight_max, lease=lease, token=token
            )
        return [
            delivery
            for business_id in await business_queue_store.list_to_look_at(tx, now, limit=endpoints)
            for delivery in await business_queue_store.claim(
                tx, business_id, now, in_flight_max=in_flight_max, lease=lease, token=token
            )
        ]


def batches(db: Database, results: Sequence[DeliveryResult]) -> list[list[DeliveryResult]]:
    """What is written together: on a cluster, the results of one business."""
    if not db.is_cluster:
        return [list(results)] if results else []
    return [list(group) for _, group in groupby(sorted(results, key=_business_of), key=_business_of)]


async def finish(
    db: Database, tx: Tx, results: Sequence[DeliveryResult], circuits: Mapping[DeliveryKey, Circuit], clock: Clock
) -> None:
    """Writes a batch, and the circuits of its endpoints."""
    if not db.is_cluster:
        await queue_store.finish(tx, results, circuits, clock)
        return
    business_id = _business_of(results[0])
    by_endpoint = {endpoint_id: circuit for (_, endpoint_id), circuit in circuits.items()}
    await business_queue_store.finish(tx, business_id, results, by_endpoint, now=clock.now_of(business_id))


async def find_longest_due(db: Database, now: datetime) -> timedelta | None:
    find = business_queue_store.find_longest_due if db.is_cluster else queue_store.find_longest_due
    async with db.connection() as tx:
        return await find(tx, now)


def _business_of(result: DeliveryResult) -> str:
    return result.delivery.business_id
