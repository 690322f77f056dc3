"""SQL of the sandbox's controls."""

from __future__ import annotations

from datetime import datetime, timedelta

from tidegate.core.money import Currency, Money
from tidegate.infra import lease_store
from tidegate.infra.db import StaleChange, Tx, naming
from tidegate.payment.model import Payment
from tidegate.payment.row import payment_of


async def list_ahead(tx: Tx) -> list[tuple[str, timedelta]]:
    """Businesses with a clock offset."""
    rows = await tx.fetch("SELECT business_id, ahead FROM business_clock")
    return [(row["business_id"], row["ahead"]) for row in rows]


async def advance(tx: Tx, business_id: str, by: timedelta, *, ahead_max: timedelta) -> timedelta | None:
    """The new offset; None when it would exceed the limit."""
    ahead: timedelta | None = await tx.fetchval(
        """
        INSERT INTO business_clock AS clock (business_id, ahead) SELECT $1, $2 WHERE $2::interval <= $3
            ON CONFLICT ON CONSTRAINT business_clock_pk DO UPDATE
           SET ahead = clock.ahead + excluded.ahead WHERE clock.ahead + excluded.ahead <= $3
        RETURNING ahead
        """,
        business_id, by, ahead_max,
    )  # fmt: skip
    return ahead


async def list_newest_payments(tx: Tx, business_id: str, *, limit: int) -> list[Payment]:
    rows = await tx.fetch(
        "SELECT payment_row(payment) AS text FROM payment WHERE business_id = $1 ORDER BY id DESC LIMIT $2",
        business_id,
        limit,
    )
    return [payment_of(row["text"]) for row in rows]


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
        await lease_store.delete_all(tx, business_id)
