"""SQL of the delivery log, and of resends and replays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from tidegate.infra.db import Row, Tx
from tidegate.webhook.model import EVENTS, TEST_EVENT, Delivery, DeliveryAttempt, DeliveryStatus

# The newest attempts of a delivery; repeated resends make more.
ATTEMPTS_SHOWN_MAX = 10
# 2xx.
ANSWER_TAKEN = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ID_MAX = (1 << 63) - 1


class DeliveryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """None does not filter. `from_id` and `before_id` stand for times: a delivery's id begins with its time."""

    status: DeliveryStatus | None = None
    event_type: str | None = None
    endpoint_id: str | None = None
    reference: str | None = None
    # The first digit of the status that the newest try was answered with; 0 is no answer.
    answer: int | None = None
    attempts_min: int | None = None
    from_id: int | None = None
    before_id: int | None = None

    def older_than(self, delivery_id: int) -> DeliveryFilter:
        return msgspec.structs.replace(self, before_id=delivery_id)


async def list_deliveries(tx: Tx, business_id: str, wanted: DeliveryFilter, *, limit: int) -> list[Delivery]:
    """The newest first."""
    rows = await tx.fetch(*question(business_id, wanted, limit=limit))
    return [_delivery(row) for row in rows]


async def find(tx: Tx, business_id: str, delivery_id: int) -> Delivery | None:
    wanted = DeliveryFilter(from_id=delivery_id, before_id=delivery_id + 1)
    found = await list_deliveries(tx, business_id, wanted, limit=1)
    return found[0] if found else None


def question(business_id: str, wanted: DeliveryFilter, *, limit: int) -> Sequence[Any]:
    """The statement and its arguments."""
    since = wanted.from_id if wanted.from_id is not None else 0
    before = wanted.before_id if wanted.before_id is not None else _ID_MAX
    types = [wanted.event_type] if wanted.event_type is not None else [*EVENTS, TEST_EVENT]
    values = (wanted.status, wanted.endpoint_id, wanted.reference, types)
    return (
        _PAGE, business_id, since, before, limit, _way_of(wanted), *values, wanted.event_type, ATTEMPTS_SHOWN_MAX,
        wanted.answer, wanted.attempts_min,
    )  # fmt: skip


def _way_of(wanted: DeliveryFilter) -> str:
    """One per index, so that no filter scans a business's whole log."""
    if wanted.reference is not None:
        return "reference"
    if wanted.answer not in (None, ANSWER_TAKEN):
        return "answer"
    if wanted.attempts_min is not None and wanted.attempts_min > 1:
        return "attempts"
    if wanted.status not in (None, DeliveryStatus.DELIVERED):
        return "status"
    return "id" if wanted.endpoint_id is None and wanted.event_type is None else "type"


# Of the six ways to the ids one is taken; the others end before they read anything. By type: the newest of each
# endpoint and type, of which there are few, and then the newest of those; likewise by answer, of each endpoint, and by
# the number of attempts, of each number that there is. The ids are an array, so that each is
# looked up, however many the planner expects.
_PAGE = """
    SELECT delivery.*, endpoint.url, event.payload,
           ARRAY(SELECT attempt FROM webhook_attempt AS attempt
                  WHERE attempt.business_id = $1 AND attempt.delivery_id = delivery.id
                  ORDER BY number DESC LIMIT $11) AS shown
      FROM webhook_delivery AS delivery
      JOIN webhook_endpoint AS endpoint ON endpoint.business_id = $1 AND endpoint.id = delivery.endpoint_id
      JOIN event ON event.business_id = $1 AND event.id = delivery.event_id
     WHERE delivery.business_id = $1 AND delivery.id = ANY (ARRAY(
           (SELECT id FROM webhook_delivery
             WHERE $5 = 'id' AND business_id = $1 AND id >= $2 AND id < $3 AND ($6::text IS NULL OR status = $6)
               AND ($12::int IS NULL OR answer = $12) AND ($13::int IS NULL OR attempts >= $13)
             ORDER BY id DESC LIMIT $4)
            UNION ALL
           (SELECT id FROM webhook_delivery
             WHERE $5 = 'reference' AND business_id = $1 AND reference = $8::text AND id >= $2 AND id < $3
               AND ($6::text IS NULL OR status = $6) AND ($10::text IS NULL OR event_type = $10)
               AND ($7::text IS NULL OR endpoint_id = $7)
               AND ($12::int IS NULL OR answer = $12) AND ($13::int IS NULL OR attempts >= $13)
             ORDER BY id DESC LIMIT $4)
            UNION ALL
           (SELECT id FROM webhook_delivery
             WHERE $5 = 'status' AND business_id = $1 AND status = $6::text AND status <> 'delivered'
               AND id >= $2 AND id < $3 AND ($10::text IS NULL OR event_type = $10)
               AND ($7::text IS NULL OR endpoint_id = $7)
               AND ($12::int IS NULL OR answer = $12) AND ($13::int IS NULL OR attempts >= $13)
             ORDER BY id DESC LIMIT $4)
            UNION ALL
           (SELECT newest.id
              FROM webhook_endpoint AS endpoint
             CROSS JOIN unnest($9::text[]) AS wanted (event_type)
             CROSS JOIN LATERAL (
                    SELECT id FROM webhook_delivery
                     WHERE business_id = $1 AND endpoint_id = endpoint.id AND event_type = wanted.event_type
                       AND id >= $2 AND id < $3 AND ($6::text IS NULL OR status = $6)
                       AND ($12::int IS NULL OR answer = $12) AND ($13::int IS NULL OR attempts >= $13)
                     ORDER BY id DESC LIMIT $4) AS newest
             WHERE $5 = 'type' AND endpoint.business_id = $1 AND ($7::text IS NULL OR endpoint.id = $7)
             ORDER BY newest.id DESC LIMIT $4)
            UNION ALL
           (SELECT newest.id
              FROM webhook_endpoint AS endpoint
             CROSS JOIN LATERAL (
                    SELECT id FROM webhook_delivery
                     WHERE business_id = $1 AND endpoint_id = endpoint.id AND answer = $12::int AND answer <> 2
                       AND id >= $2 AND id < $3 AND ($6::text IS NULL OR status = $6)
                       AND ($10::text IS NULL OR event_type = $10) AND ($13::int IS NULL OR attempts >= $13)
                     ORDER BY id DESC LIMIT $4) AS newest
             WHERE $5 = 'answer' AND endpoint.business_id = $1 AND ($7::text IS NULL OR endpoint.id = $7)
             ORDER BY newest.id DESC LIMIT $4)
            UNION ALL
           (SELECT newest.id
              FROM generate_series($13::int, (SELECT max(attempts) FROM webhook_delivery
                                               WHERE $5 = 'attempts' AND business_id = $1 AND attempts > 1))
                       AS wanted (attempts)
             CROSS JOIN LATERAL (
                    SELECT id FROM webhook_delivery
                     WHERE business_id = $1 AND webhook_delivery.attempts = wanted.attempts
                       AND webhook_delivery.attempts > 1 AND id >= $2 AND id < $3
                       AND ($6::text IS NULL OR status = $6) AND ($10::text IS NULL OR event_type = $10)
                       AND ($7::text IS NULL OR endpoint_id = $7) AND ($12::int IS NULL OR answer = $12)
                     ORDER BY id DESC LIMIT $4) AS newest
             ORDER BY newest.id DESC LIMIT $4)))
     ORDER BY delivery.id DESC
"""


async def resend(tx: Tx, business_id: str, delivery_id: int, *, now: datetime) -> str | None:
    """The schedule starts again. None when there is no such delivery; otherwise the reason of a refusal, or ''."""
    row = await tx.fetchrow(
        """
        WITH state AS (
            SELECT state.business_id, state.endpoint_id, endpoint.status AS endpoint_status, endpoint.deleted_at,
                   event.payload IS NULL AS is_erased
              FROM webhook_delivery AS delivery
              JOIN endpoint_state AS state USING (business_id, endpoint_id)
              JOIN webhook_endpoint AS endpoint ON endpoint.business_id = state.business_id
                   AND endpoint.id = state.endpoint_id
              JOIN event ON event.business_id = state.business_id AND event.id = delivery.event_id
             WHERE delivery.business_id = $1 AND delivery.id = $2
               FOR UPDATE OF state FOR SHARE OF endpoint),
        queued AS (
            UPDATE webhook_delivery AS delivery
               SET status = 'pending', due_at = $3, priority = 0, failures = 0, lease_token = NULL, lease_until = NULL
              FROM state
             WHERE delivery.business_id = $1 AND delivery.id = $2
               AND state.endpoint_status = 'enabled' AND state.deleted_at IS NULL AND NOT state.is_erased
               AND (delivery.lease_until IS NULL OR delivery.lease_until <= $3)
            RETURNING delivery.id),
        -- A manual resend may try an endpoint whose circuit is open.
        woken AS (
            UPDATE endpoint_state SET next_poll_at = $3, open_until = least(open_until, $3)
              FROM state, queued
             WHERE endpoint_state.business_id = $1 AND endpoint_state.endpoint_id = state.endpoint_id)
        SELECT CASE WHEN state.is_erased THEN 'erased'
                    WHEN state.deleted_at IS NOT NULL THEN 'deleted'
                    WHEN state.endpoint_status <> 'enabled' THEN 'disabled'
                    WHEN NOT EXISTS (SELECT FROM queued) THEN 'in_flight'
                    ELSE '' END AS block_reason
          FROM state
        """,
        business_id, delivery_id, now,
    )  # fmt: skip
    return row["block_reason"] if row else None


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a period: all types or some, for all endpoints or one."""

    start: datetime
    end: datetime
    endpoint_id: str | None = None
    event_types: tuple[str, ...] | None = None
    only_undelivered: bool = False


class ReplayCount(NamedTuple):
    """How many deliveries a replay would send, and leave out since their payload was erased at a payer's request."""

    sent: int
    erased: int


async def count_replay(tx: Tx, business_id: str, window: Window, *, limit: int) -> ReplayCount | None:
    """Both are counted up to the limit. None when there is no such endpoint."""
    rows = await tx.fetch(_COUNT_REPLAY, *_arguments(business_id, window), limit)
    if not rows[0]["is_known"]:
        return None
    count = {row["is_erased"]: row["count"] for row in rows}
    return ReplayCount(sent=count[False], erased=count[True])


_COUNT_REPLAY = """
    SELECT kind.is_erased, wanted.count,
           $4::text IS NULL OR EXISTS (SELECT FROM webhook_endpoint
                                        WHERE business_id = $1 AND id = $4 AND deleted_at IS NULL) AS is_known
      FROM (VALUES (false), (true)) AS kind (is_erased)
     CROSS JOIN LATERAL (
            SELECT count(*) FROM (
                SELECT FROM event
                  JOIN webhook_endpoint AS endpoint ON endpoint.business_id = event.business_id
                       AND event.type = ANY (endpoint.events)
                  LEFT JOIN webhook_delivery AS delivery ON delivery.business_id = event.business_id
                       AND delivery.event_id = event.id AND delivery.endpoint_id = endpoint.id
                 WHERE event.business_id = $1 AND event.is_fanned_out
                   AND event.created_at >= $2 AND event.created_at < $3
                   AND endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL
                   AND ($4::text IS NULL OR endpoint.id = $4) AND ($5::text[] IS NULL OR event.type = ANY ($5))
                   AND NOT ($6 AND delivery.status IS NOT DISTINCT FROM 'delivered')
                   AND (event.payload IS NULL) = kind.is_erased
                 LIMIT $7) AS found) AS wanted
"""


async def replay(tx: Tx, business_id: str, window: Window, *, now: datetime, limit: int) -> int:
    """Deliveries in flight are left out. Returns how many will be sent."""
    return int(await tx.fetchval(_REPLAY, *_arguments(business_id, window), limit, now))


_REPLAY = """
    WITH state AS (
        SELECT state.business_id, state.endpoint_id, endpoint.events
          FROM endpoint_state AS state
          JOIN webhook_endpoint AS endpoint ON endpoint.business_id = state.business_id
               AND endpoint.id = state.endpoint_id
         WHERE state.business_id = $1 AND endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL
           AND ($4::text IS NULL OR endpoint.id = $4)
         ORDER BY state.business_id, state.endpoint_id FOR UPDATE OF state FOR SHARE OF endpoint),
    queued AS (
        INSERT INTO webhook_delivery AS delivery (business_id, id, endpoint_id, event_id, event_type, reference,
                                                  priority, due_at, created_at)
        SELECT event.business_id, new_webhook_delivery_id($8), state.endpoint_id, event.id, event.type, event.reference,
               1, $8, $8
          FROM state JOIN event ON event.business_id = state.business_id AND event.type = ANY (state.events)
          LEFT JOIN webhook_delivery AS known ON known.business_id = event.business_id
               AND known.event_id = event.id AND known.endpoint_id = state.endpoint_id
         WHERE event.business_id = $1 AND event.is_fanned_out AND event.created_at >= $2 AND event.created_at < $3
           AND ($5::text[] IS NULL OR event.type = ANY ($5))
           AND NOT ($6 AND known.status IS NOT DISTINCT FROM 'delivered') AND event.payload IS NOT NULL
         ORDER BY event.created_at LIMIT $7
            ON CONFLICT ON CONSTRAINT webhook_delivery_one_per_event_and_endpoint DO UPDATE
           SET status = 'pending', due_at = excluded.due_at, priority = 1, failures = 0, lease_token = NULL,
               lease_until = NULL
         WHERE delivery.lease_until IS NULL OR delivery.lease_until <= $8
        RETURNING delivery.id),
    woken AS (
        UPDATE endpoint_state SET next_poll_at = $8
          FROM state
         WHERE endpoint_state.business_id = $1 AND endpoint_state.endpoint_id = state.endpoint_id)
    SELECT count(*) FROM queued
"""


async def insert_test(
    tx: Tx, business_id: str, endpoint_id: str, *, event_id: str, event_type: str, payload: bytes, now: datetime
) -> int:
    """An event for this endpoint only. Returns the delivery's id."""
    delivery_id: int = await tx.fetchval(
        """
        WITH noted AS (
            INSERT INTO event (business_id, id, type, cause, payload, created_at, is_fanned_out)
            VALUES ($1, $3, $4, $3, $5, $6, true)
            RETURNING business_id, id),
        made AS (
            INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, priority, due_at,
                                          created_at)
            SELECT business_id, new_webhook_delivery_id($6), $2, id, $4, 0, $6, $6 FROM noted
            RETURNING id),
        woken AS (
            UPDATE endpoint_state SET next_poll_at = $6, open_until = least(open_until, $6)
             WHERE business_id = $1 AND endpoint_id = $2)
        SELECT id FROM made
        """,
        business_id, endpoint_id, event_id, event_type, payload, now,
    )  # fmt: skip
    return delivery_id


def first_id_of(moment: datetime) -> int:
    """The lowest id of the deliveries made at that moment, by the rule of new_webhook_delivery_id."""
    return ((moment - _EPOCH) // timedelta(milliseconds=1)) << 20


def _arguments(business_id: str, window: Window) -> Sequence[Any]:
    types = list(window.event_types) if window.event_types is not None else None
    return (business_id, window.start, window.end, window.endpoint_id, types, window.only_undelivered)


def _delivery(row: Row) -> Delivery:
    return Delivery(
        id=row["id"],
        event_id=row["event_id"],
        event_type=row["event_type"],
        reference=row["reference"],
        endpoint_id=row["endpoint_id"],
        url=row["url"],
        status=DeliveryStatus(row["status"]),
        attempts_made=row["attempts"],
        failures=row["failures"],
        attempts=tuple(_attempt(shown) for shown in reversed(row["shown"])),
        due_at=row["due_at"],
        payload=row["payload"],
        created_at=row["created_at"],
        delivered_at=row["delivered_at"],
    )


def _attempt(row: Row) -> DeliveryAttempt:
    return DeliveryAttempt(
        number=row["number"],
        url=row["url"],
        started_at=row["started_at"],
        duration_ms=row["duration_ms"],
        status_code=row["status_code"],
        error=row["error"],
        body=row["body"],
        request_headers=row["request_headers"],
        answer_headers=row["answer_headers"],
    )
