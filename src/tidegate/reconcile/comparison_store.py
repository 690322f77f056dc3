"""SQL of the last comparison of each of the staff."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx


class ComparisonRow(NamedTuple):
    id: int
    made_at: datetime
    report: bytes


async def put(tx: Tx, person_id: str, report: bytes, *, now: datetime) -> None:
    """In place of the earlier one."""
    await tx.execute(
        """
        INSERT INTO comparison (business_id, person_id, made_at, report) VALUES ($1, $2, $3, $4)
            ON CONFLICT ON CONSTRAINT comparison_pk DO UPDATE
           SET id = excluded.id, made_at = excluded.made_at, report = excluded.report
        """,
        PLATFORM_BUSINESS_ID, person_id, now, report,
    )  # fmt: skip


async def remove_older(tx: Tx, before: datetime) -> None:
    await tx.execute("DELETE FROM comparison WHERE business_id = $1 AND made_at < $2", PLATFORM_BUSINESS_ID, before)


async def find_newest(tx: Tx) -> ComparisonRow | None:
    """Of anybody; it is kept until the next one."""
    row = await tx.fetchrow(
        "SELECT id, made_at, report FROM comparison WHERE business_id = $1 ORDER BY made_at DESC LIMIT 1",
        PLATFORM_BUSINESS_ID,
    )
    return ComparisonRow(**row) if row else None


async def find(tx: Tx, person_id: str, *, since: datetime) -> ComparisonRow | None:
    row = await tx.fetchrow(
        "SELECT id, made_at, report FROM comparison WHERE business_id = $1 AND person_id = $2 AND made_at >= $3",
        PLATFORM_BUSINESS_ID, person_id, since,
    )  # fmt: skip
    return ComparisonRow(**row) if row else None
