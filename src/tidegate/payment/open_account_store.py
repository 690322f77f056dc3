"""SQL of the account that a payer was given before, when another attempt was begun since."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Tx, naming
from tidegate.payment.attempt import Attempt
from tidegate.payment.attempt_store import AccountNumberTaken, attempt_of
from tidegate.payment.model import Payment


async def find_last(tx: Tx, payment: Payment) -> Attempt | None:
    """The newest attempt that has an account, open or closed."""
    row = await tx.fetchrow(
        """
        SELECT attempt.* FROM attempt
         WHERE business_id = $1 AND payment_id = $2 AND account_number IS NOT NULL
         ORDER BY number DESC LIMIT 1
        """,
        payment.business_id, payment.id,
    )  # fmt: skip
    return attempt_of(row, payment.expected.currency) if row else None


async def resume(tx: Tx, payment: Payment, account: Attempt, *, replaces: Attempt | None, now: datetime) -> bool:
    """The attempt waits again, as the newest, until `account.expires_at`; it is not counted again. In a transaction.

    False when the payment has changed since it was read. Raises AccountNumberTaken when the rail has reused the number.
    """
    done = await tx.fetchval(
        """
        WITH moved AS (
            UPDATE payment
               SET status = $3, expected_minor = $4, fee_rule_id = $5, attempts = $6, version = version + 1,
                   updated_at = $7
             WHERE business_id = $1 AND id = $2 AND version = $8
            RETURNING id),
        replaced AS (
            UPDATE attempt SET status = 'replaced', failure = NULL, next_poll_at = NULL, updated_at = $7
              FROM moved
             WHERE attempt.business_id = $1 AND attempt.id = $9
            RETURNING attempt.id)
        UPDATE attempt SET status = 'waiting', number = $6, expires_at = $11, next_poll_at = $12, updated_at = $7
          FROM moved
         WHERE attempt.business_id = $1 AND attempt.id = $10
           AND ($9::bigint IS NULL OR EXISTS (SELECT FROM replaced))
        RETURNING true
        """,
        payment.business_id, payment.id, payment.status, payment.expected.minor, payment.fee_rule_id,
        payment.attempts, now, payment.version, replaces.id if replaces else None, account.id,
        account.expires_at, account.next_poll_at,
    )  # fmt: skip
    if done:
        with naming({"account_number_one_open": AccountNumberTaken}):
            await tx.execute(
                "SELECT take_account_number($1, 'attempt', $2, $3, $4)",
                payment.business_id, account.rail, account.account_number, account.reference,
            )  # fmt: skip
    return done is True
