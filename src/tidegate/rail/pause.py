"""A rail that the operator has paused: no new payment goes by it, and refunds and returns wait.

What it notifies is still taken: money that has arrived is booked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict, NotFound, Unavailable
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.rail import pause_store as store

LOOK_EVERY_S = 2.0
# A paused rail is not asked; what waits for it is asked about so soon after the pause was lifted.
LOOK_WHILE_PAUSED = timedelta(minutes=1)


class PausedRails:
    """As this process knows them: at most a few seconds behind."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self._looks = asyncio.Lock()

    async def look(self, db: Database) -> None:
        # One at a time: what was read first must not be written last.
        async with self._looks, db.connection() as tx:
            self.names = frozenset(one.rail for one in await store.list_open(tx))

    async def follow(self, db: Database) -> None:
        while True:
            # While the database is away what was known last holds.
            with suppress(Unavailable):
                await self.look(db)
            await asyncio.sleep(LOOK_EVERY_S)


async def pause(db: Database, rail: str, reason: str, *, configured: Collection[str], by: Actor, now: datetime) -> None:
    """Stops money, so one person does it."""
    if rail not in configured:
        raise NotFound(f"there is no rail {rail}; there are {', '.join(configured)}")
    async with db.transaction() as tx:
        if not await store.insert(tx, rail, reason, by=by.actor, now=now):
            raise Conflict(f"the rail {rail} is paused already")
        await _note(tx, rail, by, "rail.paused", now, why=reason)


async def resume(db: Database, rail: str, *, by: Actor, now: datetime, also: InSameTransaction = nothing_else) -> None:
    async with db.transaction() as tx:
        await also(tx)
        if not await store.lift(tx, rail, by=by.actor, now=now):
            raise Conflict(f"the rail {rail} is not paused")
        await _note(tx, rail, by, "rail.resumed", now)


async def _note(tx: Tx, rail: str, by: Actor, action: str, now: datetime, **details: str) -> None:
    await audit.insert(tx, PLATFORM_BUSINESS_ID, by, action=action, subject=rail, details=details, now=now)
