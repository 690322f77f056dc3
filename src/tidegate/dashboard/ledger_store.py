"""SQL of one journal with its entries, and of the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx


class EntryLine(NamedTuple):
    account: str
    amount: Money
    balance: Money | None


class JournalView(NamedTuple):
    id: int
    kind: str
    cause: str
    created_at: datetime
    position: int | None
    lines: list[EntryLine]


class AuditLine(NamedTuple):
    id: int
    at: datetime
    who: str
    origin: str | None
    action: str
    subject: str
    # JSON.
    details: str


async def find_journal(tx: Tx, business_id: str, journal_id: int) -> JournalView | None:
    rows = await tx.fetch(
        """
        SELECT journal.id, kind, cause, created_at, link.position, account, currency, amount_minor, balance_after_minor
          FROM journal JOIN entry ON entry.business_id = $1 AND entry.journal_id = journal.id
          LEFT JOIN journal_link AS link ON link.business_id = $1 AND link.journal_id = journal.id
         WHERE journal.business_id = $1 AND journal.id = $2 ORDER BY line
        """,
        business_id, journal_id,
    )  # fmt: skip
    if not rows:
        return None
    first = rows[0]
    lines = []
    for row in rows:
        currency = Currency(row["currency"])
        after = row["balance_after_minor"]
        lines.append(
            EntryLine(
                row["account"], Money(row["amount_minor"], currency), None if after is None else Money(after, currency)
            )
        )
    return JournalView(first["id"], first["kind"], first["cause"], first["created_at"], first["position"], lines)


async def list_audit(
    tx: Tx, business_id: str, *, actor: str | None, before_id: int | None, limit: int
) -> list[AuditLine]:
    """The newest first; of one actor, where the rest is not for these eyes."""
    rows = await tx.fetch(
        """
        SELECT audit.id, audit.created_at, coalesce(person.name, audit.actor) AS who, origin, action, subject, details
          FROM audit LEFT JOIN person ON 'person/' || person.id = audit.actor
         WHERE audit.business_id = $1 AND ($2::text IS NULL OR audit.actor = $2)
           AND ($3::bigint IS NULL OR audit.id < $3)
         ORDER BY audit.id DESC LIMIT $4
        """,
        business_id, actor, before_id, limit,
    )  # fmt: skip
    return [
        AuditLine(
            row["id"], row["created_at"], row["who"], row["origin"], row["action"], row["subject"],
            row["details"],
        )
        for row in rows
    ]  # fmt: skip
