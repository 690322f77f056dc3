"""SQL of money on its way back. Whoever decides that it goes back inserts it, in the statement of that decision."""

from __future__ import annotations

from datetime import datetime

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.ledger.model import Journal
from tidegate.money_return.model import KnownReturn
from tidegate.money_return.reason import reason_in
from tidegate.rail.interface import ReturnMoney


async def claim(
    tx: Tx, now: datetime, *, lease_until: datetime, token: str, limit: int
) -> list[tuple[str, ReturnMoney]]:
    rows = await tx.fetch(
        """
        UPDATE money_return SET lease_until = $2, lease_token = $3
         WHERE (business_id, id) IN (
            SELECT business_id, id FROM money_return
             WHERE next_try_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)
             ORDER BY next_try_at LIMIT $4 FOR UPDATE SKIP LOCKED)
        RETURNING business_id, reference, rail, transaction_id, amount_minor, currency, reason
        """,
        now, lease_until, token, limit,
    )  # fmt: skip
    return [
        (
            row["rail"],
            ReturnMoney(
                business_id=row["business_id"],
                reference=row["reference"],
                transaction_id=row["transaction_id"],
                amount=Money(row["amount_minor"], Currency(row["currency"])),
                reason=reason.sentence if (reason := reason_in(row["reason"])) else row["reason"],
            ),
        )
        for row in rows
    ]


async def mark_sent(tx: Tx, money: ReturnMoney, *, token: str, next_try_at: datetime) -> bool:
    """False when the lease was taken over, or the rail has confirmed meanwhile."""
    done = await tx.fetchval(
        """
        UPDATE money_return
           SET status = 'sent', next_try_at = $4, lease_until = NULL, lease_token = NULL
         WHERE business_id = $1 AND reference = $2 AND lease_token = $3 AND status <> 'confirmed'
        RETURNING true
        """,
        money.business_id, money.reference, token, next_try_at,
    )  # fmt: skip
    return done is True


async def find(tx: Tx, business_id: str, reference: str, *, rail: str) -> KnownReturn | None:
    row = await tx.fetchrow(
        """
        SELECT amount_minor, currency, collection_id FROM money_return
         WHERE business_id = $1 AND reference = $2 AND rail = $3
        """,
        business_id, reference, rail,
    )  # fmt: skip
    if row is None:
        return None
    return KnownReturn(
        business_id=business_id,
        reference=reference,
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        collection_id=row["collection_id"],
    )


async def confirm(tx: Tx, business_id: str, reference: str, journal: Journal, *, sent_as: str, now: datetime) -> bool:
    """The second of the two facts, with its journal. False when it was confirmed before."""
    done = await tx.fetchval(
        """
        WITH confirmed AS (
            UPDATE money_return
               SET status = 'confirmed', confirmed_at = $3, next_try_at = NULL, lease_until = NULL, lease_token = NULL,
                   sent_as = $10
             WHERE business_id = $1 AND reference = $2 AND status <> 'confirmed'
            RETURNING id)
        SELECT post_journal($1, $4, $5, $6, $7, $8, $9, $3) FROM confirmed
        """,
        business_id, reference, now, *journal.columns(), sent_as,
    )  # fmt: skip
    return done is not None
