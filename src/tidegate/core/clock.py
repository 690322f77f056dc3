"""The only place that reads a clock. Everything else is told the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class ShiftedClock:
    """The system's clock, moved ahead. The sandbox's: one shift moves everything together."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class SettableClock:
    """Stands still until it is moved."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by


# For measuring and limiting, shared by all processes of a machine; never for telling the time.
monotonic_s = time.monotonic
