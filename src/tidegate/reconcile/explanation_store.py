"""SQL of the notes that explain differences between a rail's statement and the books."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx
from tidegate.reconcile.model import BreakExplanation, DiscrepancyKind


class ExplainedBreak(NamedTuple):
    """Which difference of a rail: its kind, its transaction, and what both sides have."""

    kind: DiscrepancyKind
    transaction_id: str
    sides: str


class BreakNote(NamedTuple):
    rail: str
    about: ExplainedBreak
    explanation: BreakExplanation


async def put(tx: Tx, rail: str, about: ExplainedBreak, note: str, *, by: str, now: datetime) -> str | None:
    """In place of an earlier one, which is returned."""
    key = (PLATFORM_BUSINESS_ID, rail, about.kind.value, about.transaction_id, about.sides)
    # Two statements: on a cluster an INSERT has no subquery.
    earlier: str | None = await tx.fetchval(
        """
        SELECT note FROM break_note
         WHERE business_id = $1 AND rail = $2 AND kind = $3 AND transaction_id = $4 AND sides = $5
        """,
        *key,
    )
    await tx.execute(
        """
        INSERT INTO break_note (business_id, rail, kind, transaction_id, sides, note, noted_by, noted_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT ON CONSTRAINT break_note_pk DO UPDATE
           SET note = excluded.note, noted_by = excluded.noted_by, noted_at = excluded.noted_at
        """,
        *key, note, by, now,
    )  # fmt: skip
    return earlier


async def list_of(tx: Tx, rail: str, transaction_ids: Sequence[str]) -> dict[ExplainedBreak, BreakExplanation]:
    rows = await tx.fetch(
        """
        SELECT kind, transaction_id, sides, note, noted_by, noted_at FROM break_note
         WHERE business_id = $1 AND rail = $2 AND transaction_id = ANY ($3)
        """,
        PLATFORM_BUSINESS_ID, rail, transaction_ids,
    )  # fmt: skip
    return {
        ExplainedBreak(DiscrepancyKind(row["kind"]), row["transaction_id"], row["sides"]): BreakExplanation(
            row["note"], row["noted_by"], row["noted_at"]
        )
        for row in rows
    }


async def list_newest(tx: Tx, *, limit: int) -> list[BreakNote]:
    rows = await tx.fetch(
        """
        SELECT rail, kind, transaction_id, sides, note, noted_by, noted_at FROM break_note
         WHERE business_id = $1 ORDER BY noted_at DESC, transaction_id LIMIT $2
        """,
        PLATFORM_BUSINESS_ID, limit,
    )  # fmt: skip
    return [
        BreakNote(
            row["rail"], ExplainedBreak(DiscrepancyKind(row["kind"]), row["transaction_id"], row["sides"]),
            BreakExplanation(row["note"], row["noted_by"], row["noted_at"]),
        )
        for row in rows
    ]  # fmt: skip
