"""SQL of erasures that the staff have asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from tidegate.infra.db import Row, Tx


class FoundRows(msgspec.Struct, frozen=True, kw_only=True):
    """How many can be erased now, by their kind; and how many stay for now, by why."""

    rows: dict[str, int]
    left: dict[str, int]


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    # None once it has ended.
    emails: tuple[str, ...] | None
    phones: tuple[str, ...] | None
    # None for all merchants.
    only_of: str | None
    asked_at: datetime
    # None until it was counted.
    found: FoundRows | None
    approved_by: str | None
    erased: dict[str, int]
    ended_at: datetime | None


async def insert(
    tx: Tx, erasure_id: str, *, emails: tuple[str, ...], phones: tuple[str, ...], only_of: str | None, now: datetime
) -> None:
    await tx.execute(
        "INSERT INTO erasure (id, emails, phones, only_of, asked_at) VALUES ($1, $2, $3, $4, $5)",
        erasure_id, list(emails), list(phones), only_of, now,
    )  # fmt: skip


async def find(tx: Tx, erasure_id: str) -> Erasure | None:
    rows = await tx.fetch(
        """
        SELECT id, emails, phones, only_of, asked_at, found::text, approved_by, erased::text, ended_at
          FROM erasure WHERE id = $1
        """,
        erasure_id,
    )
    return _erasure(rows[0]) if rows else None


async def list_newest(tx: Tx, *, limit: int) -> list[Erasure]:
    rows = await tx.fetch(
        """
        SELECT id, emails, phones, only_of, asked_at, found::text, approved_by, erased::text, ended_at
          FROM erasure ORDER BY asked_at DESC, id LIMIT $1
        """,
        limit,
    )
    return [_erasure(row) for row in rows]


async def list_due(tx: Tx, now: datetime, *, limit: int) -> list[str]:
    """To be counted, or to be erased; those that no worker is at, the oldest first."""
    rows = await tx.fetch(
        """
        SELECT id FROM erasure
         WHERE ended_at IS NULL AND (found IS NULL OR approved_by IS NOT NULL)
           AND (worked_until IS NULL OR worked_until <= $1)
         ORDER BY asked_at LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def claim(tx: Tx, erasure_id: str, *, now: datetime, until: datetime) -> bool:
    """False where another worker was first."""
    found: str | None = await tx.fetchval(
        """
        UPDATE erasure SET worked_until = $3
         WHERE id = $1 AND ended_at IS NULL AND (worked_until IS NULL OR worked_until <= $2)
        RETURNING id
        """,
        erasure_id, now, until,
    )  # fmt: skip
    return found is not None


async def note_found(tx: Tx, erasure_id: str, found: FoundRows) -> None:
    await tx.execute(
        "UPDATE erasure SET found = $2, worked_until = NULL WHERE id = $1 AND ended_at IS NULL",
        erasure_id, msgspec.json.encode(found).decode(),
    )  # fmt: skip


async def approve(tx: Tx, erasure_id: str, by: str) -> bool:
    """False where it was not counted yet, or has ended."""
    found: str | None = await tx.fetchval(
        """
        UPDATE erasure SET approved_by = $2
         WHERE id = $1 AND found IS NOT NULL AND approved_by IS NULL AND ended_at IS NULL
        RETURNING id
        """,
        erasure_id, by,
    )  # fmt: skip
    return found is not None


async def add_erased(tx: Tx, erasure_id: str, kind: str, count: int) -> None:
    await tx.execute(
        """
        UPDATE erasure
           SET erased = jsonb_set(erased, ARRAY[$2], to_jsonb(coalesce((erased ->> $2)::integer, 0) + $3::integer))
         WHERE id = $1
        """,
        erasure_id, kind, count,
    )  # fmt: skip


async def end(tx: Tx, erasure_id: str, *, left: Mapping[str, int], now: datetime) -> None:
    """What it was about is forgotten."""
    await tx.execute(
        """
        UPDATE erasure SET emails = NULL, phones = NULL, ended_at = $2, worked_until = NULL,
                           found = jsonb_set(found, '{left}', $3::jsonb)
         WHERE id = $1
        """,
        erasure_id, now, msgspec.json.encode(left).decode(),
    )  # fmt: skip


async def list_undecided(tx: Tx) -> list[str]:
    rows = await tx.fetch("SELECT id FROM erasure WHERE ended_at IS NULL AND approved_by IS NULL")
    return [row["id"] for row in rows]


async def list_proposed(tx: Tx, business_id: str, command: str, ids: Sequence[str], *, now: datetime) -> set[str]:
    """Those that one of the staff can still approve."""
    rows = await tx.fetch(
        """
        SELECT subject FROM approval
         WHERE business_id = $1 AND command = $2 AND subject = ANY ($3) AND status = 'open' AND expires_at > $4
        """,
        business_id, command, ids, now,
    )  # fmt: skip
    return {row["subject"] for row in rows}


async def forget(tx: Tx, ids: Sequence[str], *, now: datetime) -> None:
    """Of those that were not approved."""
    await tx.execute(
        """
        UPDATE erasure SET emails = NULL, phones = NULL, ended_at = $2, worked_until = NULL
         WHERE id = ANY ($1) AND ended_at IS NULL AND approved_by IS NULL
        """,
        ids, now,
    )  # fmt: skip


def _erasure(row: Row) -> Erasure:
    found = msgspec.json.decode(row["found"], type=FoundRows) if row["found"] else None
    return msgspec.convert({**row, "found": found, "erased": msgspec.json.decode(row["erased"])}, Erasure)
