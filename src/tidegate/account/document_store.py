"""SQL of documents about account holders, kept encrypted."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Tx


class StoredDocument(NamedTuple):
    id: int
    name: str
    media_type: str
    added_by: str
    created_at: datetime


async def insert(
    tx: Tx, business_id: str, account_id: str, *, name: str, media_type: str, sealed: str, by: str, now: datetime
) -> int:
    document_id: int = await tx.fetchval(
        """
        INSERT INTO account_document (business_id, account_id, name, media_type, sealed, added_by, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id
        """,
        business_id, account_id, name, media_type, sealed, by, now,
    )  # fmt: skip
    return document_id


async def list_of(tx: Tx, business_id: str, account_id: str) -> list[StoredDocument]:
    rows = await tx.fetch(
        """
        SELECT id, name, media_type, added_by, created_at FROM account_document
         WHERE business_id = $1 AND account_id = $2 ORDER BY id
        """,
        business_id, account_id,
    )  # fmt: skip
    return [StoredDocument(**row) for row in rows]


async def find_sealed(tx: Tx, business_id: str, account_id: str, document_id: int) -> tuple[StoredDocument, str] | None:
    row = await tx.fetchrow(
        """
        SELECT id, name, media_type, added_by, created_at, sealed FROM account_document
         WHERE business_id = $1 AND account_id = $2 AND id = $3
        """,
        business_id, account_id, document_id,
    )  # fmt: skip
    if row is None:
        return None
    facts = {name: row[name] for name in StoredDocument._fields}
    return StoredDocument(**facts), row["sealed"]
