"""Checks of refunds. Each returns an empty list when all is well."""

from __future__ import annotations

from tidegate.doctor.store import FINDINGS_MAX
from tidegate.infra.db import Tx


async def list_wrongly_counted(tx: Tx) -> list[str]:
    """The refunded amount of a payment or an inflow is the sum of its refunds."""
    rows = await tx.fetch(
        """
        WITH counted AS (
            SELECT business_id, payment_id, collection_id,
                   sum(CASE status WHEN 'processing' THEN amount_minor ELSE refunded_minor END) AS refunded_minor
              FROM refund GROUP BY business_id, payment_id, collection_id)
        SELECT payment.business_id || '/payment/' || payment.id AS thing
          FROM payment LEFT JOIN counted ON counted.business_id = payment.business_id
               AND counted.payment_id = payment.id
         WHERE payment.refunded_minor <> coalesce(counted.refunded_minor, 0)
         UNION ALL
        SELECT collection.business_id || '/collection/' || collection.id
          FROM collection LEFT JOIN counted ON counted.business_id = collection.business_id
               AND counted.collection_id = collection.id
         WHERE collection.refunded_minor <> coalesce(counted.refunded_minor, 0)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["thing"] for row in rows]


async def list_wrongly_locked(tx: Tx) -> list[str]:
    """The locked amount of a wallet is the sum of its running refunds and of what disputes hold."""
    rows = await tx.fetch(
        """
        SELECT wallet.business_id || '/' || wallet.currency AS wallet
          FROM wallet
          LEFT JOIN (SELECT business_id, currency, sum(amount_minor) AS amount_minor
                       FROM (SELECT leg.business_id, coalesce(refund.wallet_currency, leg.currency) AS currency,
                                    coalesce(refund.debited_minor, leg.amount_minor) AS amount_minor
                               FROM refund_leg AS leg JOIN refund ON refund.business_id = leg.business_id
                                    AND refund.id = leg.refund_id
                              WHERE leg.status = 'processing'
                              UNION ALL
                             SELECT business_id, currency, held_minor FROM dispute WHERE held_minor > 0) AS one
                      GROUP BY business_id, currency) AS running USING (business_id, currency)
         WHERE wallet.locked_minor <> coalesce(running.amount_minor, 0)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["wallet"] for row in rows]


async def list_wrongly_ended(tx: Tx) -> list[str]:
    """A refund has its debit, and each ended leg has one journal of its outcome."""
    rows = await tx.fetch(
        """
        SELECT refund.business_id || '/' || refund.reference AS thing
          FROM refund
         WHERE NOT EXISTS (
            SELECT FROM journal
             WHERE journal.business_id = refund.business_id AND journal.kind = 'refund_started'
               AND journal.cause = refund.reference)
         UNION ALL
        SELECT leg.business_id || '/' || leg.reference
          FROM refund_leg AS leg
          JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
          LEFT JOIN journal ON journal.business_id = leg.business_id AND journal.cause = leg.reference
               AND journal.kind IN ('refund_done', 'refund_converted', 'refund_failed')
         WHERE coalesce(journal.kind, 'none')
               <> CASE WHEN leg.status = 'failed' THEN 'refund_failed'
                       WHEN leg.status = 'processing' THEN 'none'
                       WHEN refund.rate_chosen IS NULL THEN 'refund_done' ELSE 'refund_converted' END
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["thing"] for row in rows]


async def list_wrongly_exchanged(tx: Tx) -> list[str]:
    """Of a converted refund that has arrived: what the wallet paid and what it cost differ by what is booked."""
    rows = await tx.fetch(
        """
        SELECT refund.business_id || '/' || refund.reference AS thing
          FROM refund
          JOIN refund_leg AS leg ON leg.business_id = refund.business_id AND leg.refund_id = refund.id
          LEFT JOIN journal ON journal.business_id = leg.business_id AND journal.cause = leg.reference
               AND journal.kind = 'refund_converted'
          LEFT JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
               AND entry.account = 'exchange' AND entry.currency = refund.wallet_currency
         WHERE refund.rate_chosen IS NOT NULL AND leg.status = 'successful'
           AND coalesce(entry.amount_minor, 0) <> refund.debited_minor - refund.worth_minor
         UNION ALL
        SELECT entry.business_id || '/' || entry.journal_id
          FROM entry JOIN journal ON journal.business_id = entry.business_id AND journal.id = entry.journal_id
         WHERE entry.account = 'exchange' AND journal.kind <> 'refund_converted'
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["thing"] for row in rows]


async def list_wrongly_reversed(tx: Tx) -> list[str]:
    """The reversed and owed amounts of a payment are as booked, and each reversal has an event, which may have left
    after its time."""
    rows = await tx.fetch(
        """
        SELECT payment.business_id || '/' || payment.id AS payment
          FROM payment
          LEFT JOIN (
               SELECT receipt.business_id, receipt.payment_id,
                      coalesce(sum(entry.amount_minor) FILTER (WHERE entry.account = 'rail'), 0) AS reversed_minor,
                      coalesce(-sum(entry.amount_minor) FILTER (WHERE entry.account = 'suspense'), 0) AS owed_minor,
                      count(DISTINCT journal.id) AS journals, count(DISTINCT event.id) AS events
                 FROM receipt
                 JOIN journal ON journal.business_id = receipt.business_id AND journal.kind = 'credit_reversed'
                      AND journal.cause = receipt.rail || '/' || receipt.transaction_id
                 JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
                 LEFT JOIN event ON event.business_id = journal.business_id AND event.type = 'charge.reversed'
                      AND event.cause = journal.cause
                GROUP BY receipt.business_id, receipt.payment_id) AS booked
               ON booked.business_id = payment.business_id AND booked.payment_id = payment.id
          LEFT JOIN (
               -- The cause of a collected debt is a pay code and a number.
               SELECT journal.business_id, split_part(journal.cause, '/', 1) AS pay_code,
                      sum(entry.amount_minor) AS minor
                 FROM journal
                 JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
                WHERE journal.kind = 'debt_collected' AND entry.account = 'suspense'
                GROUP BY 1, 2) AS collected
               ON collected.business_id = payment.business_id AND collected.pay_code = payment.pay_code
         WHERE (payment.reversed_minor, payment.owed_minor)
               <> (coalesce(booked.reversed_minor, 0), coalesce(booked.owed_minor, 0) - coalesce(collected.minor, 0))
            OR booked.events > booked.journals
            OR (booked.events < booked.journals
                AND payment.created_at >= removed_before('events', payment.business_id))
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["payment"] for row in rows]
