"""SQL of rows that leave after their time: a page of the oldest, and the functions that remove them.

A page is read by an index on age, from the position where the last one ended: rows that stay are passed over once,
not in every page. What may leave is decided by the functions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from tidegate.infra.db import Row, Tx


class OldRow(NamedTuple):
    """Its age, whose it is (a business, or the rail of a notification), and its key; also a position in the list."""

    at: datetime
    owner: str
    id: str


START = OldRow(datetime(1970, 1, 1, tzinfo=UTC), "", "")


async def list_notifications(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT received_at AS at, rail AS owner, id FROM notification
         WHERE state = 'done' AND received_at < $1
           AND received_at >= $2 AND (received_at, rail, id) > ($2, $3, $4)
         ORDER BY received_at, rail, id LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_notifications(tx: Tx, rail: str, ids: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_notifications($1, $2, $3)", rail, ids, before))


async def list_bank_files(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    """Those whose bytes are still kept."""
    rows = await tx.fetch(
        """
        SELECT received_at AS at, 'bankfiles' AS owner, id FROM bank_file
         WHERE received_at < $1 AND received_at >= $2 AND (received_at, 'bankfiles'::text, id) > ($2, $3, $4)
           AND EXISTS (SELECT FROM bank_file_part WHERE file_id = bank_file.id)
         ORDER BY received_at, id LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_bank_files(tx: Tx, rail: str, ids: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_bank_files($1, $2, $3)", rail, ids, before))


async def list_webhook_attempts(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    """By their deliveries."""
    rows = await tx.fetch(
        """
        SELECT started_at AS at, business_id AS owner, delivery_id::text AS id FROM webhook_attempt
         WHERE is_due(business_id, started_at, $1)
           AND started_at >= $2 AND (started_at, business_id, delivery_id::text) > ($2, $3, $4)
         ORDER BY started_at, business_id, delivery_id::text LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_webhook_attempts(tx: Tx, business_id: str, delivery_ids: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_webhook_attempts($1, $2, $3)", business_id, delivery_ids, before))


async def list_events(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT created_at AS at, business_id AS owner, id FROM event
         WHERE is_fanned_out AND is_due(business_id, created_at, $1)
           AND created_at >= $2 AND (created_at, business_id, id) > ($2, $3, $4)
         ORDER BY created_at, business_id, id LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_events(tx: Tx, business_id: str, ids: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_events($1, $2, $3)", business_id, ids, before))


async def list_idempotency_keys(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT created_at AS at, business_id AS owner, key AS id FROM idempotency_key
         WHERE is_due(business_id, created_at, $1)
           AND created_at >= $2 AND (created_at, business_id, key) > ($2, $3, $4)
         ORDER BY created_at, business_id, key LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_idempotency_keys(tx: Tx, business_id: str, keys: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_idempotency_keys($1, $2, $3)", business_id, keys, before))


async def list_mails(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT created_at AS at, business_id AS owner, mail.id::text AS id FROM mail
         WHERE status <> 'waiting' AND is_due(business_id, created_at, $1)
           AND created_at >= $2 AND (created_at, business_id, mail.id::text) > ($2, $3, $4)
         ORDER BY created_at, business_id, mail.id::text LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_mails(tx: Tx, business_id: str, ids: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_mails($1, $2, $3)", business_id, ids, before))


async def list_requests(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT created_at AS at, business_id AS owner, number::text AS id FROM request_log
         WHERE status < 400 AND created_at < $1
           AND created_at >= $2 AND (created_at, business_id, number::text) > ($2, $3, $4)
         ORDER BY created_at, business_id, number::text LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_requests(tx: Tx, business_id: str, numbers: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_requests($1, $2, $3)", business_id, numbers, before))


async def list_failed_requests(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT created_at AS at, business_id AS owner, number::text AS id FROM request_log
         WHERE status >= 400 AND created_at < $1
           AND created_at >= $2 AND (created_at, business_id, number::text) > ($2, $3, $4)
         ORDER BY created_at, business_id, number::text LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_failed_requests(tx: Tx, business_id: str, numbers: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_failed_requests($1, $2, $3)", business_id, numbers, before))


async def list_sandbox_notifications(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT created_at AS at, business_id AS owner, notification.id::text AS id
          FROM sandbox_notification AS notification
         WHERE sent_at IS NOT NULL AND is_due(business_id, created_at, $1)
           AND created_at >= $2 AND (created_at, business_id, notification.id::text) > ($2, $3, $4)
         ORDER BY created_at, business_id, notification.id::text LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_sandbox_notifications(tx: Tx, business_id: str, ids: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_sandbox_notifications($1, $2, $3)", business_id, ids, before))


async def list_sandbox_attempts(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT started_at AS at, business_id AS owner, reference AS id FROM sandbox_attempt
         WHERE is_due(business_id, started_at, $1)
           AND started_at >= $2 AND (started_at, business_id, reference) > ($2, $3, $4)
         ORDER BY started_at, business_id, reference LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_sandbox_attempts(tx: Tx, business_id: str, references: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_sandbox_attempts($1, $2, $3)", business_id, references, before))


async def list_sandbox_payouts(tx: Tx, before: datetime, after: OldRow, *, limit: int) -> list[OldRow]:
    rows = await tx.fetch(
        """
        SELECT created_at AS at, business_id AS owner, reference AS id FROM sandbox_payout
         WHERE is_due(business_id, created_at, $1)
           AND created_at >= $2 AND (created_at, business_id, reference) > ($2, $3, $4)
         ORDER BY created_at, business_id, reference LIMIT $5
        """,
        before, *after, limit,
    )  # fmt: skip
    return _old(rows)


async def remove_sandbox_payouts(tx: Tx, business_id: str, references: Sequence[str], before: datetime) -> int:
    return int(await tx.fetchval("SELECT remove_sandbox_payouts($1, $2, $3)", business_id, references, before))


async def end_day(tx: Tx, kind: str) -> None:
    """Writes the count of a day that is over to the audit trail."""
    await tx.execute("SELECT end_removal_day($1)", kind)


def _old(rows: list[Row]) -> list[OldRow]:
    return [OldRow(row["at"], row["owner"], row["id"]) for row in rows]
