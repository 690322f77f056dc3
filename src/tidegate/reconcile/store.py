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
        SELECT EXISTS (SELECT 1 FROM receipt WHERE rail = $1) OR EXISTS (SELECT 1 FROM collection WHERE rail = $1)
        """,
        rail,
    )
    return found is True


async def stream_of_period(tx: Tx, rail: str, period: ReconcilePeriod) -> AsyncIterator[Movement]:
    """Including the slack on both sides."""
    async for movement in _stream(tx, rail, period, None):
        yield movement


async def stream_beyond_period(
    tx: Tx, rail: str, period: ReconcilePeriod, identifiers: Sequence[str]
) -> AsyncIterator[Movement]:
    """Movements with these identifiers outside the period and its slack."""
    async for movement in _stream(tx, rail, period, identifiers):
        yield movement


async def _stream(
    tx: Tx, rail: str, period: ReconcilePeriod, identifiers: Sequence[str] | None
) -> AsyncIterator[Movement]:
    begin, end = period.begin - period.slack, period.end + period.slack
    for movements in (_RECEIPTS, _COLLECTIONS, _RETURNS, _REFUNDS, _REVERSALS):
        async for row in tx.cursor(movements, rail, begin, end, identifiers, prefetch=PREFETCH):
            yield _movement(row)


# Of each: without identifiers everything from $2 to $3; with them the matching movements of all other times. They are
# several statements because the nodes of a cluster refuse a union of them.
_RECEIPTS = """
    SELECT 'receipt' AS kind, 'in' AS direction, receipt.transaction_id, NULL AS reference, receipt.currency,
           receipt.amount_minor, receipt.created_at AS moved_at, 'done' AS status, receipt.business_id,
           payment.pay_code AS subject
      FROM receipt
      LEFT JOIN payment ON payment.business_id = receipt.business_id AND payment.id = receipt.payment_id
     WHERE receipt.rail = $1
       AND CASE WHEN $4::text[] IS NULL THEN receipt.created_at >= $2 AND receipt.created_at < $3
                ELSE (receipt.created_at < $2 OR receipt.created_at >= $3) AND receipt.transaction_id = ANY ($4) END
"""
_COLLECTIONS = """
    SELECT 'collection' AS kind, 'in' AS direction, transaction_id, NULL AS reference, source_currency AS currency,
           source_minor AS amount_minor, created_at AS moved_at, 'done' AS status, business_id, reference AS subject
      FROM collection
     WHERE rail = $1
       AND CASE WHEN $4::text[] IS NULL THEN created_at >= $2 AND created_at < $3
                ELSE (created_at < $2 OR created_at >= $3) AND transaction_id = ANY ($4) END
"""
_RETURNS = """
    SELECT 'return' AS kind, 'out' AS direction, back.sent_as AS transaction_id, back.reference, back.currency,
           back.amount_minor, coalesce(back.confirmed_at, back.asked_at) AS moved_at,
           CASE back.status WHEN 'confirmed' THEN 'done' ELSE 'under_way' END AS status, back.business_id,
           coalesce(payment.pay_code, collection.reference) AS subject
      FROM money_return AS back
      LEFT JOIN payment ON payment.business_id = back.business_id AND payment.id = back.payment_id
      LEFT JOIN collection ON collection.business_id = back.business_id AND collection.id = back.collection_id
     WHERE back.rail = $1
       AND CASE WHEN $4::text[] IS NULL
                THEN coalesce(back.confirmed_at, back.asked_at) >= $2
                     AND coalesce(back.confirmed_at, back.asked_at) < $3
                ELSE (coalesce(back.confirmed_at, back.asked_at) < $2
                      OR coalesce(back.confirmed_at, back.asked_at) >= $3)
                     AND (back.sent_as = ANY ($4) OR back.reference = ANY ($4)) END
"""
_REFUNDS = """
    SELECT 'refund' AS kind, 'out' AS direction, leg.sent_as AS transaction_id, leg.reference, leg.currency,
           leg.amount_minor, coalesce(leg.completed_at, refund.initiated_at) AS moved_at,
           CASE leg.status WHEN 'successful' THEN 'done' WHEN 'failed' THEN 'failed' ELSE 'under_way' END AS status,
           leg.business_id, coalesce(payment.pay_code, collection.reference) AS subject
      FROM refund_leg AS leg
      JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
      LEFT JOIN payment ON payment.business_id = leg.business_id AND payment.id = refund.payment_id
      LEFT JOIN collection ON collection.business_id = leg.business_id AND collection.id = refund.collection_id
     WHERE leg.rail = $1
       AND CASE WHEN $4::text[] IS NULL
                THEN coalesce(leg.completed_at, refund.initiated_at) >= $2
                     AND coalesce(leg.completed_at, refund.initiated_at) < $3
                ELSE (coalesce(leg.completed_at, refund.initiated_at) < $2
                      OR coalesce(leg.completed_at, refund.initiated_at) >= $3)
                     AND (leg.sent_as = ANY ($4) OR leg.reference = ANY ($4)) END
"""
_REVERSALS = """
    SELECT 'reversal' AS kind, 'out' AS direction, reversal.reversal_id AS transaction_id, NULL AS reference,
           reversal.currency, reversal.amount_minor, reversal.created_at AS moved_at, 'done' AS status,
           of.business_id, of.subject
      FROM credit_reversal AS reversal
     CROSS JOIN LATERAL reversed_money(reversal.rail, reversal.account_number, reversal.transaction_id) AS of
     WHERE reversal.rail = $1
       AND CASE WHEN $4::text[] IS NULL THEN reversal.created_at >= $2 AND reversal.created_at < $3
                ELSE (reversal.created_at < $2 OR reversal.created_at >= $3) AND reversal.reversal_id = ANY ($4) END
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
        status=MovementStatus(row["status"]),
        business_id=row["business_id"],
        subject=row["subject"],
    )
