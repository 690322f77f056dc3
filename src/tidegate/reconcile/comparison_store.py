"""SQL of the last comparison of each of the staff, and of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx


class ComparisonRow(NamedTuple):
    id: int
    made_at: datetime
    made_by: str
    report: bytes


async def put(tx: Tx, made_by: str, report: bytes, *, now: datetime) -> None:
    """In place of the earlier one."""
    await tx.execute(
        """
        INSERT INTO comparison (business_id, made_by, made_at, report) VALUES ($1, $2, $3, $4)
            ON CONFLICT ON CONSTRAINT comparison_pk DO UPDATE
           SET id = excluded.id, made_at = excluded.made_at, report = excluded.report
        """,
        PLATFORM_BUSINESS_ID, made_by, now, report,
    )  # fmt: skip


async def remove_older(tx: Tx, before: datetime) -> None:
    await tx.execute("DELETE FROM comparison WHERE business_id = $1 AND made_at < $2", PLATFORM_BUSINESS_ID, before)


async def find_newest(tx: Tx) -> ComparisonRow | None:
    """By any of the staff or the command line; it is kept until the next one."""
    row = await tx.fetchrow(
        "SELECT id, made_at, made_by, report FROM comparison WHERE business_id = $1 ORDER BY made_at DESC LIMIT 1",
        PLATFORM_BUSINESS_ID,
    )
    return ComparisonRow(**row) if row else None


async def find(tx: Tx, made_by: Sequence[str], *, since: datetime) -> ComparisonRow | None:
    """The newest of these."""
    row = await tx.fetchrow(
        """
        SELECT id, made_at, made_by, report FROM comparison
         WHERE business_id = $1 AND made_by = ANY ($2) AND made_at >= $3 ORDER BY made_at DESC LIMIT 1
        """,
        PLATFORM_BUSINESS_ID, made_by, since,
    )  # fmt: skip
    return ComparisonRow(**row) if row else None
