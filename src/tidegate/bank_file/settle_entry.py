"""An entry that needs a decision is settled: it was seen to outside, and is not recorded here."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.bank_file import store
from tidegate.core.errors import NotFound
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.also import Also
from tidegate.infra.db import Database


async def settle(db: Database, subject: str, *, note: str, by: Actor, now: datetime, also: Also) -> str:
    """`subject` is the file's id, a slash and the entry's number."""
    file_id, _, number = subject.partition("/")
    async with db.transaction() as tx:
        await also(tx)
        if not await store.settle_problem(tx, file_id, number, note=note):
            raise NotFound(f"no entry {number} of a file {file_id[:12]} needs a decision")
        await audit.insert(
            tx, PLATFORM_BUSINESS_ID, by, action="bank.settled", subject=subject, details={"why": note}, now=now
        )
    return subject
