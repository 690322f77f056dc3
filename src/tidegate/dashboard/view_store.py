"""SQL of saved views of the list of payments."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.infra.db import Tx


class SavedView(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    # As they stand in the address.
    filters: dict[str, str]
    is_shared: bool
    is_own: bool


_decode = msgspec.json.Decoder(dict[str, str]).decode


async def list_seen(tx: Tx, business_id: str, person_id: str, *, limit: int) -> list[SavedView]:
    """One's own, and those that the team shares."""
    rows = await tx.fetch(
        """
        SELECT id, name, filters::text, is_shared, person_id = $2 AS is_own FROM saved_view
         WHERE business_id = $1 AND (person_id = $2 OR is_shared) ORDER BY id LIMIT $3
        """,
        business_id, person_id, limit,
    )  # fmt: skip
    return [
        SavedView(
            id=row["id"], name=row["name"], filters=_decode(row["filters"]), is_shared=row["is_shared"],
            is_own=row["is_own"],
        )
        for row in rows
    ]  # fmt: skip


async def insert(
    tx: Tx, business_id: str, person_id: str, name: str, filters: dict[str, str], *, is_shared: bool, now: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO saved_view (business_id, person_id, name, filters, is_shared, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        business_id, person_id, name, msgspec.json.encode(filters).decode(), is_shared, now,
    )  # fmt: skip


async def rename(tx: Tx, business_id: str, view_id: int, name: str) -> None:
    await tx.execute("UPDATE saved_view SET name = $3 WHERE business_id = $1 AND id = $2", business_id, view_id, name)


async def delete(tx: Tx, business_id: str, view_id: int) -> None:
    await tx.execute("DELETE FROM saved_view WHERE business_id = $1 AND id = $2", business_id, view_id)
