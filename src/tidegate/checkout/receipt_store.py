"""SQL of receipts by e-mail: for which payments and refunds one is to be sent, and in which language."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.infra.leased_work import DueRow
from tidegate.payment.model import Payment

# Kinds of leased work. The statements below repeat the names.
WRITE = "write_receipts"
WRITE_REFUND = "write_refund_receipts"


class WantedReceipt(NamedTuple):
    pay_code: str
    language: str
    # What went back, where it is about a refund.
    refunded: Money | None = None


async def ask(tx: Tx, payment: Payment, *, language: str, now: datetime) -> None:
    """Once for a payment; a later attempt only says in which language.

    The lock waits for a change that ends the payment at this moment, which would not see the row.
    """
    await tx.execute(
        """
        INSERT INTO receipt_mail (business_id, payment_id, language, created_at, payment_ended_at)
        SELECT $1, $2, $3, $4::timestamptz,
               CASE WHEN status IN ('success', 'failed', 'expired') THEN $4::timestamptz END
          FROM (SELECT status FROM payment WHERE business_id = $1 AND id = $2 FOR SHARE) AS payment
        ON CONFLICT ON CONSTRAINT receipt_mail_pk DO UPDATE SET language = excluded.language
              WHERE receipt_mail.language <> excluded.language
        """,
        payment.business_id, payment.id, language, now,
    )  # fmt: skip


async def set_language(tx: Tx, payment: Payment, language: str) -> None:
    """Where a receipt is to be sent and was not yet."""
    await tx.execute(
        """
        UPDATE receipt_mail SET language = $3
         WHERE business_id = $1 AND payment_id = $2 AND ended_at IS NULL AND language <> $3
        """,
        payment.business_id, payment.id, language,
    )  # fmt: skip


async def list_due(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Those whose payment has ended, paid or not."""
    rows = await tx.fetch(
        """
        SELECT business_id, payment_id::text AS id
          FROM receipt_mail
         WHERE payment_ended_at IS NOT NULL AND ended_at IS NULL
           AND NOT is_held_back(business_id, 'write_receipts', payment_id::text, $1)
         ORDER BY payment_ended_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def _find_of_payment(tx: Tx, business_id: str, payment_id: int) -> WantedReceipt | None:
    """None when it has ended."""
    row = await tx.fetchrow(
        """
        SELECT pay_code, language
          FROM receipt_mail AS wanted
          JOIN payment ON payment.business_id = wanted.business_id AND payment.id = wanted.payment_id
         WHERE wanted.business_id = $1 AND wanted.payment_id = $2 AND wanted.ended_at IS NULL
        """,
        business_id, payment_id,
    )  # fmt: skip
    return WantedReceipt(**row) if row else None


async def find_language(tx: Tx, payment: Payment) -> str | None:
    """What the payer read last, where a receipt was asked for."""
    found: str | None = await tx.fetchval(
        "SELECT language FROM receipt_mail WHERE business_id = $1 AND payment_id = $2",
        payment.business_id, payment.id,
    )  # fmt: skip
    return found


async def lock_recipient(tx: Tx, payment: Payment, recipient: str) -> bool:
    """Whether it is the payer's address still. Until the transaction ends, the payer is not erased, and no other
    receipt of this payment is sent."""
    found = await tx.fetchval(
        """
        SELECT customer_email = $3 AND customer_email <> 'erased@tidegate.invalid' FROM payment
         WHERE business_id = $1 AND id = $2 FOR NO KEY UPDATE
        """,
        payment.business_id, payment.id, recipient,
    )  # fmt: skip
    return found is True


async def _end_of_payment(tx: Tx, business_id: str, payment_id: int, now: datetime) -> bool:
    """False when it had ended, or its payer was erased meanwhile: then nothing may be sent."""
    done = await tx.fetchval(
        """
        UPDATE receipt_mail SET ended_at = $3
         WHERE business_id = $1 AND payment_id = $2 AND ended_at IS NULL RETURNING true
        """,
        business_id, payment_id, now,
    )  # fmt: skip
    return done is True


async def list_refunds_due(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """Those that have succeeded, of payments for which a receipt was asked."""
    rows = await tx.fetch(
        """
        SELECT business_id, id::text AS id
          FROM refund
         WHERE mail_due_at IS NOT NULL AND NOT is_held_back(business_id, 'write_refund_receipts', id::text, $1)
         ORDER BY mail_due_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["id"]) for row in rows]


async def _find_of_refund(tx: Tx, business_id: str, refund_id: int) -> WantedReceipt | None:
    """None when it has ended."""
    row = await tx.fetchrow(
        """
        SELECT pay_code, language, refund.currency, refund.refunded_minor
          FROM refund
          JOIN payment ON payment.business_id = refund.business_id AND payment.id = refund.payment_id
          JOIN receipt_mail ON receipt_mail.business_id = refund.business_id
               AND receipt_mail.payment_id = refund.payment_id
         WHERE refund.business_id = $1 AND refund.id = $2 AND mail_due_at IS NOT NULL
        """,
        business_id, refund_id,
    )  # fmt: skip
    if row is None:
        return None
    return WantedReceipt(row["pay_code"], row["language"], Money(row["refunded_minor"], Currency(row["currency"])))


async def _end_of_refund(tx: Tx, business_id: str, refund_id: int, _now: datetime) -> bool:
    """False when it had ended, or its payer was erased meanwhile: then nothing may be sent."""
    done = await tx.fetchval(
        """
        UPDATE refund SET mail_due_at = NULL
         WHERE business_id = $1 AND id = $2 AND mail_due_at IS NOT NULL RETURNING true
        """,
        business_id, refund_id,
    )  # fmt: skip
    return done is True


class ReceiptSubject(NamedTuple):
    """What a receipt is about, and its statements."""

    find: Callable[[Tx, str, int], Awaitable[WantedReceipt | None]]
    end: Callable[[Tx, str, int, datetime], Awaitable[bool]]


OF_PAYMENT = ReceiptSubject(_find_of_payment, _end_of_payment)
OF_REFUND = ReceiptSubject(_find_of_refund, _end_of_refund)
