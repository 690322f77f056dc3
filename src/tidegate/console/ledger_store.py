"""SQL of entries over all businesses, and of the heads of their chains."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx
from tidegate.ledger.model import JournalKind


class LedgerLine(NamedTuple):
    business_id: str
    business: str
    journal_id: int
    kind: JournalKind
    cause: str
    amount: Money
    event_at: datetime
    position: int | None


async def list_entries(
    tx: Tx, *, account: str, currency: str, before: int | None, limit: int, business_id: str | None = None
) -> list[LedgerLine]:
    """Of one merchant, or of all; the newest first."""
    rows = await tx.fetch(
        """
        SELECT entry.business_id, business.name AS business, entry.journal_id, journal.kind, journal.cause,
               entry.amount_minor, journal.event_at, link.position
          FROM entry
          JOIN journal ON journal.business_id = entry.business_id AND journal.id = entry.journal_id
          JOIN business ON business.id = entry.business_id
          LEFT JOIN journal_link AS link
            ON link.business_id = entry.business_id AND link.journal_id = entry.journal_id
         WHERE entry.account = $1 AND entry.currency = $2 AND ($3::bigint IS NULL OR entry.journal_id < $3)
           AND ($5::text IS NULL OR entry.business_id = $5)
         ORDER BY entry.journal_id DESC LIMIT $4
        """,
        account, currency, before, limit, business_id,
    )  # fmt: skip
    return [
        LedgerLine(
            row["business_id"], row["business"], row["journal_id"], JournalKind(row["kind"]), row["cause"],
            Money(row["amount_minor"], Currency(currency)), row["event_at"], row["position"],
        )
        for row in rows
    ]  # fmt: skip


async def list_heads(tx: Tx, *, limit: int) -> list[tuple[str, str, int, str]]:
    """Business, name, length of its chain, and its head."""
    rows = await tx.fetch(
        """
        SELECT business.id, business.name, head.length AS position, encode(head.hash, 'hex') AS hash
          FROM business CROSS JOIN LATERAL head_of_journals(business.id) AS head
         WHERE head.length IS NOT NULL ORDER BY head.length DESC, business.id LIMIT $1
        """,
        limit,
    )
    return [(row["id"], row["name"], row["position"], row["hash"]) for row in rows]
