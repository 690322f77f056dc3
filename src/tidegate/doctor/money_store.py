"""Checks of payments and their money. Each returns an empty list when all is well."""

from __future__ import annotations

from datetime import datetime

from tidegate.doctor.store import FINDINGS_MAX
from tidegate.infra.db import Tx


async def list_wrongly_posted(tx: Tx) -> list[str]:
    """Each successful payment has exactly one settling journal; any other has none, nor has one that is not there."""
    rows = await tx.fetch(
        """
        SELECT coalesce(payment.business_id || '/' || payment.id, journal.business_id || '/' || journal.cause) AS found
          FROM payment
          FULL JOIN (SELECT business_id, id, cause FROM journal WHERE kind = 'checkout_settled') AS journal
               ON journal.business_id = payment.business_id AND journal.cause = 'payment/' || payment.id
         WHERE coalesce(payment.status = 'success', false) <> (journal.id IS NOT NULL)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["found"] for row in rows]


async def list_wrong_events(tx: Tx) -> list[str]:
    """Each successful payment has exactly one event, which may have left after its time; any other has none."""
    rows = await tx.fetch(
        """
        SELECT payment.business_id || '/' || payment.id AS payment
          FROM payment LEFT JOIN event ON event.business_id = payment.business_id
               AND event.type = 'charge.successful' AND event.cause = 'payment/' || payment.id
         WHERE (payment.status = 'success') <> (event.id IS NOT NULL)
           AND (event.id IS NOT NULL OR payment.created_at >= removed_before('events', payment.business_id))
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["payment"] for row in rows]


async def list_wrongly_delivered(tx: Tx) -> list[str]:
    """Every delivered webhook was answered with a 2xx, in an attempt that may have left after its time."""
    rows = await tx.fetch(
        """
        SELECT delivery.business_id || '/' || delivery.id AS delivery
          FROM webhook_delivery AS delivery
         WHERE delivery.status = 'delivered' AND NOT EXISTS (
            SELECT FROM webhook_attempt AS attempt
             WHERE attempt.business_id = delivery.business_id AND attempt.delivery_id = delivery.id
               AND attempt.status_code BETWEEN 200 AND 299 AND attempt.error IS NULL)
           AND delivery.created_at >= removed_before('webhook_attempts', delivery.business_id)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["delivery"] for row in rows]


async def list_wrongly_settled(tx: Tx) -> list[str]:
    """Received is settled plus fee plus tax, and the wallet was credited what was settled."""
    rows = await tx.fetch(
        """
        SELECT payment.business_id || '/' || payment.id AS payment
          FROM payment
          JOIN journal ON journal.business_id = payment.business_id
               AND journal.kind = 'checkout_settled' AND journal.cause = 'payment/' || payment.id
          LEFT JOIN entry ON entry.business_id = journal.business_id AND entry.journal_id = journal.id
               AND entry.account = 'wallet'
         WHERE payment.received_minor <> payment.settled_minor + payment.fee_minor + payment.vat_minor
            OR payment.settled_minor <> coalesce(entry.amount_minor, 0)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["payment"] for row in rows]


async def list_lost_money(tx: Tx) -> list[str]:
    """Everything that arrived for a payment was kept, is held, was returned, or was reversed while it was held."""
    rows = await tx.fetch(
        """
        SELECT payment.business_id || '/' || payment.id AS payment
          FROM payment
          LEFT JOIN (SELECT business_id, payment_id, sum(amount_minor) AS arrived_minor
                       FROM receipt
                      WHERE outcome NOT IN ('suspense', 'decided')
                        AND NOT (outcome = 'held'
                                 AND EXISTS (SELECT FROM journal
                                              WHERE journal.business_id = receipt.business_id
                                                AND journal.kind = 'held_reversed'
                                                AND journal.cause = receipt.rail || '/' || receipt.transaction_id)
                                 AND NOT EXISTS (SELECT FROM money_return AS back
                                                  WHERE back.business_id = receipt.business_id
                                                    AND back.payment_id = receipt.payment_id
                                                    AND back.rail = receipt.rail
                                                    AND back.transaction_id = receipt.transaction_id))
                      GROUP BY business_id, payment_id) AS money
               ON money.business_id = payment.business_id AND money.payment_id = payment.id
         WHERE coalesce(money.arrived_minor, 0)
               <> payment.received_minor + payment.held_minor + payment.returned_minor
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["payment"] for row in rows]


async def list_unbooked_receipts(tx: Tx) -> list[str]:
    """Every receipt has its journal."""
    rows = await tx.fetch(
        """
        SELECT receipt.business_id || '/' || receipt.rail || '/' || receipt.transaction_id AS receipt
          FROM receipt
         WHERE NOT EXISTS (
            SELECT FROM journal
             WHERE journal.business_id = receipt.business_id
               AND journal.cause = CASE WHEN receipt.outcome = 'settled' THEN 'payment/' || receipt.payment_id
                                        ELSE receipt.rail || '/' || receipt.transaction_id END)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["receipt"] for row in rows]


async def list_booked_ahead(tx: Tx, after: datetime) -> list[str]:
    """No wallet is booked into the future: all its later journals would be, and leave today's statement."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || currency AS wallet FROM wallet
         WHERE booked_until > latest_time($1) AND booked_until > time_of(business_id, $1) LIMIT $2
        """,
        after,
        FINDINGS_MAX,
    )
    return [row["wallet"] for row in rows]


async def list_forgotten(tx: Tx, before: datetime) -> list[str]:
    """A payment ends soon after its session, unless its last attempt is still being polled."""
    rows = await tx.fetch(
        """
        SELECT payment.business_id || '/' || payment.id AS payment
          FROM payment
         WHERE payment.status IN ('initiated', 'pending', 'processing')
           AND payment.expires_at < time_of(payment.business_id, $1)
           AND NOT EXISTS (
               SELECT FROM attempt
                WHERE attempt.business_id = payment.business_id AND attempt.payment_id = payment.id
                  AND attempt.next_poll_at IS NOT NULL)
         LIMIT $2
        """,
        before,
        FINDINGS_MAX,
    )
    return [row["payment"] for row in rows]


async def list_quarantined(tx: Tx) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT coalesce(note || ' (' || rail || '/' || id || ')', rail || '/' || id) AS notification FROM notification
         WHERE state = 'quarantined' ORDER BY received_at LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["notification"] for row in rows]
