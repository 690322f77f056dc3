"""Background loops: small, bounded rounds, each safe to run in any number of workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import Unavailable
from tidegate.idempotency import commands as idempotency
from tidegate.infra.db import Database
from tidegate.infra.telemetry import Meter

log = structlog.get_logger("worker")

# One round: does at most a batch and says how much it did.
Round = Callable[[Database, datetime], Awaitable[int]]


@dataclass(frozen=True)
class Loop:
    name: str
    round: Round
    every_s: float


async def _purge_idempotency_keys(db: Database, now: datetime) -> int:
    return await idempotency.purge(db, now=now)


LOOPS = (Loop("purge_idempotency_keys", _purge_idempotency_keys, every_s=60.0),)


async def run(db: Database, clock: Clock, meter: Meter, loops: tuple[Loop, ...] = LOOPS) -> None:
    """Until cancelled."""
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(_repeat(loop, db, clock, meter), name=loop.name)


async def _repeat(loop: Loop, db: Database, clock: Clock, meter: Meter) -> None:
    while True:
        done = await _one_round(loop, db, clock, meter)
        # A full batch means there is more; go on at once but let others have their turn.
        await asyncio.sleep(0 if done else loop.every_s)


async def _one_round(loop: Loop, db: Database, clock: Clock, meter: Meter) -> int:
    try:
        done = await loop.round(db, clock.now())
    except Unavailable:
        meter.count_failure(loop.name)
        log.warning("database away", loop=loop.name)
        return 0
    except Exception:
        # One broken row must not stop the loop for everybody; the next round tries again.
        meter.count_failure(loop.name)
        log.exception("round failed", loop=loop.name)
        return 0
    meter.count_work(loop.name, done)
    return done
