"""Movements at a rail, from every table that records them. Streamed: the books are larger than memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.reconcile.model import Balance, Direction, Movement, MovementStatus, ReconcilePeriod

PREFETCH = 2_000


async def is_known(tx: Tx, rail: str) -> bool:
    """Whether any money came in by it."""
    found = await tx.fetchval(
        """
        SELECT EXISTS (SELECT FROM receipt WHERE rail = $1) OR EXISTS (SELECT FROM collection WHERE rail = $1)
        """,
        rail,
    )
    return found is True


async def stream_of_period(tx: Tx, rail: str, period: ReconcilePeriod) -> AsyncIterator[Movement]:
    """Including the slack on both sides."""
    begin, end = period.begin - period.slack, period.end + period.slack
    async for row in tx.cursor(_MOVEMENTS, rail, begin, end, None, prefetch=PREFETCH):
        yield _movement(row)


async def stream_beyond_period(
    tx: Tx, rail: str, period: ReconcilePeriod, identifiers: Sequence[str]
) -> AsyncIterator[Movement]:
    """Movements with these identifiers outside the period and its slack."""
    begin, end = period.begin - period.slack, period.end + period.slack
    async for row in tx.cursor(_MOVEMENTS, rail, begin, end, identifiers, prefetch=PREFETCH):
        yield _movement(row)


# Without identifiers: everything from $2 to $3; with them: the matching movements of all other times.
_MOVEMENTS = """
    WITH moved AS (
        SELECT 'receipt' AS kind, 'in' AS direction, receipt.transaction_id, NULL AS reference,
               receipt.currency, receipt.amount_minor, receipt.created_at AS moved_at, 'done' AS standing,
               receipt.business_id, payment_id, NULL::bigint AS collection_id
          FROM receipt WHERE rail = $1
        UNION ALL
        SELECT 'collection', 'in', transaction_id, NULL, source_currency, source_minor, created_at, 'done',
               business_id, NULL, id
          FROM collection WHERE rail = $1
        UNION ALL
        SELECT 'return', 'out', sent_as, reference, currency, amount_minor, coalesce(confirmed_at, asked_at),
               CASE status WHEN 'confirmed' THEN 'done' ELSE 'under_way' END, business_id, payment_id, collection_id
          FROM money_return WHERE rail = $1
        UNION ALL
        SELECT 'refund', 'out', leg.sent_as, leg.reference, leg.currency, leg.amount_minor,
               coalesce(leg.completed_at, refund.initiated_at),
               CASE leg.status WHEN 'successful' THEN 'done' WHEN 'failed' THEN 'failed' ELSE 'under_way' END,
               leg.business_id, refund.payment_id, refund.collection_id
          FROM refund_leg AS leg
          JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
         WHERE leg.rail = $1
        UNION ALL
        SELECT 'reversal', 'out', reversal.reversal_id, NULL, reversal.currency, reversal.amount_minor,
               reversal.created_at, 'done', coalesce(credited.business_id, receipt.business_id), receipt.payment_id,
               credited.id
          FROM credit_reversal AS reversal
          LEFT JOIN LATERAL (
               SELECT collection.business_id, collection.id
                 FROM virtual_account AS account
                 JOIN collection ON collection.business_id = account.business_id AND collection.rail = reversal.rail
                      AND collection.transaction_id = reversal.transaction_id AND collection.account_id = account.id
                WHERE account.rail = reversal.rail AND account.account_number = reversal.account_number
                LIMIT 1) AS credited ON true
          LEFT JOIN LATERAL (
               SELECT business_id, payment_id FROM receipt
                WHERE receipt.rail = reversal.rail AND receipt.transaction_id = reversal.transaction_id
                  AND reversal.account_number = coalesce(receipt.account_number, '') LIMIT 1) AS receipt ON true
         WHERE reversal.rail = $1)
    SELECT moved.*, coalesce(payment.pay_code, collection.reference) AS subject
      FROM moved
      LEFT JOIN payment ON payment.business_id = moved.business_id AND payment.id = moved.payment_id
      LEFT JOIN collection ON collection.business_id = moved.business_id AND collection.id = moved.collection_id
     WHERE CASE WHEN $4::text[] IS NULL THEN moved_at >= $2 AND moved_at < $3
                ELSE (moved_at < $2 OR moved_at >= $3)
                     AND (moved.transaction_id = ANY ($4) OR moved.reference = ANY ($4)) END
"""


async def list_balances(tx: Tx) -> list[Balance]:
    """Over all rails, since the ledger has one account for them: money in and out, and the ledger's balance."""
    rows = await tx.fetch(
        """
        SELECT currency, sum(moved)::bigint AS moved, sum(booked)::bigint AS booked
          FROM (SELECT currency, amount_minor AS moved, 0 AS booked FROM receipt
                UNION ALL
                SELECT source_currency, source_minor, 0 FROM collection
                UNION ALL
                -- Reversed by the bank. Reversals that contradict their credit wait for an operator.
                SELECT source_currency, -source_minor, 0 FROM collection WHERE reason = 'taken_back'
                UNION ALL
                SELECT receipt.currency, -receipt.amount_minor, 0
                  FROM credit_reversal AS reversal
                  JOIN receipt USING (rail, transaction_id, currency, amount_minor)
                 WHERE reversal.applied_at IS NOT NULL
                   AND reversal.account_number = coalesce(receipt.account_number, '')
                UNION ALL
                -- Settled outside by an operator.
                SELECT currency, -amount_minor, 0 FROM suspense_decision WHERE decision = 'closed'
                UNION ALL
                SELECT currency, -amount_minor, 0 FROM money_return WHERE status = 'confirmed'
                UNION ALL
                SELECT currency, -amount_minor, 0 FROM refund_leg WHERE status = 'successful'
                UNION ALL
                SELECT currency, 0, -amount_minor FROM entry WHERE account = 'rail') AS booked
         GROUP BY currency ORDER BY currency
        """
    )
    return [
        Balance(Money(row["moved"], Currency(row["currency"])), Money(row["booked"], Currency(row["currency"])))
        for row in rows
    ]


def _movement(row: Row) -> Movement:
    return Movement(
        kind=row["kind"],
        direction=Direction(row["direction"]),
        transaction_id=row["transaction_id"],
        reference=row["reference"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        at=row["moved_at"],
        standing=MovementStatus(row["standing"]),
        business_id=row["business_id"],
        subject=row["subject"],
    )
