"""SQL of the sweeps: which rows are due, and the change of each."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.infra.leased_work import DueRow
from tidegate.payment.attempt import Attempt

# Kinds of leased work, as the statements below name them.
EXPIRE, CLOSE, POLL, RETURN_HELD = "expire_payments", "close_accounts", "poll_rails", "return_held"


class HeldReceipt(NamedTuple):
    pay_code: str
    rail: str
    transaction_id: str
    amount: Money


async def list_expiring(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """By pay code."""
    rows = await tx.fetch(
        """
        SELECT business_id, pay_code FROM payment
         WHERE status IN ('initiated', 'pending')
           AND is_due(business_id, expires_at, $1)
           AND NOT is_held_back(business_id, 'expire_payments', pay_code, $1)
         ORDER BY expires_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["pay_code"]) for row in rows]


async def list_to_close(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Attempts, by reference."""
    rows = await tx.fetch(
        """
        SELECT business_id, reference FROM attempt
         WHERE status = 'waiting' AND account_number IS NOT NULL
           AND is_due(business_id, expires_at, $1)
           AND NOT is_held_back(business_id, 'close_accounts', reference, $1)
         ORDER BY expires_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["reference"]) for row in rows]


async def close_account(tx: Tx, business_id: str, reference: str, now: datetime) -> bool:
    """Locks payment before attempt, as everywhere. The version moves too: a concurrent request for more time must
    find the account closed."""
    done = await tx.fetchval(
        """
        WITH moved AS (
            UPDATE payment SET version = version + 1, updated_at = $3
              FROM attempt
             WHERE attempt.business_id = $1 AND attempt.reference = $2
               AND attempt.status = 'waiting' AND attempt.account_number IS NOT NULL AND attempt.expires_at <= $3
               AND payment.business_id = attempt.business_id AND payment.id = attempt.payment_id
            RETURNING attempt.id)
        UPDATE attempt SET status = 'expired', updated_at = $3
          FROM moved
         WHERE attempt.business_id = $1 AND attempt.id = moved.id
           AND attempt.status = 'waiting' AND attempt.expires_at <= $3
        RETURNING true
        """,
        business_id, reference, now,
    )  # fmt: skip
    return done is True


async def list_to_poll(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Attempts to poll for, by reference."""
    rows = await tx.fetch(
        """
        SELECT business_id, reference FROM attempt
         WHERE is_due(business_id, next_poll_at, $1)
           AND NOT is_held_back(business_id, 'poll_rails', reference, $1)
         ORDER BY next_poll_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["reference"]) for row in rows]


async def find_rail_to_poll(tx: Tx, business_id: str, reference: str, now: datetime) -> str | None:
    """None when the attempt need not be polled any more."""
    rail: str | None = await tx.fetchval(
        "SELECT rail FROM attempt WHERE business_id = $1 AND reference = $2 AND next_poll_at <= $3",
        business_id, reference, now,
    )  # fmt: skip
    return rail


async def poll_now(tx: Tx, business_id: str, reference: str, *, rail: str, now: datetime) -> bool:
    """Polls for it at once, even if it has ended: it may have taken money. False when the rail has no such attempt."""
    done = await tx.fetchval(
        """
        UPDATE attempt SET next_poll_at = least(next_poll_at, $4)
         WHERE business_id = $1 AND reference = $2 AND rail = $3
        RETURNING true
        """,
        business_id, reference, rail, now,
    )  # fmt: skip
    return done is True


async def poll_later(tx: Tx, attempt: Attempt, *, was: datetime | None) -> None:
    """Not when it has ended or was hastened meanwhile."""
    await tx.execute(
        """
        UPDATE attempt SET polls = $3, next_poll_at = $4
         WHERE business_id = $1 AND reference = $2 AND next_poll_at = $5
        """,
        attempt.business_id, attempt.reference, attempt.polls, attempt.next_poll_at, was,
    )  # fmt: skip


async def list_held_of_ended(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Receipts, by id."""
    rows = await tx.fetch(
        """
        SELECT receipt.business_id, receipt.id::text AS id
          FROM payment
          JOIN receipt ON receipt.business_id = payment.business_id AND receipt.payment_id = payment.id
               AND receipt.outcome = 'held'
         WHERE payment.status IN ('failed', 'expired') AND payment.held_minor > 0
           AND NOT EXISTS (
               SELECT FROM money_return
                WHERE money_return.business_id = receipt.business_id AND money_return.payment_id = payment.id
                  AND money_return.rail = receipt.rail AND money_return.transaction_id = receipt.transaction_id)
           AND NOT EXISTS (
               SELECT FROM credit_reversal AS reversal
                WHERE reversal.rail = receipt.rail AND reversal.account_number = coalesce(receipt.account_number, '')
                  AND reversal.transaction_id = receipt.transaction_id)
           AND NOT is_held_back(receipt.business_id, 'return_held', receipt.id::text, $1)
         LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def find_held(tx: Tx, business_id: str, receipt_id: int) -> HeldReceipt | None:
    """None when it is already being returned, or its bank reverses it."""
    row = await tx.fetchrow(
        """
        SELECT payment.pay_code, receipt.rail, receipt.transaction_id, receipt.amount_minor, receipt.currency
          FROM receipt
          JOIN payment ON payment.business_id = receipt.business_id AND payment.id = receipt.payment_id
         WHERE receipt.business_id = $1 AND receipt.id = $2 AND receipt.outcome = 'held'
           AND payment.status IN ('failed', 'expired')
           AND NOT EXISTS (
               SELECT FROM money_return
                WHERE money_return.business_id = receipt.business_id AND money_return.payment_id = payment.id
                  AND money_return.rail = receipt.rail AND money_return.transaction_id = receipt.transaction_id)
           AND NOT EXISTS (
               SELECT FROM credit_reversal AS reversal
                WHERE reversal.rail = receipt.rail AND reversal.account_number = coalesce(receipt.account_number, '')
                  AND reversal.transaction_id = receipt.transaction_id)
        """,
        business_id, receipt_id,
    )  # fmt: skip
    if row is None:
        return None
    amount = Money(row["amount_minor"], Currency(row["currency"]))
    return HeldReceipt(row["pay_code"], row["rail"], row["transaction_id"], amount)
