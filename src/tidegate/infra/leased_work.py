"""Background work, row by row: claimed under a lease; on failure retried with growing pauses, and at last parked.

A kind of work lists the keys of the rows that are due; each row is read and processed alone, so that a failure never
affects another row. Work that calls a rail holds no transaction during the call, and writes through `writing`.
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
from tidegate.core.errors import Conflict, Unavailable
from tidegate.infra import lease_store
from tidegate.infra.db import Database, Tx
from tidegate.infra.lease_store import Lease

BATCH = 50
# Per kind and process. Rails are slow, and their rows use no database connection while they wait.
AT_ONCE_MAX = 4
AT_ONCE_WITH_RAILS_MAX = 10
# Also the time limit of one row.
LEASE = timedelta(seconds=60)
PAUSE_MIN = timedelta(seconds=5)
PAUSE_MAX = timedelta(hours=1)
# With these pauses, about half a day after the first failure.
FAILURES_MAX = 20
ERROR_CHARS_MAX = 500
FORGOTTEN_AFTER = timedelta(days=1)

log = structlog.get_logger("work")


class DueRow(NamedTuple):
    """The key of a row that is due."""

    business_id: str
    id: str


class ListDue(Protocol):
    """Rows of a kind that are due and not held back by `leased_work`, the longest due first."""

    async def __call__(self, tx: Tx, now: datetime, *, limit: int) -> list[DueRow]: ...


# Processes one row and returns how much was done: 0 when the row was no longer due.
Work = Callable[[Lease, datetime], Awaitable[int]]


@dataclass(frozen=True)
class WorkKind:
    name: str
    list_due: ListDue
    at_once_max: int = AT_ONCE_MAX


class RoundResult(NamedTuple):
    """The result of a round."""

    done: int = 0
    failed: int = 0


class LeaseLost(Exception):
    """Another worker has claimed the row; nothing was written."""


def next_try_at(failures: int, *, now: datetime) -> datetime | None:
    """The time of the next try after that many failures; None to park the row."""
    if failures >= FAILURES_MAX:
        return None
    pause: timedelta = PAUSE_MIN * 2 ** (failures - 1)
    return now + min(pause, PAUSE_MAX)


async def run_round(db: Database, kind: WorkKind, work: Work, clock: Clock) -> RoundResult:
    """Claims a batch of due rows and processes each by itself. Any number of workers may run."""
    now = clock.now()
    lease_until = now + LEASE
    async with db.connection() as tx:
        due = await kind.list_due(tx, now, limit=BATCH)
        if not due:
            return RoundResult()
        token = secrets.token_hex(8)
        if db.is_cluster:
            found = [
                await lease_store.claim_one(tx, kind.name, key, token=token, now=now, lease_until=lease_until)
                for key in due
            ]
            claimed = [lease for lease in found if lease is not None]
        else:
            claimed = await lease_store.claim(tx, kind.name, due, token=token, now=now, lease_until=lease_until)
    place = {key: position for position, key in enumerate(due)}
    claimed.sort(key=lambda lease: place[DueRow(lease.business_id, lease.id)])
    slots = asyncio.Semaphore(kind.at_once_max)

    async def one(lease: Lease) -> RoundResult:
        async with slots:
            if clock.now() >= lease_until:
                return RoundResult()  # The lease expired while earlier rows ran; another worker may hold it.
            return await _work_on(db, lease, work, clock)

    tallies = await _all(one(lease) for lease in claimed)
    return RoundResult(sum(tally.done for tally in tallies), sum(tally.failed for tally in tallies))


async def _all(works: Iterable[Coroutine[Any, Any, RoundResult]]) -> list[RoundResult]:
    """Concurrently; no task outlives the round."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return [await task for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _work_on(db: Database, lease: Lease, work: Work, clock: Clock) -> RoundResult:
    try:
        async with asyncio.timeout(LEASE.total_seconds()):
            done = await work(lease, clock.now() + lease.ahead)
    except LeaseLost:
        return RoundResult()
    except Exception as error:
        await _fail(db, lease, error, clock.now())
        return RoundResult(failed=1)
    with suppress(Unavailable):  # The lease expires by itself.
        async with db.connection() as tx:
            await lease_store.release(tx, lease)
    return RoundResult(done=done)


async def _fail(db: Database, lease: Lease, error: Exception, now: datetime) -> None:
    failures = lease.failures + 1
    again_at = next_try_at(failures, now=now)
    # A repeated traceback adds nothing, and that of an outage of the database comes once for every row.
    is_new = (failures == 1 or again_at is None) and not isinstance(error, Unavailable)
    log.error(
        "work on a row failed", kind=lease.kind, business=lease.business_id, id=lease.id, failures=failures,
        is_parked=again_at is None, error=text_of(error), exc_info=error if is_new else None,
    )  # fmt: skip
    with suppress(Unavailable):  # The rest of the lease is the pause.
        async with db.connection() as tx:
            await lease_store.fail(tx, lease, text_of(error), next_try_at=again_at, now=now)


def text_of(error: Exception) -> str:
    """The error's type and message, without NUL, which PostgreSQL cannot store."""
    text = f"{type(error).__name__}: {error}".replace("\0", "\ufffd")
    return text.encode("utf-8", "replace").decode()[:ERROR_CHARS_MAX]


@asynccontextmanager
async def writing(db: Database, lease: Lease) -> AsyncIterator[Tx]:
    """A transaction that holds the lease. Raises LeaseLost."""
    async with db.transaction() as tx:
        if not await lease_store.lock(tx, lease):
            raise LeaseLost
        yield tx


@asynccontextmanager
async def instead_of_a_worker(tx: Tx, kind: WorkKind, business_id: str, id_: str) -> AsyncIterator[None]:
    """What a person does in this transaction, no worker does meanwhile. Raises Conflict."""
    lease = await lease_store.hold(tx, kind.name, (business_id, id_), token=secrets.token_hex(8))
    if lease is None:
        raise Conflict("the rail is being asked about it at this moment; try again in a minute")
    yield
    await lease_store.release(tx, lease)


async def purge(db: Database, *, now: datetime) -> int:
    """Deletes leases and failures of rows that are no longer due."""
    async with db.connection() as tx:
        return await lease_store.delete_forgotten(tx, now - FORGOTTEN_AFTER)
