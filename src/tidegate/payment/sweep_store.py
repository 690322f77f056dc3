"""SQL of the sweeps."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx


class HeldReceipt(NamedTuple):
    business_id: str
    pay_code: str
    rail: str
    transaction_id: str
    amount: Money


async def list_expiring(tx: Tx, now: datetime, *, limit: int) -> list[tuple[str, str]]:
    rows = await tx.fetch(
        """
        SELECT business_id, pay_code FROM payment
         WHERE status IN ('initiated', 'pending') AND expires_at <= $1
         ORDER BY expires_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [(row["business_id"], row["pay_code"]) for row in rows]


async def close_accounts(tx: Tx, now: datetime, *, limit: int) -> int:
    """Payment before attempt, as everywhere. The version moves too: a payer who asks for more time in this moment
    must see that it is over."""
    rows = await tx.fetch(
        """
        WITH due AS (
            SELECT business_id, id, payment_id FROM attempt
             WHERE status = 'waiting' AND account_number IS NOT NULL AND expires_at <= $1
             ORDER BY expires_at LIMIT $2),
        moved AS (
            UPDATE payment SET version = version + 1, updated_at = $1
              FROM due
             WHERE payment.business_id = due.business_id AND payment.id = due.payment_id
            RETURNING payment.business_id, due.id)
        UPDATE attempt SET status = 'expired', updated_at = $1
          FROM moved
         WHERE attempt.business_id = moved.business_id AND attempt.id = moved.id
           AND attempt.status = 'waiting' AND attempt.expires_at <= $1
        RETURNING attempt.id
        """,
        now, limit,
    )  # fmt: skip
    return len(rows)


async def claim_unknown(
    tx: Tx, now: datetime, *, lease_until: datetime, token: str, limit: int
) -> list[tuple[str, str, str]]:
    """Attempts whose outcome should be asked for, leased to the caller: business, reference, rail."""
    rows = await tx.fetch(
        """
        UPDATE attempt SET lease_until = $2, lease_token = $3
         WHERE (business_id, id) IN (
            SELECT business_id, id FROM attempt
             WHERE next_ask_at <= $1 AND (lease_until IS NULL OR lease_until <= $1)
             ORDER BY next_ask_at LIMIT $4 FOR UPDATE SKIP LOCKED)
        RETURNING business_id, reference, rail
        """,
        now, lease_until, token, limit,
    )  # fmt: skip
    return [(row["business_id"], row["reference"], row["rail"]) for row in rows]


async def list_held_of_ended(tx: Tx, *, limit: int) -> list[HeldReceipt]:
    rows = await tx.fetch(
        """
        SELECT receipt.business_id, payment.pay_code, receipt.rail, receipt.transaction_id, receipt.amount_minor,
               receipt.currency
          FROM payment
          JOIN receipt ON receipt.business_id = payment.business_id AND receipt.payment_id = payment.id
               AND receipt.taken = 'held'
         WHERE payment.status IN ('failed', 'expired') AND payment.held_minor > 0
           AND NOT EXISTS (
               SELECT FROM money_return
                WHERE money_return.business_id = receipt.business_id AND money_return.payment_id = payment.id
                  AND money_return.rail = receipt.rail AND money_return.transaction_id = receipt.transaction_id)
           AND NOT EXISTS (
               SELECT FROM credit_reversal AS reversal
                WHERE reversal.rail = receipt.rail AND reversal.account_number = receipt.account_number
                  AND reversal.transaction_id = receipt.transaction_id)
         LIMIT $1
        """,
        limit,
    )
    return [
        HeldReceipt(
            row["business_id"],
            row["pay_code"],
            row["rail"],
            row["transaction_id"],
            Money(row["amount_minor"], Currency(row["currency"])),
        )
        for row in rows
    ]
