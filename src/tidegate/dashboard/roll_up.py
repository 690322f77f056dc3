"""The worker's part of Home: takings by hour, behind a watermark."""

from __future__ import annotations

from datetime import timedelta

from tidegate.dashboard import home_store
from tidegate.infra.db import Database
from tidegate.infra.leased_work import RoundResult

JOURNALS_AT_ONCE = 2_000
BUSINESSES_AT_ONCE = 50


async def roll_up(db: Database, *, settled_s: float = home_store.SETTLED_S) -> RoundResult:
    """One round. Two workers at once wait for each other at the watermark of a business."""
    done = 0
    async with db.connection() as tx:
        # The clock that numbers journals: by another one, those still being booked could be old enough.
        before = await home_store.database_time(tx) - timedelta(seconds=settled_s)
        behind = await home_store.list_behind(tx, before=before, limit=BUSINESSES_AT_ONCE)
    for business_id in behind:
        async with db.transaction() as tx:
            done += await home_store.roll_up(tx, business_id, before=before, limit=JOURNALS_AT_ONCE)
    return RoundResult(done=done)
