"""SQL of the audit of the books. Each list is empty when all is well."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Row, Tx

FINDINGS_MAX = 10


async def begin(tx: Tx) -> None:
    """First in a transaction: all queries see one snapshot, and may run longer than those of a request."""
    await tx.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    await tx.execute("SET LOCAL statement_timeout = '10min'")
    # These queries read whole tables: one hash join each, also where the statistics are old and say "one row".
    await tx.execute("SET LOCAL enable_nestloop = off")


async def list_unbalanced_journals(tx: Tx) -> list[str]:
    """A journal sums to zero in each currency, and has entries."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || journal_id || ' is off by ' || sum(amount_minor) || ' minor units of ' || currency
               AS name
          FROM entry GROUP BY business_id, journal_id, currency HAVING sum(amount_minor) <> 0
        UNION ALL
        SELECT business_id || '/' || id || ' has no entries' FROM journal
         WHERE NOT EXISTS (SELECT FROM entry WHERE entry.business_id = journal.business_id AND journal_id = journal.id)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return _names(rows)


async def list_unbalanced_currencies(tx: Tx) -> list[str]:
    """The whole ledger sums to zero in each currency."""
    rows = await tx.fetch(
        """
        SELECT currency || ' is off by ' || sum(amount_minor) || ' minor units' AS name
          FROM entry GROUP BY currency HAVING sum(amount_minor) <> 0 ORDER BY currency LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return _names(rows)


async def list_wrong_wallets(tx: Tx) -> list[str]:
    """A wallet's balance is the sum of its entries, its locked amount the sum of its refunds and disputes."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || currency || ' keeps ' || coalesce(balance_minor, 0) || ' and '
               || coalesce(locked_minor, 0) || ' locked, its entries say ' || coalesce(booked.balance, 0) || ' and '
               || coalesce(booked.locked, 0) AS name
          FROM wallet FULL JOIN (
            SELECT business_id, currency,
                   coalesce(sum(amount_minor) FILTER (WHERE account = 'wallet'), 0) AS balance,
                   coalesce(sum(amount_minor) FILTER (WHERE account IN ('refunds', 'disputes')), 0) AS locked
              FROM entry WHERE account IN ('wallet', 'refunds', 'disputes') GROUP BY business_id, currency
          ) AS booked USING (business_id, currency)
         WHERE coalesce(balance_minor, 0) <> coalesce(booked.balance, 0)
            OR coalesce(locked_minor, 0) <> coalesce(booked.locked, 0)
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return _names(rows)


async def list_wrong_running_balances(tx: Tx) -> list[str]:
    """The balance after an entry is the sum up to it; so the last one is the wallet's balance."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || journal_id || '/' || line || ' says '
               || coalesce(balance_after_minor::text, 'nothing') || ', the entries up to it ' || running AS name
          FROM (SELECT business_id, journal_id, line, balance_after_minor,
                       sum(amount_minor) OVER (PARTITION BY business_id, currency ORDER BY journal_id, line) AS running
                  FROM entry WHERE account = 'wallet') AS statement
         WHERE balance_after_minor IS DISTINCT FROM running
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return _names(rows)


async def list_overdrawn_wallets(tx: Tx) -> list[str]:
    """No wallet is below zero."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || currency || ' holds ' || balance_minor || ' and locks ' || locked_minor AS name
          FROM wallet WHERE balance_minor < 0 OR locked_minor < 0 LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return _names(rows)


async def list_unlinked_journals(tx: Tx, business_id: str, *, waiting_since: datetime) -> list[str]:
    """Journals that are missing from the chain: not queued for it, or queued for too long."""
    rows = await tx.fetch(
        """
        SELECT journal.business_id || '/' || id AS name FROM journal
          LEFT JOIN journal_to_link AS waiting ON waiting.business_id = journal.business_id AND waiting.journal_id = id
         WHERE journal.business_id = $1 AND (waiting.journal_id IS NULL OR created_at < $2) AND NOT EXISTS (
            SELECT FROM journal_link AS link WHERE link.business_id = $1 AND link.journal_id = journal.id)
         ORDER BY id LIMIT $3
        """,
        business_id,
        waiting_since,
        FINDINGS_MAX,
    )
    return _names(rows)


async def list_entries_without_journal(tx: Tx, business_id: str) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || journal_id || '/' || line AS name FROM entry
         WHERE business_id = $1 AND NOT EXISTS (
            SELECT FROM journal WHERE journal.business_id = $1 AND journal.id = entry.journal_id)
         ORDER BY journal_id, line LIMIT $2
        """,
        business_id,
        FINDINGS_MAX,
    )
    return _names(rows)


async def list_businesses(tx: Tx) -> list[str]:
    """Every business id in the books, also one without a business row."""
    rows = await tx.fetch(
        """
        SELECT business_id AS name FROM journal UNION SELECT business_id FROM entry
        UNION SELECT business_id FROM journal_link ORDER BY name
        """
    )
    return _names(rows)


async def list_sums(tx: Tx) -> list[Row]:
    return await tx.fetch(
        """
        SELECT currency, account, sum(amount_minor) AS minor FROM entry
         GROUP BY currency, account ORDER BY currency, account
        """
    )


def _names(rows: list[Row]) -> list[str]:
    return [row["name"] for row in rows]
