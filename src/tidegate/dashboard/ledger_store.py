"""SQL of journals with their entries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx
from tidegate.ledger.model import JournalKind


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
    # Of the payment that it is about.
    pay_code: str | None = None
    reference: str | None = None


async def find_journal(tx: Tx, business_id: str, journal_id: int) -> JournalView | None:
    rows = await tx.fetch(
        """
        SELECT journal.id, kind, cause, journal.created_at, link.position, account, entry.currency, amount_minor,
               balance_after_minor, paid.pay_code, paid.reference
          FROM journal JOIN entry ON entry.business_id = $1 AND entry.journal_id = journal.id
          LEFT JOIN journal_link AS link ON link.business_id = $1 AND link.journal_id = journal.id
          LEFT JOIN payment AS paid ON paid.business_id = $1 AND paid.id = payment_of(journal.cause)
         WHERE journal.business_id = $1 AND journal.id = $2 ORDER BY line
        """,
        business_id, journal_id,
    )  # fmt: skip
    if not rows:
        return None
    return _journal(rows)._replace(pay_code=rows[0]["pay_code"], reference=rows[0]["reference"])


class JournalLine(NamedTuple):
    id: int
    kind: str
    created_at: datetime


async def list_of_causes(tx: Tx, business_id: str, causes: Sequence[str]) -> list[JournalView]:
    """The journals of a few things, the oldest first. By kind, as their key begins."""
    rows = await tx.fetch(
        """
        SELECT journal.id, kind, cause, created_at, link.position, account, currency, amount_minor, balance_after_minor
          FROM journal JOIN entry ON entry.business_id = $1 AND entry.journal_id = journal.id
          LEFT JOIN journal_link AS link ON link.business_id = $1 AND link.journal_id = journal.id
         WHERE journal.business_id = $1 AND journal.kind = ANY ($3::text[]) AND journal.cause = ANY ($2::text[])
         ORDER BY journal.id, line
        """,
        business_id, list(causes), list(JournalKind),
    )  # fmt: skip
    return [_journal(list(entries)) for _, entries in groupby(rows, key=lambda row: row["id"])]


def _journal(rows: Sequence[Row]) -> JournalView:
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
