"""SQL of how endpoints fared in the last day: what arrived by hour, and how fast they answer."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tidegate.infra.db import Tx
from tidegate.webhook import log_store
from tidegate.webhook.model import Endpoint
from tidegate.webhook.store import endpoint_of

HOURS = 24
# Of a business, the newest of each hour are looked at, and of an endpoint the newest answers: a page is not slower
# where more is sent.
COUNTED_MAX = 500
TIMED_MAX = 200


class HourCount(NamedTuple):
    sent: int
    arrived: int
    # Tried and not taken.
    failed: int


class EndpointDay(msgspec.Struct, frozen=True, kw_only=True):
    # The oldest hour first.
    hours: list[HourCount]
    # Of the answers, in milliseconds: half of them were faster, and 95 of 100.
    median_ms: int | None
    p95_ms: int | None
    failing_since: datetime | None

    @property
    def sent(self) -> int:
        return sum(hour.sent for hour in self.hours)

    @property
    def arrived(self) -> int:
        return sum(hour.arrived for hour in self.hours)

    @property
    def failed(self) -> int:
        return sum(hour.failed for hour in self.hours)

    @property
    def is_counted(self) -> bool:
        """False where there may be more than were looked at."""
        return all(hour.sent < COUNTED_MAX for hour in self.hours)


async def list_of_day(tx: Tx, business_id: str, *, now: datetime) -> list[tuple[Endpoint, EndpointDay]]:
    """In the order of the endpoints."""
    start = log_store.first_id_of(now - timedelta(hours=HOURS))
    hour = log_store.first_id_of(now) - log_store.first_id_of(now - timedelta(hours=1))
    rows = await tx.fetch(_OF_DAY, business_id, start, hour, HOURS, COUNTED_MAX, TIMED_MAX)
    return [
        (
            endpoint_of(row["endpoint"]),
            EndpointDay(
                hours=[HourCount(*hour) for hour in zip(row["sent"], row["arrived"], row["failed"], strict=True)],
                median_ms=row["median_ms"],
                p95_ms=row["p95_ms"],
                failing_since=row["failing_since"],
            ),
        )
        for row in rows
    ]


_OF_DAY = """
    WITH recent AS MATERIALIZED (
        SELECT hour.at, delivery.*
          FROM generate_series(0, $4::int - 1) AS hour (at)
         CROSS JOIN LATERAL (
                SELECT endpoint_id, id, status, failures FROM webhook_delivery
                 WHERE business_id = $1 AND id >= $2::bigint + hour.at * $3::bigint
                   AND id < $2::bigint + (hour.at + 1) * $3::bigint
                 ORDER BY id DESC LIMIT $5) AS delivery),
    counted AS (
        SELECT endpoint_id, at, count(*) AS sent, count(*) FILTER (WHERE status = 'delivered') AS arrived,
               count(*) FILTER (WHERE status IN ('exhausted', 'cancelled') OR status = 'pending' AND failures > 0)
                   AS failed
          FROM recent GROUP BY endpoint_id, at)
    SELECT endpoint, state.failing_since, timed.median_ms, timed.p95_ms,
           ARRAY(SELECT coalesce(sent, 0) FROM generate_series(0, $4::int - 1) AS hour (at)
                   LEFT JOIN counted ON counted.endpoint_id = state.endpoint_id AND counted.at = hour.at
                  ORDER BY hour.at) AS sent,
           ARRAY(SELECT coalesce(arrived, 0) FROM generate_series(0, $4::int - 1) AS hour (at)
                   LEFT JOIN counted ON counted.endpoint_id = state.endpoint_id AND counted.at = hour.at
                  ORDER BY hour.at) AS arrived,
           ARRAY(SELECT coalesce(failed, 0) FROM generate_series(0, $4::int - 1) AS hour (at)
                   LEFT JOIN counted ON counted.endpoint_id = state.endpoint_id AND counted.at = hour.at
                  ORDER BY hour.at) AS failed
      FROM webhook_endpoint AS endpoint
      JOIN endpoint_state AS state ON state.business_id = $1 AND state.endpoint_id = endpoint.id
     CROSS JOIN LATERAL (
            SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms) AS median_ms,
                   percentile_disc(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms
              FROM (SELECT id FROM recent WHERE recent.endpoint_id = state.endpoint_id ORDER BY id DESC LIMIT $6)
                       AS newest
              JOIN webhook_attempt AS attempt ON attempt.business_id = $1 AND attempt.delivery_id = newest.id
             WHERE attempt.status_code IS NOT NULL) AS timed
     WHERE endpoint.business_id = $1 AND endpoint.deleted_at IS NULL ORDER BY endpoint.created_at, endpoint.id
"""
