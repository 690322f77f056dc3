"""Keeps a process's clock up to date with each sandbox business's offset."""

from __future__ import annotations

import asyncio

from tidegate.core.clock import ShiftedClock
from tidegate.core.errors import Unavailable
from tidegate.infra.db import Database
from tidegate.sandbox import store

POLL_EVERY_S = 0.3


async def follow(db: Database, clock: ShiftedClock) -> None:
    while True:
        await catch_up(db, clock)
        await asyncio.sleep(POLL_EVERY_S)


async def catch_up(db: Database, clock: ShiftedClock) -> None:
    try:
        async with db.connection() as tx:
            aheads = await store.list_ahead(tx)
    except Unavailable:
        return
    for business_id, ahead in aheads:
        clock.learn(business_id, ahead)
