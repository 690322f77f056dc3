"""The only place that reads a clock. Everything else is told the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The real time: of leases, of signatures, and of what belongs to no business."""
        ...

    def now_of(self, business_id: str) -> datetime:
        """The time of a business, which in a sandbox may be ahead of the real one."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_of(self, business_id: str) -> datetime:
        return self.now()


class ShiftedClock:
    """The sandbox's: the system's clock, and how far each business has moved its own time ahead."""

    def __init__(self) -> None:
        self._ahead: dict[str, timedelta] = {}

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_of(self, business_id: str) -> datetime:
        return self.now() + self.ahead_of(business_id)

    def ahead_of(self, business_id: str) -> timedelta:
        return self._ahead.get(business_id, timedelta(0))

    def learn(self, business_id: str, ahead: timedelta) -> None:
        """What was read before is no reason to go back."""
        self._ahead[business_id] = max(ahead, self.ahead_of(business_id))


class SettableClock:
    """Stands still until it is moved."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def now_of(self, business_id: str) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by


# For measuring and limiting, shared by all processes of a machine; never for telling the time.
monotonic_s = time.monotonic
