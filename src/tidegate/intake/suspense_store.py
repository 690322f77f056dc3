"""SQL of money in suspense, and of what operators decide about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from tidegate.core.ids import business_code_of
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, StaleChange, Tx, naming
from tidegate.intake.model import DecidedTransfer, SuspenseDecision, SuspenseReceipt, TransferCandidate
from tidegate.ledger.model import Journal
from tidegate.payment.attempt_store import snapshot_of
from tidegate.payment.change import PaymentSnapshot
from tidegate.rail.event import MoneyArrived

_transfers = msgspec.json.Decoder(MoneyArrived)


async def list_open(tx: Tx, *, business_id: str | None = None, limit: int) -> list[SuspenseReceipt]:
    """The oldest first, without what the bank has taken back."""
    rows = await tx.fetch(
        """
        SELECT * FROM receipt
         WHERE outcome = 'suspense' AND ($1::text IS NULL OR business_id = $1) AND NOT EXISTS (
             SELECT FROM credit_reversal AS reversal
              WHERE reversal.rail = receipt.rail AND reversal.account_number = coalesce(receipt.account_number, '')
                AND reversal.transaction_id = receipt.transaction_id AND reversal.applied_at IS NOT NULL)
         ORDER BY created_at, business_id, id LIMIT $2
        """,
        business_id, limit,
    )  # fmt: skip
    return [_receipt(row) for row in rows]


async def find_open(tx: Tx, receipt_id: int) -> SuspenseReceipt | None:
    """Numbers of receipts are unique over businesses."""
    row = await tx.fetchrow("SELECT * FROM receipt WHERE outcome = 'suspense' AND id = $1", receipt_id)
    return _receipt(row) if row else None


async def find_other_owner(tx: Tx, receipt: SuspenseReceipt) -> str | None:
    """Another business that has the same transaction as its own money."""
    found: str | None = await tx.fetchval(
        """
        SELECT business_id FROM receipt
         WHERE rail = $1 AND transaction_id = $2 AND business_id <> $3 AND amount_minor = $4 AND currency = $5
           AND outcome NOT IN ('suspense', 'decided')
         UNION ALL
        SELECT business_id FROM collection
         WHERE rail = $1 AND transaction_id = $2 AND business_id <> $3 AND source_minor = $4 AND source_currency = $5
         LIMIT 1
        """,
        receipt.rail, receipt.transaction_id, receipt.business_id, receipt.amount.minor, receipt.amount.currency,
    )  # fmt: skip
    return found


async def lock(tx: Tx, found: SuspenseReceipt) -> SuspenseReceipt | None:
    """As it is now; None when it is in suspense no longer."""
    await tx.execute("SELECT lock_unclaimed($1, $2)", found.business_id, found.id)
    row = await tx.fetchrow(
        "SELECT * FROM receipt WHERE outcome = 'suspense' AND business_id = $1 AND id = $2",
        found.business_id, found.id,
    )  # fmt: skip
    return _receipt(row) if row else None


async def is_taken_back(tx: Tx, receipt: SuspenseReceipt) -> bool:
    """Whether the bank has reported so, even if that is not booked yet."""
    found = await tx.fetchval(
        """
        SELECT EXISTS (SELECT FROM credit_reversal
                        WHERE rail = $1 AND account_number = $2 AND transaction_id = $3)
        """,
        receipt.rail, receipt.account_number or "", receipt.transaction_id,
    )  # fmt: skip
    return found is True


async def find_dispute(tx: Tx, receipt: SuspenseReceipt) -> str | None:
    """The id of one that is open or lost: the bank decides about this money, or has decided."""
    found: str | None = await tx.fetchval(
        """
        SELECT id FROM dispute
         WHERE business_id = $1 AND rail = $2 AND transaction_id = $3 AND status IN ('open', 'lost') LIMIT 1
        """,
        receipt.business_id, receipt.rail, receipt.transaction_id,
    )  # fmt: skip
    return found


async def find_decision(tx: Tx, receipt_id: int) -> SuspenseDecision | None:
    row = await tx.fetchrow("SELECT * FROM suspense_decision WHERE receipt_id = $1", receipt_id)
    if row is None:
        return None
    return SuspenseDecision(
        receipt_id=row["receipt_id"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        decision=row["decision"],
        given_to=row["given_to"],
        subject=row["subject"],
        note=row["note"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        business_id=row["business_id"],
        rail=row["rail"],
        notification_id=row["notification_id"],
    )


async def find_decided(tx: Tx, decision: SuspenseDecision) -> DecidedTransfer | None:
    """From where the money is now: what was returned or closed, or its owner's receipt or inflow."""
    row = await tx.fetchrow(
        """
        WITH decided AS (SELECT * FROM suspense_decision WHERE business_id = $1 AND receipt_id = $2)
        SELECT payer ->> 'name' AS payer, notified ->> 'remittance' AS narration FROM receipt
         WHERE business_id = $1 AND id = $2
         UNION ALL
        SELECT receipt.payer ->> 'name', NULL FROM decided
          JOIN receipt ON receipt.business_id = decided.given_to AND receipt.rail = decided.rail
                          AND receipt.transaction_id = decided.transaction_id
         UNION ALL
        SELECT collection.payer ->> 'name', collection.remittance FROM decided
          JOIN collection ON collection.business_id = decided.given_to AND collection.rail = decided.rail
                             AND collection.transaction_id = decided.transaction_id
         LIMIT 1
        """,
        decision.business_id, decision.receipt_id,
    )  # fmt: skip
    return DecidedTransfer(payer=row["payer"], narration=row["narration"]) if row else None


async def list_waiting(
    tx: Tx, receipt: SuspenseReceipt, *, since: datetime, read: int, limit: int
) -> list[TransferCandidate]:
    """Of the `read` newest transfers of this amount that were begun by this rail, those that are not paid."""
    rows = await tx.fetch(
        """
        SELECT DISTINCT ON (begun.created_at, payment.business_id, payment.id)
               payment.business_id, business.name AS business, pay_code, payment.reference, payment.currency,
               payment.expected_minor, payment.status, begun.account_number, false AS is_named
          FROM (SELECT business_id, payment_id, account_number, created_at FROM attempt
                 WHERE rail = $1 AND expected_minor = $2 AND account_number IS NOT NULL AND status <> 'succeeded'
                   AND created_at >= $3 AND created_at <= time_of(business_id, $4)
                 ORDER BY created_at DESC LIMIT $6) AS begun
          JOIN payment ON payment.business_id = begun.business_id AND payment.id = begun.payment_id
          JOIN business ON business.id = begun.business_id
         WHERE payment.currency = $5 AND payment.status <> 'success'
         ORDER BY begun.created_at DESC, payment.business_id, payment.id LIMIT $7
        """,
        receipt.rail, receipt.amount.minor, since, receipt.received_at, receipt.amount.currency, read, limit,
    )  # fmt: skip
    return [_candidate(row) for row in rows]


async def list_of_pay_codes(tx: Tx, pay_codes: Sequence[str], *, limit: int) -> list[TransferCandidate]:
    """A pay code names its business."""
    rows = await tx.fetch(
        """
        SELECT payment.business_id, business.name AS business, payment.pay_code, reference, currency, expected_minor,
               payment.status, NULL AS account_number, true AS is_named
          FROM unnest($1::text[], $2::text[]) AS named (code, pay_code)
          JOIN business ON business.code = named.code
          JOIN payment ON payment.business_id = business.id AND payment.pay_code = named.pay_code
         ORDER BY payment.created_at DESC LIMIT $3
        """,
        [business_code_of(one) for one in pay_codes], list(pay_codes), limit,
    )  # fmt: skip
    return [_candidate(row) for row in rows]


async def list_of_references(tx: Tx, references: Sequence[str], *, limit: int) -> list[TransferCandidate]:
    """By merchant reference. Each business is searched by its own index keys, so this costs more the more there are."""
    rows = await tx.fetch(
        """
        SELECT found.business_id, business.name AS business, pay_code, reference, currency, expected_minor,
               found.status, NULL AS account_number, true AS is_named
          FROM business CROSS JOIN LATERAL (
               SELECT business_id, pay_code, reference, currency, expected_minor, status, created_at FROM payment
                WHERE business_id = business.id AND reference = ANY ($1)) AS found
         ORDER BY found.created_at DESC LIMIT $2
        """,
        list(references), limit,
    )  # fmt: skip
    return [_candidate(row) for row in rows]


def _candidate(row: Row) -> TransferCandidate:
    return TransferCandidate(
        business_id=row["business_id"],
        business=row["business"],
        pay_code=row["pay_code"],
        merchant_reference=row["reference"],
        expected=Money(row["expected_minor"], Currency(row["currency"])),
        status=row["status"],
        # Of an account that payments share.
        code=(row["account_number"] or "").partition("/")[2] or None,
        is_named=row["is_named"],
    )


async def decide(
    tx: Tx, receipt: SuspenseReceipt, decision: SuspenseDecision, journal: Journal, *, return_reason: str | None = None
) -> None:
    """Raises StaleChange when it is not in suspense any more."""
    await tx.execute(
        """
        INSERT INTO suspense_decision (business_id, receipt_id, rail, transaction_id, account_number, currency,
                                       amount_minor, decision, given_to, subject, note, decided_by, decided_at,
                                       notification_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        """,
        receipt.business_id, receipt.id, receipt.rail, receipt.transaction_id, receipt.account_number,
        receipt.amount.currency, receipt.amount.minor, decision.decision, decision.given_to, decision.subject,
        decision.note, decision.decided_by, decision.decided_at, receipt.notification_id,
    )  # fmt: skip
    given: dict[str, Any] = {"decision": decision, "journal": journal.columns()._asdict()}
    if return_reason is not None:
        given["return"] = {"reason": return_reason}
    with naming({"TG001": StaleChange}):
        await tx.fetchval(
            "SELECT decide_unclaimed($1, $2, $3)",
            receipt.business_id, msgspec.json.encode(given).decode(), decision.decided_at,
        )  # fmt: skip


async def find_pay_code(tx: Tx, business_id: str, reference: str) -> str | None:
    """Of a payment, by its pay code or merchant reference."""
    found: str | None = await tx.fetchval(
        """
        SELECT pay_code FROM payment WHERE business_id = $1 AND (pay_code = $2 OR reference = $2)
         ORDER BY pay_code = $2 DESC LIMIT 1
        """,
        business_id, reference,
    )  # fmt: skip
    return found


async def get_ahead(tx: Tx, business_id: str, now: datetime) -> timedelta:
    """How far the time of the business is ahead of the real one."""
    ahead: timedelta = await tx.fetchval("SELECT time_of($1, $2) - $2", business_id, now)
    return ahead


async def find_payment(tx: Tx, business_id: str, pay_code: str, receipt: SuspenseReceipt) -> PaymentSnapshot | None:
    """With its newest attempt by the receipt's rail, if there is one; of a transfer, an attempt with an account."""
    row = await tx.fetchrow(
        """
        SELECT payment_row(payment) AS payment, attempt, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = $1 AND ended_at IS NULL) AS rules
          FROM payment
          JOIN business ON business.id = payment.business_id
          LEFT JOIN LATERAL (
               SELECT attempt FROM attempt
                WHERE attempt.business_id = $1 AND attempt.payment_id = payment.id
                  AND attempt.rail = $3 AND (NOT $4 OR attempt.account_number IS NOT NULL)
                ORDER BY number DESC LIMIT 1) AS newest ON true
         WHERE payment.business_id = $1 AND payment.pay_code = $2
        """,
        business_id, pay_code, receipt.rail, receipt.transfer is not None,
    )  # fmt: skip
    return snapshot_of(row) if row else None


def _receipt(row: Row) -> SuspenseReceipt:
    return SuspenseReceipt(
        business_id=row["business_id"],
        id=row["id"],
        received_at=row["created_at"],
        amount=Money(row["amount_minor"], Currency(row["currency"])),
        account_number=row["account_number"],
        reason=row["reason"] or "",
        rail=row["rail"],
        transaction_id=row["transaction_id"],
        payer=msgspec.json.decode(row["payer"]),
        transfer=_transfers.decode(row["notified"]) if row["notified"] else None,
        notification_id=row["notification_id"],
    )
