"""Background work, row by row: claimed under a lease, done by itself, and when it fails, paused and at last parked.

A kind of work says which rows are due, by keys only; each row is read and done alone, so what is wrong with one never
touches another. Work that talks to the outside holds no transaction meanwhile, and writes through `writing`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import Unavailable
from tidegate.infra import lease_store
from tidegate.infra.db import Database, Tx
from tidegate.infra.lease_store import Lease

BATCH = 50
# Of one kind in one process. Rails are slow, and their rows wait for nothing of ours meanwhile.
AT_ONCE_MAX = 4
AT_ONCE_WITH_RAILS_MAX = 10
# Also how long one row may take.
LEASE = timedelta(seconds=60)
PAUSE_MIN = timedelta(seconds=5)
PAUSE_MAX = timedelta(hours=1)
# With these pauses, about half a day after the first.
FAILURES_MAX = 20
ERROR_CHARS_MAX = 500
FORGOTTEN_AFTER = timedelta(days=1)

log = structlog.get_logger("work")


class Due(NamedTuple):
    """The key of a row that should be worked on."""

    business_id: str
    id: str


class ListDue(Protocol):
    """Rows of a kind that are due and that `leased_work` does not hold back, the longest due first."""

    async def __call__(self, tx: Tx, now: datetime, *, limit: int) -> list[Due]: ...


# Does the work on one row and says how much was done: 0 when it turned out that it was not due any more.
Work = Callable[[Lease, datetime], Awaitable[int]]


@dataclass(frozen=True)
class Kind:
    name: str
    list_due: ListDue
    at_once_max: int = AT_ONCE_MAX


class Tally(NamedTuple):
    """What came of a round."""

    done: int = 0
    failed: int = 0


class LeaseLost(Exception):
    """Somebody else has claimed the row meanwhile; nothing was written."""


def next_try_at(failures: int, *, now: datetime) -> datetime | None:
    """After that many failures. None: it is parked."""
    if failures >= FAILURES_MAX:
        return None
    pause: timedelta = PAUSE_MIN * 2 ** (failures - 1)
    return now + min(pause, PAUSE_MAX)


async def run_round(db: Database, kind: Kind, work: Work, clock: Clock) -> Tally:
    """Claims a batch of what is due and works on each row by itself. Any number of workers may run."""
    now = clock.now()
    lease_until = now + LEASE
    async with db.connection() as tx:
        due = await kind.list_due(tx, now, limit=BATCH)
        if not due:
            return Tally()
        token = secrets.token_hex(8)
        claimed = await lease_store.claim(tx, kind.name, due, token=token, now=now, lease_until=lease_until)
    place = {key: position for position, key in enumerate(due)}
    claimed.sort(key=lambda lease: place[Due(lease.business_id, lease.id)])
    slots = asyncio.Semaphore(kind.at_once_max)

    async def one(lease: Lease) -> Tally:
        async with slots:
            if clock.now() >= lease_until:
                return Tally()  # It waited too long for the rows before it; by now it may be somebody else's.
            return await _work_on(db, lease, work, clock)

    tallies = await _all(one(lease) for lease in claimed)
    return Tally(sum(tally.done for tally in tallies), sum(tally.failed for tally in tallies))


async def _all(works: Iterable[Coroutine[Any, Any, Tally]]) -> list[Tally]:
    """Side by side; none outlives the round."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return [await task for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _work_on(db: Database, lease: Lease, work: Work, clock: Clock) -> Tally:
    try:
        async with asyncio.timeout(LEASE.total_seconds()):
            done = await work(lease, clock.now() + lease.ahead)
    except LeaseLost:
        return Tally()
    except Exception as error:
        await _fail(db, lease, error, clock.now())
        return Tally(failed=1)
    with suppress(Unavailable):  # Then the lease runs out by itself.
        async with db.connection() as tx:
            await lease_store.release(tx, lease)
    return Tally(done=done)


async def _fail(db: Database, lease: Lease, error: Exception, now: datetime) -> None:
    failures = lease.failures + 1
    again_at = next_try_at(failures, now=now)
    log.error(
        "work on a row failed", kind=lease.kind, business=lease.business_id, id=lease.id, failures=failures,
        is_parked=again_at is None,
        # The same trace once more says nothing new.
        exc_info=error if failures == 1 or again_at is None else None,
    )  # fmt: skip
    with suppress(Unavailable):  # Then the lease is its pause.
        async with db.connection() as tx:
            await lease_store.fail(tx, lease, text_of(error), next_try_at=again_at, now=now)


def text_of(error: Exception) -> str:
    """Its kind and its words, as PostgreSQL can store them."""
    text = f"{type(error).__name__}: {error}".replace("\0", "\ufffd")
    return text.encode("utf-8", "replace").decode()[:ERROR_CHARS_MAX]


@asynccontextmanager
async def writing(db: Database, lease: Lease) -> AsyncIterator[Tx]:
    """A transaction in which the row stays ours. Raises LeaseLost."""
    async with db.transaction() as tx:
        if not await lease_store.lock(tx, lease):
            raise LeaseLost
        yield tx


async def purge(db: Database, *, now: datetime) -> int:
    """Leases and failures of rows that are not due any more, since something else has ended them."""
    async with db.connection() as tx:
        return await lease_store.delete_forgotten(tx, now - FORGOTTEN_AFTER)
