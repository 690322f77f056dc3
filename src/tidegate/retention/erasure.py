"""An erasure that two of the staff agree on: counted by the worker, approved, then erased by the worker."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from tidegate.audit.model import Actor
from tidegate.core.clock import Clock, SystemClock
from tidegate.core.errors import Conflict
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Database, Tx
from tidegate.infra.leased_work import RoundResult
from tidegate.rail.deps import PaymentDeps
from tidegate.retention import erase
from tidegate.retention import erasure_store as store
from tidegate.retention.erase import LEFT, Eraser, FoundData, PayerIdentity, new_id
from tidegate.retention.erasure_store import Erasure, FoundRows

COMMAND = "payer.erase"
# Another worker begins again where one was killed: erasing twice does no more than once.
LEASE = timedelta(minutes=15)
CLAIMS_MAX = 10


async def ask(tx: Tx, who: PayerIdentity, only_of: str | None, *, now: datetime) -> str:
    """In the transaction of the proposal, without which it ends at once."""
    erasure_id = new_id()
    await store.insert(tx, erasure_id, emails=who.emails, phones=who.phones, only_of=only_of, now=now)
    return erasure_id


async def version_of(tx: Tx, _business_id: str, erasure_id: str) -> int | None:
    found = await store.find(tx, erasure_id)
    return 1 if found is not None and found.ended_at is None else None


async def approve(tx: Tx, erasure_id: str, *, by: Actor) -> None:
    if not await store.approve(tx, erasure_id, by.actor):
        raise Conflict("what would be erased is still being counted; look again in a minute, while a worker runs")


async def work_due(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: counts one, or erases what one is about."""
    now, db = SystemClock().now(), deps.db
    await _forget_refused(db, now)
    claimed = await _claim(db, now)
    if claimed is None:
        return RoundResult()
    found = await erase.find(db, _who(claimed), claimed.only_of)
    if claimed.approved_by is None:
        async with db.transaction() as tx:
            await store.note_found(tx, claimed.id, FoundRows(rows=found.counts(), left=left_of(found)))
    else:
        await _erase(db, clock, claimed, found, Actor(claimed.approved_by))
    return RoundResult(done=1)


async def _forget_refused(db: Database, now: datetime) -> None:
    """Declined, taken back, or lapsed."""
    async with db.transaction() as tx:
        undecided = await store.list_undecided(tx)
        if undecided:
            proposed = await store.list_proposed(tx, PLATFORM_BUSINESS_ID, COMMAND, undecided, now=now)
            await store.forget(tx, sorted(set(undecided) - proposed), now=now)


async def _claim(db: Database, now: datetime) -> Erasure | None:
    async with db.transaction() as tx:
        for erasure_id in await store.list_due(tx, now, limit=CLAIMS_MAX):
            if await store.claim(tx, erasure_id, now=now, until=now + LEASE):
                return await store.find(tx, erasure_id)
    return None


async def _erase(db: Database, clock: Clock, claimed: Erasure, found: FoundData, by: Actor) -> None:
    async def note(tx: Tx, kind: str, count: int) -> None:
        await store.add_erased(tx, claimed.id, kind, count)

    await Eraser(db, clock, _who(claimed), id=claimed.id, by=by, note=note).erase(found)
    async with db.transaction() as tx:
        await store.end(tx, claimed.id, left=left_of(found), now=SystemClock().now())


def left_of(found: FoundData) -> dict[str, int]:
    counted = Counter(found.block_reasons)
    return {why: counted[why] for why in LEFT}


def _who(asked: Erasure) -> PayerIdentity:
    return PayerIdentity(emails=asked.emails or (), phones=asked.phones or ())
