"""SQL of money in suspense, and of what operators decide about it."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, StaleChange, Tx, naming
from tidegate.intake.model import SuspenseDecision, SuspenseReceipt
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
    row = await tx.fetchrow("SELECT * FROM receipt WHERE outcome = 'suspense' AND id = $1", receipt_id)
    return _receipt(row) if row else None


async def lock(tx: Tx, receipt_id: int) -> SuspenseReceipt | None:
    """As it is now; None when it is not in suspense, or no longer. Numbers of receipts are unique over businesses."""
    found = await find_open(tx, receipt_id)
    if found is None:
        return None
    await tx.execute("SELECT lock_unclaimed($1, $2)", found.business_id, receipt_id)
    row = await tx.fetchrow(
        "SELECT * FROM receipt WHERE outcome = 'suspense' AND business_id = $1 AND id = $2",
        found.business_id, receipt_id,
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
    )


async def decide(
    tx: Tx, receipt: SuspenseReceipt, decision: SuspenseDecision, journal: Journal, *, return_reason: str | None = None
) -> None:
    """Raises StaleChange when it is not in suspense any more."""
    await tx.execute(
        """
        INSERT INTO suspense_decision (business_id, receipt_id, rail, transaction_id, account_number, currency,
                                       amount_minor, decision, given_to, subject, note, decided_by, decided_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        """,
        receipt.business_id, receipt.id, receipt.rail, receipt.transaction_id, receipt.account_number,
        receipt.amount.currency, receipt.amount.minor, decision.decision, decision.given_to, decision.subject,
        decision.note, decision.decided_by, decision.decided_at,
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
                WHERE attempt.business_id = payment.business_id AND attempt.payment_id = payment.id
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
    )
