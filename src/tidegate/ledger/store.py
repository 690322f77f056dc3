"""SQL of posting, of wallets, and of the chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from operator import itemgetter

import asyncpg

from tidegate.core.errors import InsufficientBalance
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx, constraint_of
from tidegate.infra.leased_work import DueRow
from tidegate.ledger.model import ChainLink, Journal, PostedEntry, PostedJournal, Wallet


async def post(tx: Tx, business_id: str, journal: Journal, now: datetime) -> int | None:
    """One round trip. The journal's number, or None when its cause was posted before; then nothing is written."""
    with names_refusals():
        number: int | None = await tx.fetchval(
            "SELECT post_journal($1, $2, $3, $4, $5, $6, $7, $8)", business_id, *journal.columns(), now
        )
    return number


@contextmanager
def names_refusals() -> Iterator[None]:
    """Around every statement that calls post_journal."""
    try:
        yield
    except asyncpg.CheckViolationError as violation:
        if constraint_of(violation) != "wallet_is_never_below_zero":
            raise
        raise InsufficientBalance(
            "the wallet's balance is less than the amount; use less, or wait for more credits"
        ) from None


async def lock_balance(tx: Tx, business_id: str, currency: Currency) -> Money:
    """Of a wallet that stays as it is until the transaction ends."""
    return Money(await tx.fetchval("SELECT lock_balance($1, $2)", business_id, currency), currency)


async def list_wallets(tx: Tx, business_id: str) -> list[Wallet]:
    rows = await tx.fetch("SELECT * FROM wallet WHERE business_id = $1 ORDER BY currency", business_id)
    return [wallet_of(row) for row in rows]


# The kind of leased work. The statement below repeats the name.
EXTEND = "extend_chain"


async def list_businesses_to_link(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """The longest waiting first, so that no business starves. A business has one chain."""
    rows = await tx.fetch(
        """
        SELECT business_id FROM journal_to_link
         GROUP BY business_id HAVING NOT is_held_back(business_id, 'extend_chain', business_id, $1)
         ORDER BY min(journal_id) LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["business_id"]) for row in rows]


async def lock_chain(tx: Tx, business_id: str) -> bool:
    """False while another worker extends this chain. The lock ends with the transaction, also after a crash."""
    return bool(
        await tx.fetchval("SELECT pg_try_advisory_xact_lock(hashtextextended('journal_link/' || $1, 0))", business_id)
    )


async def find_head(tx: Tx, business_id: str) -> ChainLink | None:
    row = await tx.fetchrow(
        """
        SELECT position, journal_id, marks, hash FROM journal_link
         WHERE business_id = $1 ORDER BY position DESC LIMIT 1
        """,
        business_id,
    )
    return _link(row) if row else None


async def list_to_link(tx: Tx, business_id: str, *, limit: int) -> list[PostedJournal]:
    rows = await tx.fetch(
        """
        SELECT journal.*, entry.line, entry.account, entry.currency, entry.amount_minor, entry.balance_after_minor
          FROM (SELECT journal_id FROM journal_to_link
                 WHERE business_id = $1 ORDER BY journal_id LIMIT $2) AS waiting
          JOIN journal ON journal.business_id = $1 AND journal.id = waiting.journal_id
          JOIN entry ON entry.business_id = $1 AND entry.journal_id = waiting.journal_id
         ORDER BY journal.id, entry.line
        """,
        business_id,
        limit,
    )
    return [_journal(list(lines)) for _, lines in groupby(rows, key=itemgetter("id"))]


async def insert_links(tx: Tx, business_id: str, links: Sequence[ChainLink]) -> None:
    await tx.execute(
        """
        WITH done AS (DELETE FROM journal_to_link WHERE business_id = $1 AND journal_id = ANY ($3::bigint[]))
        INSERT INTO journal_link (business_id, position, journal_id, marks, hash)
        SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])
        """,
        business_id,
        [link.position for link in links],
        [link.journal_id for link in links],
        [link.marks for link in links],
        [link.hash for link in links],
    )


async def list_links(
    tx: Tx, business_id: str, *, after: int, limit: int
) -> list[tuple[ChainLink, PostedJournal | None]]:
    """Links in order, each with its journal as it is now; None for a missing journal."""
    rows = await tx.fetch(
        """
        SELECT link.position, link.journal_id, link.marks, link.hash,
               journal.*, entry.line, entry.account, entry.currency, entry.amount_minor, entry.balance_after_minor
          FROM (SELECT * FROM journal_link
                 WHERE business_id = $1 AND position > $2 ORDER BY position LIMIT $3) AS link
          LEFT JOIN journal ON journal.business_id = $1 AND journal.id = link.journal_id
          LEFT JOIN entry ON entry.business_id = $1 AND entry.journal_id = link.journal_id
         ORDER BY link.position, entry.line
        """,
        business_id,
        after,
        limit,
    )
    grouped = [list(lines) for _, lines in groupby(rows, key=itemgetter("position"))]
    return [(_link(lines[0]), _journal(lines) if lines[0]["id"] is not None else None) for lines in grouped]


def wallet_of(row: Row) -> Wallet:
    currency = Currency(row["currency"])
    return Wallet(
        business_id=row["business_id"],
        number=row["number"],
        balance=Money(row["balance_minor"], currency),
        locked=Money(row["locked_minor"], currency),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _link(row: Row) -> ChainLink:
    return ChainLink(row["position"], row["journal_id"], row["marks"], row["hash"])


def _journal(lines: list[Row]) -> PostedJournal:
    first = lines[0]
    return PostedJournal(
        business_id=first["business_id"],
        id=first["id"],
        kind=first["kind"],
        cause=first["cause"],
        event_at=first["event_at"],
        created_at=first["created_at"],
        entries=tuple(_entry(line) for line in lines if line["line"] is not None),
    )


def _entry(row: Row) -> PostedEntry:
    return PostedEntry(
        line=row["line"],
        account=row["account"],
        currency=row["currency"],
        amount_minor=row["amount_minor"],
        balance_after_minor=row["balance_after_minor"],
    )
