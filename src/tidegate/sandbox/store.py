"""SQL of the sandbox's controls."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import StaleChange, Tx, naming
from tidegate.payment.model import Payment
from tidegate.payment.row import payment_of

# A rate that was set before them is old.
MOVES_KEPT = 100


async def list_ahead(tx: Tx) -> list[tuple[str, timedelta]]:
    """Businesses with a clock offset."""
    rows = await tx.fetch("SELECT business_id, ahead FROM business_clock")
    return [(row["business_id"], row["ahead"]) for row in rows]


async def advance(tx: Tx, business_id: str, by: timedelta, *, ahead_max: timedelta) -> timedelta | None:
    """The new offset; None when it would exceed the limit. In a transaction: others who move it wait."""
    await tx.execute(
        "INSERT INTO business_clock (business_id, ahead) VALUES ($1, '0') ON CONFLICT DO NOTHING", business_id
    )
    # Read, added up and written: Citus crashes on a slice of an array.
    clock = await tx.fetchrow(
        "SELECT ahead, moved_at, moved_to FROM business_clock WHERE business_id = $1 FOR UPDATE", business_id
    )
    assert clock is not None
    ahead: timedelta = clock["ahead"] + by
    if ahead > ahead_max:
        return None
    moved_at = await tx.fetchval("SELECT clock_timestamp()")
    await tx.execute(
        "UPDATE business_clock SET ahead = $2, moved_at = $3, moved_to = $4 WHERE business_id = $1",
        business_id, ahead, [*clock["moved_at"], moved_at][-MOVES_KEPT:], [*clock["moved_to"], ahead][-MOVES_KEPT:],
    )  # fmt: skip
    return ahead


async def find_next_event(tx: Tx, business_id: str, *, now: datetime) -> datetime | None:
    """When something of the business happens by itself next."""
    found: datetime | None = await tx.fetchval(
        """
        SELECT min(at) FROM (
            SELECT expires_at FROM payment
             WHERE business_id = $1 AND status IN ('initiated', 'pending') AND expires_at > $2
             UNION ALL
            SELECT expires_at FROM attempt
             WHERE business_id = $1 AND status = 'waiting' AND account_number IS NOT NULL AND expires_at > $2
             UNION ALL SELECT next_poll_at FROM attempt WHERE business_id = $1 AND next_poll_at > $2
             UNION ALL SELECT next_poll_at FROM refund_leg WHERE business_id = $1 AND next_poll_at > $2
             UNION ALL SELECT due_at FROM webhook_delivery WHERE business_id = $1 AND due_at > $2
             UNION ALL SELECT due_at FROM sandbox_notification
                        WHERE business_id = $1 AND sent_at IS NULL AND due_at > $2
             UNION ALL SELECT expires_at FROM approval WHERE business_id = $1 AND status = 'open' AND expires_at > $2
        ) AS coming (at)
        """,
        business_id, now,
    )  # fmt: skip
    return found


async def request_trade(tx: Tx, business_id: str, *, days: int) -> None:
    """Days that are left of an earlier request are not added to."""
    await tx.execute(
        """
        INSERT INTO sandbox_trade (business_id, days, days_left) VALUES ($1, $2, $2)
            ON CONFLICT ON CONSTRAINT sandbox_trade_pk DO UPDATE SET days = $2, days_left = $2
         WHERE sandbox_trade.days_left = 0
        """,
        business_id, days,
    )  # fmt: skip


async def claim_trade(tx: Tx, *, now: datetime, until: datetime) -> str | None:
    """A business with a day to trade that no other worker is trading."""
    found: str | None = await tx.fetchval(
        """
        UPDATE sandbox_trade SET lease_until = $2
         WHERE business_id = (SELECT business_id FROM sandbox_trade
                               WHERE days_left > 0 AND (lease_until IS NULL OR lease_until <= $1)
                               ORDER BY business_id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING business_id
        """,
        now, until,
    )  # fmt: skip
    return found


async def end_trade_day(tx: Tx, business_id: str, *, is_last: bool) -> None:
    await tx.execute(
        """
        UPDATE sandbox_trade SET days_left = CASE WHEN $2 THEN 0 ELSE greatest(days_left - 1, 0) END, lease_until = NULL
         WHERE business_id = $1
        """,
        business_id, is_last,
    )  # fmt: skip


async def list_newest_payments(tx: Tx, business_id: str, *, limit: int) -> list[Payment]:
    rows = await tx.fetch(
        "SELECT payment_row(payment) AS text FROM payment WHERE business_id = $1 ORDER BY id DESC LIMIT $2",
        business_id,
        limit,
    )
    return [payment_of(row["text"]) for row in rows]


async def count_receivers(tx: Tx, business_id: str) -> tuple[int, int]:
    """Enabled endpoints, and those of them whose last delivery failed."""
    row = await tx.fetchrow(
        """
        SELECT count(*) AS enabled, count(state.failing_since) AS failing
          FROM webhook_endpoint AS endpoint
          JOIN endpoint_state AS state ON state.business_id = endpoint.business_id AND state.endpoint_id = endpoint.id
         WHERE endpoint.business_id = $1 AND endpoint.deleted_at IS NULL AND endpoint.status = 'enabled'
        """,
        business_id,
    )
    assert row is not None
    return row["enabled"], row["failing"]


class SentEvent(NamedTuple):
    reference: str
    # By hand or by a replay, after its own tries.
    is_resent: bool


async def find_sent_event(tx: Tx, business_id: str, event_id: str) -> SentEvent | None:
    """What was sent to an endpoint of the business. The schedule of one that is sent again begins anew."""
    row = await tx.fetchrow(
        """
        SELECT coalesce(max(reference), '') AS reference, bool_or(attempts > failures) AS is_resent
          FROM webhook_delivery WHERE business_id = $1 AND event_id = $2
        """,
        business_id, event_id,
    )  # fmt: skip
    return SentEvent(row["reference"], row["is_resent"]) if row and row["is_resent"] is not None else None


async def find_last_settled(tx: Tx, payment: Payment) -> tuple[str, Money] | None:
    """The transaction and the amount of the money that was received last."""
    row = await tx.fetchrow(
        """
        SELECT transaction_id, amount_minor, currency FROM receipt
         WHERE business_id = $1 AND payment_id = $2 AND outcome = 'settled' ORDER BY id DESC LIMIT 1
        """,
        payment.business_id, payment.id,
    )  # fmt: skip
    return (row["transaction_id"], Money(row["amount_minor"], Currency(row["currency"]))) if row else None


async def end_session(tx: Tx, payment: Payment, *, now: datetime) -> bool:
    """Expires the payment and closes its accounts now, unless they ended before. False when the payment has changed
    since it was read."""
    done = await tx.fetchval(
        """
        WITH moved AS (
            UPDATE payment SET expires_at = least(expires_at, $4), version = version + 1, updated_at = $4
             WHERE business_id = $1 AND id = $2 AND version = $3
            RETURNING id),
        closed AS (
            UPDATE attempt SET expires_at = $4, updated_at = $4
              FROM moved
             WHERE attempt.business_id = $1 AND attempt.payment_id = moved.id AND attempt.account_number IS NOT NULL
               AND attempt.expires_at > $4)
        SELECT true FROM moved
        """,
        payment.business_id, payment.id, payment.version, now,
    )  # fmt: skip
    return done is True


_FOREIGN_KEY_VIOLATION, _DEADLOCK = "23503", "40P01"


async def reset(tx: Tx, business_id: str) -> None:
    """Raises StaleChange when rows were added concurrently, or on a deadlock; retry then."""
    with naming({_FOREIGN_KEY_VIOLATION: StaleChange, _DEADLOCK: StaleChange}):
        await tx.execute("SELECT reset_sandbox($1)", business_id)
