"""The only module that reads a clock. Everywhere else the time is an argument."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The real time: for leases, signatures, and everything without a business."""
        ...

    def now_of(self, business_id: str) -> datetime:
        """The time of a business; in a sandbox it may be ahead of real time."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_of(self, business_id: str) -> datetime:
        return self.now()


class ShiftedClock:
    """For the sandbox: the system clock plus the offset of each business."""

    def __init__(self) -> None:
        self._ahead: dict[str, timedelta] = {}

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_of(self, business_id: str) -> datetime:
        return self.now() + self.ahead_of(business_id)

    def ahead_of(self, business_id: str) -> timedelta:
        return self._ahead.get(business_id, timedelta(0))

    def learn(self, business_id: str, ahead: timedelta) -> None:
        """An offset never decreases: a stale read changes nothing."""
        self._ahead[business_id] = max(ahead, self.ahead_of(business_id))


# For durations and limits, the same for all processes of a machine; not a time of day.
monotonic_s = time.monotonic
