"""The audit trail as CSV, of any length: read in batches, the heads of the chains below."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime

from tidegate.audit import chain_store
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Database
from tidegate.infra.http import csv_text

BATCH = 1_000
COLUMNS = ("business", "id", "actor", "origin", "action", "subject", "details", "at", "writtenAt")


async def note(db: Database, *, by: Actor, now: datetime) -> None:
    """Before the first row leaves."""
    async with db.connection() as tx:
        await audit.insert(tx, PLATFORM_BUSINESS_ID, by, action="audit.exported", subject="audit", details={}, now=now)


async def rows(db: Database) -> AsyncGenerator[bytes, None]:
    """The newest first. No connection is held between batches."""
    before: tuple[datetime, int] | None = None
    while True:
        async with db.connection() as tx:
            found = await chain_store.list_trail(tx, chain_store.TrailFilter(), before=before, limit=BATCH)
        if not found:
            break
        before = found[-1].written_at, found[-1].id
        yield b"".join(csv_text.row(row) for row in found)
    after = ""
    while True:
        async with db.connection() as tx:
            heads = await chain_store.list_heads(tx, after=after, limit=BATCH)
        if not heads:
            break
        after = heads[-1].business_id
        yield b"".join(
            csv_text.row(("chain", one.business_id, one.length, one.hash.hex())) for one in heads if one.hash
        )
