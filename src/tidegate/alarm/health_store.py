"""SQL of how rails and webhook endpoints do."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from tidegate.infra.db import Tx

# Payments that are looked at, of each business.
LOOKED_AT_MAX = 20_000


class RailHour(NamedTuple):
    rail: str
    currency: str
    succeeded: int
    failed: int
    open: int
    # Half of those that ended took at most so long, the payer's part included; None where none has.
    median: timedelta | None = None


async def list_rail_hours(tx: Tx, *, since: datetime) -> list[RailHour]:
    """What became of the attempts of payments that were made since then; by the time of each merchant, where a sandbox
    has moved it."""
    rows = await tx.fetch(
        """
        SELECT attempt.rail, attempt.currency,
               count(*) FILTER (WHERE attempt.status = 'succeeded') AS succeeded,
               count(*) FILTER (WHERE attempt.status = 'failed') AS failed,
               count(*) FILTER (WHERE attempt.status IN ('starting', 'waiting', 'running')) AS open,
               percentile_disc(0.5) WITHIN GROUP (ORDER BY attempt.took)
                   FILTER (WHERE attempt.status IN ('succeeded', 'failed')) AS median
          FROM business
         CROSS JOIN LATERAL recent_attempts(business.id, time_of(business.id, $1), $2) AS attempt
         GROUP BY attempt.rail, attempt.currency ORDER BY attempt.rail, attempt.currency
        """,
        since, LOOKED_AT_MAX,
    )  # fmt: skip
    return [RailHour(**row) for row in rows]


async def find_last_word(tx: Tx, rail: str, *, since: datetime) -> datetime | None:
    """When the rail was heard last, since then; a bank's files are few, so that of those the last one counts. One rail
    at a time: on a cluster a list of them could not be looked up in the notifications."""
    heard_at: datetime | None = await tx.fetchval(
        """
        SELECT greatest((SELECT max(received_at) FROM notification
                          WHERE rail = $1 AND state = 'done' AND received_at >= $2),
                        (SELECT max(received_at) FROM notification
                          WHERE rail = $1 AND state <> 'done' AND received_at >= $2),
                        (SELECT max(received_at) FROM bank_file WHERE $1 = 'bankfiles'))
        """,
        rail, since,
    )  # fmt: skip
    return heard_at


class EndpointHealth(NamedTuple):
    business_id: str
    business: str
    endpoint_id: str
    url: str
    status: str
    failing_since: datetime | None
    failures: int
    waiting: int
    next_try_at: datetime | None


async def list_endpoints(tx: Tx, *, limit: int) -> list[EndpointHealth]:
    """The worst first. What waits is counted up to a thousand."""
    rows = await tx.fetch(
        """
        SELECT endpoint.business_id, business.name AS business, endpoint.id AS endpoint_id, endpoint.url,
               endpoint.status, state.failing_since, state.failures, waiting.count AS waiting, waiting.next_try_at
          FROM webhook_endpoint AS endpoint
          JOIN business ON business.id = endpoint.business_id
          JOIN endpoint_state AS state
            ON state.business_id = endpoint.business_id AND state.endpoint_id = endpoint.id
         CROSS JOIN LATERAL (SELECT count(*), min(due_at) AS next_try_at FROM (
               SELECT due_at FROM webhook_delivery AS delivery
                WHERE delivery.business_id = endpoint.business_id AND delivery.endpoint_id = endpoint.id
                  AND due_at IS NOT NULL LIMIT 1000) AS due) AS waiting
         WHERE endpoint.deleted_at IS NULL
         ORDER BY state.failing_since NULLS LAST, waiting.count DESC, endpoint.business_id LIMIT $1
        """,
        limit,
    )
    return [EndpointHealth(**row) for row in rows]
