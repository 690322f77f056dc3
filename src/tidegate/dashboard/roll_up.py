"""The worker's part of Home: takings by hour, behind a watermark."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

from tidegate.core.clock import monotonic_s
from tidegate.dashboard import home_store
from tidegate.infra.db import Database
from tidegate.infra.leased_work import RoundResult

JOURNALS_AT_ONCE = 2_000
BUSINESSES_AT_ONCE = 50
# So long after its number was given, a journal is visible, or never will be.
SETTLED_S = 30.0


class PastReadings:
    """What a clock said some time ago, however it stood still or jumped meanwhile."""

    def __init__(self, ago_s: float) -> None:
        self._ago_s = ago_s
        self._readings: deque[tuple[float, datetime]] = deque()

    def add(self, moment: datetime, *, at_s: float) -> datetime | None:
        """The newest reading of so long ago; None where there is none yet. `at_s` never runs back."""
        self._readings.append((at_s, moment))
        while len(self._readings) > 1 and self._readings[1][0] <= at_s - self._ago_s:
            self._readings.popleft()
        read_at_s, found = self._readings[0]
        return found if read_at_s <= at_s - self._ago_s else None


class RollUp:
    """One round for each call. Two workers at once wait for each other at the watermark of a business."""

    def __init__(self, *, settled_s: float = SETTLED_S) -> None:
        self._settled = timedelta(seconds=settled_s)
        self._past = PastReadings(settled_s)

    async def __call__(self, db: Database) -> RoundResult:
        async with db.connection() as tx:
            # The clock that numbers journals: by another one, those still being booked could be old enough.
            moment = await home_store.database_time(tx)
            past = self._past.add(moment, at_s=monotonic_s())
            if past is None:
                return RoundResult(done=0)
            # A clock that was set back, or that of another primary, may be behind what it said then.
            before = min(past, moment - self._settled)
            behind = await home_store.list_behind(tx, before=before, limit=BUSINESSES_AT_ONCE)
        done = 0
        for business_id in behind:
            async with db.transaction() as tx:
                done += await home_store.roll_up(tx, business_id, before=before, limit=JOURNALS_AT_ONCE)
        return RoundResult(done=done)
