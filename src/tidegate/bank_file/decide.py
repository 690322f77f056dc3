"""Decisions on an entry that was not recorded by itself. `subject` is the file's id, a slash and its number there."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.bank_file import reversal_store, store
from tidegate.core.errors import Conflict, NotFound
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import InSameTransaction


def _no_entry(file_id: str, number: str) -> str:
    return f"no entry {number} of a file {file_id[:12]} needs a decision; `tidegate bank files` lists those that do"


async def settle(db: Database, subject: str, *, note: str, by: Actor, now: datetime, also: InSameTransaction) -> str:
    """It was seen to outside, and is not recorded here."""
    file_id, _, number = subject.partition("/")
    async with db.transaction() as tx:
        await also(tx)
        if not await store.settle_problem(tx, file_id, number, note=note):
            raise NotFound(_no_entry(file_id, number))
        await _audit(tx, by, "bank.settled", subject, note=note, now=now)
    return subject


async def record(db: Database, subject: str, *, note: str, by: Actor, now: datetime, also: InSameTransaction) -> str:
    """A credit is one of its own, whatever it looks like; a debit is judged again. The worker does it."""
    file_id, _, number = subject.partition("/")
    async with db.transaction() as tx:
        await also(tx)
        # A key that no other entry has.
        if not await store.release_problem(tx, file_id, number, key=f"entry/{file_id[:32]}/{number}", note=note):
            raise NotFound(_no_entry(file_id, number))
        await _audit(tx, by, "bank.recorded", subject, note=note, now=now)
    return subject


async def take_back(
    db: Database, subject: str, credit: str, *, note: str, by: Actor, now: datetime, also: InSameTransaction
) -> str:  # fmt: skip
    """The bank takes this credit back. The worker does it."""
    file_id, _, number = subject.partition("/")
    async with db.transaction() as tx:
        await also(tx)
        await reversal_store.lock_for_reversal(tx)
        entry = await store.find_problem_entry(tx, file_id, number)
        if entry is None:
            raise NotFound(_no_entry(file_id, number))
        if credit not in {one.key for one in await reversal_store.list_choices(tx, file_id, entry)}:
            raise Conflict(f"{credit} is no credit that entry {number} may take back; list the entries again")
        await reversal_store.take_back(tx, file_id, entry.number, key=credit)
        await store.release_problem(tx, file_id, number, key="", note=note)
        await _audit(tx, by, "bank.taken_back", subject, note=note, now=now, credit=credit)
    return subject


async def _audit(tx: Tx, by: Actor, action: str, subject: str, *, note: str, now: datetime, **more: str) -> None:
    await audit.insert(
        tx, PLATFORM_BUSINESS_ID, by, action=action, subject=subject, details={"why": note, **more}, now=now
    )
