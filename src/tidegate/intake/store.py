"""SQL of notifications that change no payment, and of money nobody is waiting for."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.ledger.model import Journal
from tidegate.payment.change import Receipt
from tidegate.rail.told import ToldBy


async def note(tx: Tx, told_by: ToldBy, *, state: str, note: str | None, now: datetime) -> bool:
    """False when it was recorded before."""
    done = await tx.fetchval(
        """
        INSERT INTO notification (rail, id, state, body, note, received_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
        RETURNING true
        """,
        told_by.rail, told_by.id, state, told_by.body, note, now,
    )  # fmt: skip
    return done is True


async def get_body(tx: Tx, rail: str, notification_id: str) -> bytes:
    body: bytes = await tx.fetchval("SELECT body FROM notification WHERE rail = $1 AND id = $2", rail, notification_id)
    return body


async def find_recorded(tx: Tx, business_id: str, rail: str, transaction_id: str) -> Money | None:
    """How much was recorded for a transaction."""
    row = await tx.fetchrow(
        """
        SELECT amount_minor, currency FROM receipt WHERE business_id = $1 AND rail = $2 AND transaction_id = $3
         UNION ALL
        SELECT source_minor, source_currency FROM collection
         WHERE business_id = $1 AND rail = $2 AND transaction_id = $3
        """,
        business_id, rail, transaction_id,
    )  # fmt: skip
    return Money(row["amount_minor"], Currency(row["currency"])) if row else None


async def put_into_suspense(
    tx: Tx, business_id: str, receipt: Receipt, journal: Journal, told_by: ToldBy, *, account_number: str | None,
    payment_id: int | None, now: datetime,
) -> bool:  # fmt: skip
    """The notification, the money and its journal, in one statement. False when it was recorded before.

    `payment_id` is that of the payment whose account it arrived at; the money is not the payment's all the same.
    """
    done = await tx.fetchval(
        """
        WITH told AS (
            INSERT INTO notification (rail, id, state, body, note, received_at)
            VALUES ($2, $3, 'suspense', $4, $5, $6)
            ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
            RETURNING true),
        received AS (
            INSERT INTO receipt (business_id, rail, transaction_id, account_number, currency, amount_minor, taken,
                                 reason, payer, created_at, payment_id)
            SELECT $1, $2, $7, $8, $9, $10, 'suspense', $5, $11, $6, $18 FROM told
            RETURNING id)
        SELECT post_journal($1, $12, $13, $14, $15, $16, $17, $6) FROM received
        """,
        business_id, told_by.rail, told_by.id, told_by.body, receipt.reason, now, receipt.transaction_id,
        account_number, receipt.amount.currency, receipt.amount.minor, msgspec.json.encode(receipt.payer).decode(),
        *journal.columns(), payment_id,
    )  # fmt: skip
    return done is not None
