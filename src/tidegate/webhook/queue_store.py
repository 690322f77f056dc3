"""SQL of the queue: events become deliveries, deliveries are leased, results are recorded.

Every change of an endpoint's deliveries first locks its row in endpoint_state, so there are no deadlocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from tidegate.core.clock import Clock
from tidegate.infra.db import Row, Tx
from tidegate.webhook.model import Circuit, ClaimedDelivery, DeliveryResult, DisabledReason

DeliveryKey = tuple[str, str]  # Of an endpoint: its business's id, and its own.

# Leases of this kind are in the deliveries themselves: each claim counts those of the endpoint.
DELIVER = "deliver_webhooks"


async def fan_out(tx: Tx, now: datetime, *, limit: int) -> int:
    """Creates the deliveries of new events, for every enabled endpoint subscribed then. Returns the event count."""
    return int(await tx.fetchval(_FAN_OUT, now, limit))


_FAN_OUT = """
    WITH fresh AS (
        SELECT business_id, id FROM event
         WHERE NOT is_fanned_out ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED),
    marked AS (
        UPDATE event SET is_fanned_out = true
          FROM fresh WHERE event.business_id = fresh.business_id AND event.id = fresh.id
        RETURNING event.business_id, event.id, event.type, event.reference, event.created_at),
    -- In the common lock order of endpoint states, and before any delivery is made. The endpoints are locked too:
    -- otherwise they would be read as they were before the wait for the states: not deleted, and enabled.
    state AS (
        SELECT state.business_id, state.endpoint_id, named.type, endpoint.created_at,
               $1::timestamptz + coalesce(clock.ahead, '0') AS now
          FROM (SELECT DISTINCT business_id, type FROM marked) AS named
          JOIN webhook_endpoint AS endpoint ON endpoint.business_id = named.business_id
               AND named.type = ANY (endpoint.events)
          JOIN endpoint_state AS state ON state.business_id = endpoint.business_id AND state.endpoint_id = endpoint.id
          LEFT JOIN business_clock AS clock ON clock.business_id = state.business_id
         WHERE endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL
         ORDER BY state.business_id, state.endpoint_id FOR UPDATE OF state FOR SHARE OF endpoint),
    made AS (
        INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, reference, priority, due_at,
                                      created_at)
        SELECT marked.business_id, new_webhook_delivery_id(state.now), state.endpoint_id, marked.id, marked.type,
               marked.reference, 0, state.now, state.now
          FROM marked JOIN state ON state.business_id = marked.business_id AND state.type = marked.type
         WHERE state.created_at <= marked.created_at
            ON CONFLICT ON CONSTRAINT webhook_delivery_one_per_event_and_endpoint DO NOTHING
        RETURNING business_id, endpoint_id, due_at),
    woken AS (
        UPDATE endpoint_state SET next_poll_at = least(endpoint_state.next_poll_at, named.due_at)
          FROM (SELECT DISTINCT business_id, endpoint_id, due_at FROM made) AS named
         WHERE endpoint_state.business_id = named.business_id AND endpoint_state.endpoint_id = named.endpoint_id)
    SELECT count(*) FROM marked
"""


async def claim(
    tx: Tx, now: datetime, *, endpoints: int, in_flight_max: int, lease: timedelta, token: str
) -> list[ClaimedDelivery]:
    """Leases due deliveries, a few per endpoint, and sets when to poll each endpoint next."""
    rows = await tx.fetch(_CLAIM, now, endpoints, in_flight_max, lease, token)
    return [_claimed_delivery(row, token) for row in rows]


# The rate limit of an endpoint is a bucket of one second's worth: `full_at` is when it is full again.
_CLAIM = """
    WITH state AS (
        SELECT state.business_id, state.endpoint_id, endpoint.url, endpoint.rate_per_second,
               endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL AS is_wanted,
               greatest(state.full_at, now) AS full_at, state.open_until, state.ctid AS version, now
          FROM endpoint_state AS state
          JOIN webhook_endpoint AS endpoint ON endpoint.business_id = state.business_id
               AND endpoint.id = state.endpoint_id
          LEFT JOIN business_clock AS clock ON clock.business_id = state.business_id
          CROSS JOIN LATERAL (SELECT $1::timestamptz + coalesce(clock.ahead, '0') AS now) AS its
         WHERE state.next_poll_at <= latest_time($1) AND state.next_poll_at <= now
         ORDER BY state.next_poll_at LIMIT $2 FOR UPDATE OF state SKIP LOCKED),
    counted AS MATERIALIZED (
        SELECT state.*,
               -- The state is read as it is now, deliveries as of the statement's start: were any created in between?
               state.version <> (SELECT seen.ctid FROM endpoint_state AS seen
                                 WHERE seen.business_id = state.business_id AND seen.endpoint_id = state.endpoint_id)
                   AS is_outdated,
               floor(rate_per_second * (1 - extract(epoch FROM full_at - now)) + 0.000001) AS allowed,
               (SELECT count(*) FROM webhook_delivery AS sending
                 WHERE sending.business_id = state.business_id AND sending.endpoint_id = state.endpoint_id
                   AND sending.lease_token IS NOT NULL AND sending.lease_until > state.now) AS in_flight
          FROM state),
    room AS (
        SELECT counted.*,
               CASE WHEN is_outdated OR NOT is_wanted OR open_until > now THEN 0
                    ELSE greatest(least(CASE WHEN open_until IS NULL THEN $3::int ELSE 1 END - in_flight, allowed), 0)
                END::int AS room
          FROM counted),
    due AS (
        SELECT room.business_id, room.endpoint_id, room.url, room.room, found.id, found.was_leased, found.started_at,
               room.now,
               row_number() OVER (PARTITION BY room.business_id, room.endpoint_id ORDER BY priority, due_at) AS place
          FROM room CROSS JOIN LATERAL (
              -- One more than the capacity, to know whether any is left.
              (SELECT id, priority, due_at, lease_token IS NOT NULL AS was_leased,
                      lease_until - $4::interval AS started_at
                 FROM webhook_delivery AS unsent
                WHERE unsent.business_id = room.business_id AND unsent.endpoint_id = room.endpoint_id AND priority = 0
                  AND due_at <= room.now AND (lease_until IS NULL OR lease_until <= room.now)
                ORDER BY due_at LIMIT room.room + 1)
              UNION ALL
              (SELECT id, priority, due_at, lease_token IS NOT NULL, lease_until - $4::interval
                 FROM webhook_delivery AS later
                WHERE later.business_id = room.business_id AND later.endpoint_id = room.endpoint_id AND priority = 1
                  AND due_at <= room.now AND (lease_until IS NULL OR lease_until <= room.now)
                ORDER BY due_at LIMIT room.room + 1)
              LIMIT room.room + 1) AS found
         WHERE room.is_wanted),
    leased AS (
        UPDATE webhook_delivery AS delivery
           SET lease_until = due.now + $4, lease_token = $5, attempts = attempts + due.was_leased::int,
               answer = CASE WHEN due.was_leased THEN 0 ELSE answer END
          FROM due
         WHERE delivery.business_id = due.business_id AND delivery.id = due.id AND due.place <= due.room
           AND delivery.due_at IS NOT NULL AND (delivery.lease_until IS NULL OR delivery.lease_until <= due.now)
        RETURNING delivery.business_id, delivery.endpoint_id, delivery.id, delivery.event_id, delivery.failures,
                  delivery.attempts, due.url, due.was_leased, due.started_at, due.now),
    -- Its sender did not finish; whether it arrived is unknown.
    lost AS (
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, error)
        SELECT business_id, id, attempts, url, started_at, 'interrupted' FROM leased WHERE was_leased),
    taken AS (
        SELECT business_id, endpoint_id, now, count(*) AS count FROM leased GROUP BY business_id, endpoint_id, now),
    remaining AS MATERIALIZED (
        SELECT business_id, endpoint_id, count(*) FILTER (WHERE place > room) > 0 AS is_more
          FROM due GROUP BY business_id, endpoint_id),
    looked AS (
        UPDATE endpoint_state AS state
           SET full_at = spent.full_at,
               next_poll_at = CASE
                   WHEN spent.is_outdated THEN spent.now
                   WHEN NOT spent.is_wanted THEN NULL
                   WHEN spent.open_until > spent.now THEN spent.open_until
                   -- A rate limit refills; a full in-flight limit is polled again when a request ends.
                   WHEN spent.is_more AND spent.in_flight < spent.in_flight_max
                       THEN greatest(spent.full_at - (1 - 1.0 / spent.rate_per_second) * interval '1 second', spent.now)
                   WHEN spent.in_flight > 0 THEN least(spent.now + $4, spent.next_due_at)
                   ELSE spent.next_due_at END
          FROM (SELECT room.business_id, room.endpoint_id, room.is_wanted, room.open_until, room.rate_per_second,
                       room.full_at + coalesce(taken.count, 0) * interval '1 second' / room.rate_per_second AS full_at,
                       room.in_flight + coalesce(taken.count, 0) AS in_flight,
                       CASE WHEN room.open_until IS NULL THEN $3::int ELSE 1 END AS in_flight_max,
                       coalesce(remaining.is_more, false) AS is_more, room.is_outdated, room.now,
                       -- New events are due at once, but another worker's clock may be ahead of ours.
                       least((SELECT min(due_at) FROM webhook_delivery AS unsent
                               WHERE unsent.business_id = room.business_id AND unsent.endpoint_id = room.endpoint_id
                                 AND priority = 0 AND due_at > room.now),
                             (SELECT min(due_at) FROM webhook_delivery AS later
                               WHERE later.business_id = room.business_id AND later.endpoint_id = room.endpoint_id
                                 AND priority = 1 AND due_at > room.now)) AS next_due_at
                  FROM room LEFT JOIN taken USING (business_id, endpoint_id)
                            LEFT JOIN remaining USING (business_id, endpoint_id)) AS spent
         WHERE state.business_id = spent.business_id AND state.endpoint_id = spent.endpoint_id),
    signed AS MATERIALIZED (
        SELECT taken.business_id, taken.endpoint_id,
               ARRAY(SELECT sealed FROM webhook_secret AS secret
                      WHERE secret.business_id = taken.business_id AND secret.endpoint_id = taken.endpoint_id
                        AND (expires_at IS NULL OR expires_at > taken.now) ORDER BY secret.id DESC) AS sealed_secrets
          FROM taken)
    SELECT leased.business_id, leased.endpoint_id, leased.id, leased.event_id, leased.failures, leased.url,
           event.payload, event.request_id, signed.sealed_secrets
      FROM leased JOIN signed USING (business_id, endpoint_id)
           JOIN event ON event.business_id = leased.business_id AND event.id = leased.event_id
"""


async def lock_circuits(tx: Tx, keys: Iterable[DeliveryKey]) -> dict[DeliveryKey, Circuit]:
    """Always in the same order."""
    rows: list[Row] = []
    for key in sorted(set(keys)):
        rows += await tx.fetch(
            "SELECT * FROM endpoint_state WHERE business_id = $1 AND endpoint_id = $2 FOR UPDATE", *key
        )
    return {
        (row["business_id"], row["endpoint_id"]): Circuit(
            failures=row["failures"],
            failing_since=row["failing_since"],
            openings=row["openings"],
            open_until=row["open_until"],
        )
        for row in rows
    }


async def finish(
    tx: Tx, results: Sequence[DeliveryResult], circuits: Mapping[DeliveryKey, Circuit], clock: Clock
) -> int:
    """Writes the results whose lease is still ours, and the circuits of their endpoints. Returns how many."""
    return int(await tx.fetchval(_FINISH, *_results(results, clock), *_turns(circuits, clock)))


_FINISH = """
    WITH verdict AS (
        SELECT * FROM unnest($15::text[], $16::text[], $17::int[], $18::timestamptz[], $19::int[], $20::timestamptz[],
                             $21::timestamptz[])
            AS verdict (business_id, endpoint_id, failures, failing_since, openings, open_until, now)),
    -- In the common lock order of endpoint states, and before any delivery.
    state AS (
        SELECT FROM endpoint_state AS state JOIN verdict USING (business_id, endpoint_id)
         ORDER BY state.business_id, state.endpoint_id FOR UPDATE OF state),
    result AS (
        SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::bigint[], $4::text[], $5::bool[], $6::timestamptz[],
                             $7::text[], $8::timestamptz[], $9::int[], $10::int[], $11::text[], $12::text[],
                             $13::text[], $14::text[])
            AS result (now, business_id, id, lease_token, is_success, next_attempt_at, url, started_at, duration_ms,
                       status_code, error, body, request_headers, answer_headers)),
    done AS (
        UPDATE webhook_delivery AS delivery
           SET attempts = attempts + 1, answer = coalesce(result.status_code / 100, 0),
               failures = CASE WHEN is_success THEN 0 ELSE failures + 1 END,
               -- A delivery cancelled while in flight stays cancelled, unless it has arrived.
               status = CASE WHEN is_success THEN 'delivered' WHEN due_at IS NULL THEN status
                             WHEN next_attempt_at IS NULL THEN 'exhausted'
                             ELSE 'pending' END,
               due_at = CASE WHEN is_success OR due_at IS NULL THEN NULL ELSE next_attempt_at END,
               priority = 1, lease_token = NULL, lease_until = NULL,
               delivered_at = CASE WHEN is_success THEN coalesce(delivered_at, now) ELSE delivered_at END
          FROM result
         WHERE delivery.business_id = result.business_id AND delivery.id = result.id
           AND delivery.lease_token = result.lease_token AND (SELECT count(*) FROM state) > 0
        RETURNING delivery.business_id, delivery.id, delivery.attempts, result.url, result.started_at,
                  result.duration_ms, result.status_code, result.error, result.body,
                  result.request_headers, result.answer_headers),
    logged AS (
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, duration_ms, status_code,
                                     error, body, request_headers, answer_headers)
        SELECT business_id, id, attempts, url, started_at, duration_ms, status_code, error, body, request_headers,
               answer_headers FROM done),
    judged AS (
        UPDATE endpoint_state AS state
           SET next_poll_at = verdict.now, failures = verdict.failures, failing_since = verdict.failing_since,
               openings = verdict.openings, open_until = verdict.open_until
          FROM verdict
         WHERE state.business_id = verdict.business_id AND state.endpoint_id = verdict.endpoint_id)
    SELECT count(*) FROM done
"""


async def put_off(
    tx: Tx, delivery: ClaimedDelivery, error: str, *, next_attempt_at: datetime | None, now: datetime
) -> None:
    """For a result that cannot be written: the delivery stays on its schedule, with the error for the operator."""
    await tx.execute(
        _PUT_OFF, now, delivery.business_id, delivery.endpoint_id, delivery.delivery_id, delivery.lease_token,
        next_attempt_at, error,
    )  # fmt: skip


_PUT_OFF = """
    WITH state AS (
        SELECT business_id, endpoint_id FROM endpoint_state WHERE business_id = $2 AND endpoint_id = $3 FOR UPDATE),
    later AS (
        UPDATE webhook_delivery AS delivery
           SET failures = failures + 1, priority = 1, lease_token = NULL, lease_until = NULL,
               status = CASE WHEN due_at IS NOT NULL AND $6::timestamptz IS NULL THEN 'exhausted' ELSE status END,
               due_at = CASE WHEN due_at IS NOT NULL THEN $6 END
          FROM state
         WHERE delivery.business_id = $2 AND delivery.id = $4 AND delivery.lease_token = $5
        RETURNING delivery.business_id, delivery.id::text AS id, delivery.failures),
    noted AS (
        INSERT INTO leased_work (business_id, kind, id, next_try_at, failures, last_error, parked_at)
        SELECT business_id, 'deliver_webhooks', id, coalesce($6, 'infinity'), failures, $7,
               CASE WHEN $6 IS NULL THEN $1::timestamptz END
          FROM later
            ON CONFLICT ON CONSTRAINT leased_work_pk DO UPDATE
           SET next_try_at = excluded.next_try_at, failures = excluded.failures, last_error = excluded.last_error,
               parked_at = excluded.parked_at)
    UPDATE endpoint_state SET next_poll_at = $1
      FROM state
     WHERE endpoint_state.business_id = $2 AND endpoint_state.endpoint_id = state.endpoint_id
"""


async def give_up(tx: Tx, leased: Mapping[ClaimedDelivery, datetime], *, now: datetime) -> None:
    """Releases the leases of requests that cannot be waited for. Whether they arrived is unknown."""
    given_up = list(leased)
    await tx.execute(
        _GIVE_UP, now, [one.business_id for one in given_up], [one.endpoint_id for one in given_up],
        [one.delivery_id for one in given_up], [one.lease_token for one in given_up], [one.url for one in given_up],
        list(leased.values()),
    )  # fmt: skip


_GIVE_UP = """
    WITH held AS (
        SELECT * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::timestamptz[])
            AS held (business_id, endpoint_id, id, lease_token, url, started_at)),
    state AS (
        SELECT state.business_id, state.endpoint_id
          FROM endpoint_state AS state
          JOIN (SELECT DISTINCT business_id, endpoint_id FROM held) AS named USING (business_id, endpoint_id)
         ORDER BY state.business_id, state.endpoint_id FOR UPDATE OF state),
    released AS (
        UPDATE webhook_delivery AS delivery
           SET lease_token = NULL, lease_until = NULL, attempts = attempts + 1, answer = 0
          FROM held JOIN state USING (business_id, endpoint_id)
         WHERE delivery.business_id = held.business_id AND delivery.id = held.id
           AND delivery.lease_token = held.lease_token
        RETURNING delivery.business_id, delivery.id, delivery.attempts, held.url, held.started_at),
    logged AS (
        INSERT INTO webhook_attempt (business_id, delivery_id, number, url, started_at, error)
        SELECT business_id, id, attempts, url, started_at, 'interrupted' FROM released)
    UPDATE endpoint_state SET next_poll_at = $1
      FROM state
     WHERE endpoint_state.business_id = state.business_id AND endpoint_state.endpoint_id = state.endpoint_id
"""


async def find_next_poll_at(tx: Tx) -> datetime | None:
    """In real time."""
    moment: datetime | None = await tx.fetchval(
        """
        SELECT least((SELECT min(next_poll_at) FROM endpoint_state WHERE next_poll_at IS NOT NULL),
                     (SELECT min(next_poll_at - ahead) FROM business_clock JOIN endpoint_state USING (business_id)))
        """
    )
    return moment


async def disable(tx: Tx, key: DeliveryKey, reason: DisabledReason, *, now: datetime) -> bool:
    """False when it was no longer enabled."""
    done = await tx.fetchval(
        """
        UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = $3, updated_at = $4
         WHERE business_id = $1 AND id = $2 AND status = 'enabled' AND deleted_at IS NULL
        RETURNING true
        """,
        *key, reason, now,
    )  # fmt: skip
    return done is True


async def find_longest_due(tx: Tx, now: datetime) -> timedelta | None:
    """The age of the oldest delivery that could be sent: not leased, and its endpoint enabled."""
    longest: timedelta | None = await tx.fetchval(
        """
        SELECT max(now - due.due_at)
          FROM endpoint_state AS state
          JOIN webhook_endpoint AS endpoint ON endpoint.business_id = state.business_id
               AND endpoint.id = state.endpoint_id
          CROSS JOIN LATERAL time_of(state.business_id, $1) AS now
          CROSS JOIN unnest(ARRAY[0, 1]) AS priority
          CROSS JOIN LATERAL (
              SELECT due_at FROM webhook_delivery AS delivery
               WHERE delivery.business_id = state.business_id AND delivery.endpoint_id = state.endpoint_id
                 AND delivery.priority = priority AND due_at <= now AND (lease_until IS NULL OR lease_until <= now)
               ORDER BY due_at LIMIT 1) AS due
         WHERE state.next_poll_at IS NOT NULL AND endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL
        """,
        now,
    )
    return longest


def _claimed_delivery(row: Row, token: str) -> ClaimedDelivery:
    return ClaimedDelivery(
        business_id=row["business_id"],
        endpoint_id=row["endpoint_id"],
        delivery_id=row["id"],
        lease_token=token,
        event_id=row["event_id"],
        url=row["url"],
        sealed_secrets=tuple(row["sealed_secrets"]),
        body=row["payload"],
        failures=row["failures"],
        request_id=row["request_id"],
    )


def _results(results: Sequence[DeliveryResult], clock: Clock) -> list[list[object]]:
    """Column by column, in the order of the statement's parameters."""
    rows = [
        (
            clock.now_of(one.delivery.business_id), one.delivery.business_id, one.delivery.delivery_id,
            one.delivery.lease_token, one.is_success, one.next_attempt_at, one.delivery.url, one.started_at,
            one.duration_ms, one.status_code, one.error, one.body, one.request_headers, one.answer_headers,
        )
        for one in results
    ]  # fmt: skip
    return [list(column) for column in zip(*rows, strict=True)]


def _turns(circuits: Mapping[DeliveryKey, Circuit], clock: Clock) -> list[list[object]]:
    rows = [
        (*key, circuit.failures, circuit.failing_since, circuit.openings, circuit.open_until, clock.now_of(key[0]))
        for key, circuit in circuits.items()
    ]
    return [list(column) for column in zip(*rows, strict=True)]
