"""SQL of payments to the bank: proposed, approved, exported, and what the bank says about them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.rail.bankfiles.pain001 import OutgoingPayment

_STILL_TO_PAY = frozenset({"asked", "sent", "processing"})


class ProposedPayout(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    reference: str
    kind: str
    transaction_id: str
    account_number: str
    amount: Money
    end_to_end_id: str
    payee_name: str | None
    payee_account: str | None
    payee_bank: str | None
    remittance: str
    status: str
    bank_status: str | None
    reason: str | None
    proposed_by: str
    proposed_at: datetime
    approved_by: str | None
    export_id: str | None
    sent_as: str | None

    def outgoing(self) -> OutgoingPayment:
        return OutgoingPayment(
            end_to_end_id=self.end_to_end_id,
            amount=self.amount,
            payee_name=self.payee_name or "",
            payee_account=self.payee_account or "",
            payee_bank=self.payee_bank,
            remittance=self.remittance,
        )


class ExportedFile(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    content: bytes
    payment_count: int


async def list_payouts(tx: Tx, *, is_open: bool, limit: int) -> list[ProposedPayout]:
    """The oldest first; with `is_open`, those that have not ended."""
    rows = await tx.fetch(
        """
        SELECT * FROM bank_payout WHERE NOT $1 OR status IN ('proposed', 'approved', 'exported')
         ORDER BY proposed_at, business_id, reference LIMIT $2
        """,
        is_open, limit,
    )  # fmt: skip
    return [_payout(row) for row in rows]


async def find(tx: Tx, business_id: str, reference: str) -> ProposedPayout | None:
    row = await tx.fetchrow(
        "SELECT * FROM bank_payout WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return _payout(row) if row else None


async def lock(tx: Tx, reference: str) -> list[ProposedPayout]:
    """By our reference, which is random: of one business in practice."""
    rows = await tx.fetch("SELECT * FROM bank_payout WHERE reference = $1 FOR UPDATE", reference)
    return [_payout(row) for row in rows]


async def lock_approved(tx: Tx, account_number: str) -> list[ProposedPayout]:
    rows = await tx.fetch(
        """
        SELECT * FROM bank_payout WHERE status = 'approved' AND account_number = $1
         ORDER BY proposed_at, business_id, reference LIMIT 1000 FOR UPDATE
        """,
        account_number,
    )
    return [_payout(row) for row in rows]


async def why_not_to_pay(tx: Tx, payout: ProposedPayout) -> str | None:
    """None while it is to be paid; its return or refund does not end before the transaction does."""
    status = await _lock_cause(tx, payout)
    if status not in _STILL_TO_PAY:
        return "its return or refund has ended"
    if await tx.fetchval("SELECT true FROM bank_entry WHERE takes_back = $1", payout.transaction_id):
        return "the bank has taken back the credit that it would return"
    return None


async def _lock_cause(tx: Tx, payout: ProposedPayout) -> str | None:
    """The status of its return or refund. What locks both locks the payment first."""
    status: str | None
    if payout.kind == "return":
        status = await tx.fetchval(
            "SELECT status FROM money_return WHERE business_id = $1 AND reference = $2 FOR SHARE",
            payout.business_id, payout.reference,
        )  # fmt: skip
    else:
        status = await tx.fetchval(
            "SELECT status FROM refund_leg WHERE business_id = $1 AND reference = $2 FOR SHARE",
            payout.business_id, payout.reference,
        )  # fmt: skip
    return status


async def withdraw(tx: Tx, payout: ProposedPayout, *, why: str) -> None:
    """Its approval holds no longer."""
    await tx.execute(
        """
        UPDATE bank_payout SET status = 'proposed', approved_by = NULL, approved_at = NULL, reason = $3
         WHERE business_id = $1 AND reference = $2
        """,
        payout.business_id, payout.reference, why,
    )  # fmt: skip


async def amend(tx: Tx, payout: ProposedPayout, *, name: str, account: str, bank: str | None, by: str) -> None:
    await tx.execute(
        """
        UPDATE bank_payout SET payee_name = $3, payee_account = $4, payee_bank = $5, proposed_by = $6,
                               status = 'proposed', approved_by = NULL, approved_at = NULL
         WHERE business_id = $1 AND reference = $2
        """,
        payout.business_id, payout.reference, name, account, bank, by,
    )  # fmt: skip


async def approve(tx: Tx, payout: ProposedPayout, *, proposed_by: str, by: str, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE bank_payout SET status = 'approved', proposed_by = $3, approved_by = $4, approved_at = $5
         WHERE business_id = $1 AND reference = $2
        """,
        payout.business_id, payout.reference, proposed_by, by, now,
    )  # fmt: skip


async def refuse(tx: Tx, payout: ProposedPayout, *, why: str) -> None:
    await tx.execute(
        "UPDATE bank_payout SET status = 'rejected', reason = $3 WHERE business_id = $1 AND reference = $2",
        payout.business_id, payout.reference, why,
    )  # fmt: skip


async def insert_export(
    tx: Tx, export: ExportedFile, payouts: Sequence[ProposedPayout], *, account_number: str, by: str, now: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO bank_export (id, account_number, content, payment_count, made_by, made_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        export.id, account_number, export.content, export.payment_count, by, now,
    )  # fmt: skip
    await tx.execute(
        """
        UPDATE bank_payout SET status = 'exported', export_id = $1
          FROM unnest($2::text[], $3::text[]) AS given (business_id, reference)
         WHERE bank_payout.business_id = given.business_id AND bank_payout.reference = given.reference
        """,
        export.id, [one.business_id for one in payouts], [one.reference for one in payouts],
    )  # fmt: skip


async def list_unwritten(tx: Tx) -> list[str]:
    """Ids, the oldest first."""
    rows = await tx.fetch("SELECT id FROM bank_export WHERE written_at IS NULL ORDER BY made_at LIMIT 100")
    return [row["id"] for row in rows]


async def lock_unwritten(tx: Tx, export_id: str) -> ExportedFile | None:
    """None when another process has written it."""
    row = await tx.fetchrow(
        "SELECT id, content, payment_count FROM bank_export WHERE id = $1 AND written_at IS NULL FOR UPDATE", export_id
    )
    return ExportedFile(id=row["id"], content=row["content"], payment_count=row["payment_count"]) if row else None


async def mark_written(tx: Tx, export_id: str, *, now: datetime) -> None:
    await tx.execute("UPDATE bank_export SET written_at = $2 WHERE id = $1", export_id, now)


async def find_by_end_to_end_id(tx: Tx, end_to_end_id: str | None) -> ProposedPayout | None:
    row = await tx.fetchrow("SELECT * FROM bank_payout WHERE end_to_end_id = $1", end_to_end_id)
    return _payout(row) if row else None


async def list_of_export(tx: Tx, message_id: str) -> list[ProposedPayout]:
    rows = await tx.fetch("SELECT * FROM bank_payout WHERE export_id = $1 ORDER BY reference", message_id)
    return [_payout(row) for row in rows]


async def note_status(tx: Tx, payout: ProposedPayout, *, bank_status: str, why: str | None, is_rejected: bool) -> None:
    """One that has ended stays as it is."""
    await tx.execute(
        """
        UPDATE bank_payout
           SET bank_status = $3, reason = coalesce($4, reason), status = CASE WHEN $5 THEN 'rejected' ELSE status END
         WHERE business_id = $1 AND reference = $2 AND status = 'exported'
        """,
        payout.business_id, payout.reference, bank_status, why, is_rejected,
    )  # fmt: skip


async def mark_done(tx: Tx, payout: ProposedPayout, *, sent_as: str) -> bool:
    """Its debit is in a statement. False when it had ended."""
    done = await tx.fetchval(
        """
        UPDATE bank_payout SET status = 'done', sent_as = $3
         WHERE business_id = $1 AND reference = $2 AND status = 'exported'
        RETURNING true
        """,
        payout.business_id, payout.reference, sent_as,
    )  # fmt: skip
    return done is True


async def mark_made(tx: Tx, payout: ProposedPayout, *, sent_as: str) -> bool:
    """The bank had rejected it, and has paid it all the same; its return has not ended otherwise. False when it has, or
    is no return that was exported."""
    if payout.kind != "return" or await _lock_cause(tx, payout) != "failed":
        return False
    done = await tx.fetchval(
        """
        UPDATE bank_payout SET status = 'done', sent_as = $3
         WHERE business_id = $1 AND reference = $2 AND status = 'rejected' AND export_id IS NOT NULL
        RETURNING true
        """,
        payout.business_id, payout.reference, sent_as,
    )  # fmt: skip
    return done is True


def _payout(row: Row) -> ProposedPayout:
    given = {name: row[name] for name in ProposedPayout.__struct_fields__ if name != "amount"}
    return ProposedPayout(**given, amount=Money(row["amount_minor"], Currency(row["currency"])))
