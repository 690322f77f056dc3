"""Checks of the database. Each list is empty when all is well."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Tx

FINDINGS_MAX = 10


async def get_server(tx: Tx) -> dict[str, str]:
    row = await tx.fetchrow(
        """
        SELECT current_setting('server_version_num') AS version,
               current_setting('server_version') AS version_text,
               current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
               current_setting('full_page_writes') AS full_page_writes,
               current_setting('data_checksums') AS data_checksums, current_user AS role
        """
    )
    assert row is not None
    return dict(row)


async def find_newest_change(tx: Tx) -> datetime | None:
    """None for a database without any. Reads all journals and events."""
    newest: datetime | None = await tx.fetchval(
        """
        SELECT greatest((SELECT max(created_at) FROM journal), (SELECT max(created_at) FROM event),
                        (SELECT max(created_at) FROM payment), pg_last_xact_replay_timestamp())
        """
    )
    return newest


async def get_time(tx: Tx) -> datetime:
    moment: datetime = await tx.fetchval("SELECT clock_timestamp()")
    return moment


async def list_payments_with_foreign_pay_code(tx: Tx) -> list[str]:
    """A reference shaped like a pay code must be the payment's own pay code."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || id AS payment FROM payment
         WHERE reference ~ '^tg_[0-9A-Za-z]{5}_[0-9A-Za-z]{22}$' AND reference <> pay_code
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["payment"] for row in rows]


async def list_payments_with_wrong_expectation(tx: Tx) -> list[str]:
    """A customer never pays a fee that the business bears."""
    rows = await tx.fetch(
        """
        SELECT business_id || '/' || id AS payment FROM payment
         WHERE fee_bearer = 'business' AND expected_minor <> asked_minor
         LIMIT $1
        """,
        FINDINGS_MAX,
    )
    return [row["payment"] for row in rows]


async def list_businesses_without_key(tx: Tx, now: datetime) -> list[str]:
    rows = await tx.fetch(
        """
        SELECT id FROM business
         WHERE status = 'active' AND NOT EXISTS (
            SELECT FROM credential
             WHERE business_id = business.id AND kind = 'secret' AND revoked_at IS NULL
               AND (expires_at IS NULL OR expires_at > time_of(business.id, $1)))
         LIMIT $2
        """,
        now,
        FINDINGS_MAX,
    )
    return [row["id"] for row in rows]


async def list_businesses_with_wrong_cards(tx: Tx) -> list[str]:
    """Whether a business takes cards is kept with it, so that no payment looks for a pause."""
    # Two statements: on a cluster the pauses are spread over the nodes, and businesses are on each.
    paused = {
        row["business_id"] for row in await tx.fetch("SELECT business_id FROM card_pause WHERE lifted_at IS NULL")
    }
    without = {row["id"] for row in await tx.fetch("SELECT id FROM business WHERE NOT takes_cards")}
    return sorted(paused ^ without)[:FINDINGS_MAX]
