"""SQL of the queue on a cluster, business by business: what `queue_store` does for all of them on one PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from tidegate.infra.db import Tx
from tidegate.webhook.model import Circuit, ClaimedDelivery, DeliveryResult


class _Claimed(msgspec.Struct, frozen=True):
    endpoint_id: str
    delivery_id: int
    event_id: str
    failures: int
    url: str
    sealed_secrets: tuple[str, ...]
    body: bytes | None
    request_id: str | None


_claimed = msgspec.json.Decoder(list[_Claimed])


async def list_with_new_events(tx: Tx, *, limit: int) -> list[str]:
    rows = await tx.fetch("SELECT DISTINCT business_id FROM event WHERE NOT is_fanned_out LIMIT $1", limit)
    return [row["business_id"] for row in rows]


async def fan_out(tx: Tx, business_id: str, now: datetime, *, limit: int) -> int:
    return int(await tx.fetchval("SELECT fan_out_events($1, $2, $3)", business_id, now, limit))


async def list_to_look_at(tx: Tx, now: datetime, *, limit: int) -> list[str]:
    """Those with an endpoint to poll, the longest due first."""
    rows = await tx.fetch(
        """
        SELECT business_id FROM endpoint_state
         WHERE is_due(business_id, next_poll_at, $1) GROUP BY business_id ORDER BY min(next_poll_at) LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [row["business_id"] for row in rows]


async def find_longest_due(tx: Tx, now: datetime) -> timedelta | None:
    """The age of the oldest delivery that could be sent."""
    longest: timedelta | None = await tx.fetchval(
        """
        SELECT max(time_of(business_id, $1) - due_at) FROM webhook_delivery
         WHERE due_at IS NOT NULL AND is_due(business_id, due_at, $1) AND lease_token IS NULL
        """,
        now,
    )
    return longest


async def claim(
    tx: Tx, business_id: str, now: datetime, *, in_flight_max: int, lease: timedelta, token: str
) -> list[ClaimedDelivery]:
    text = await tx.fetchval(
        "SELECT claim_deliveries($1, $2, $3, $4, $5)", business_id, now, in_flight_max, lease, token
    )
    return [
        ClaimedDelivery(
            business_id=business_id,
            endpoint_id=one.endpoint_id,
            delivery_id=one.delivery_id,
            lease_token=token,
            event_id=one.event_id,
            url=one.url,
            sealed_secrets=one.sealed_secrets,
            body=one.body,
            failures=one.failures,
            request_id=one.request_id,
        )
        for one in _claimed.decode(text)
    ]


async def finish(
    tx: Tx, business_id: str, results: Sequence[DeliveryResult], circuits: Mapping[str, Circuit], *, now: datetime
) -> int:
    """Circuits by endpoint."""
    given = [
        {
            "id": one.delivery.delivery_id,
            "lease_token": one.delivery.lease_token,
            "is_success": one.is_success,
            "next_attempt_at": one.next_attempt_at,
            "url": one.delivery.url,
            "started_at": one.started_at,
            "duration_ms": one.duration_ms,
            "status_code": one.status_code,
            "error": one.error,
            "body": one.body,
            "request_headers": one.request_headers,
            "answer_headers": one.answer_headers,
        }
        for one in results
    ]
    states = [{"endpoint_id": key, **msgspec.structs.asdict(circuit)} for key, circuit in circuits.items()]
    encode = msgspec.json.encode
    return int(
        await tx.fetchval(
            "SELECT finish_deliveries($1, $2, $3, $4)",
            business_id,
            encode(given).decode(),
            encode(states).decode(),
            now,
        )
    )
