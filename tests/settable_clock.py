"""A clock that tests set."""

from __future__ import annotations

from datetime import datetime, timedelta


class SettableClock:
    """Changes only when it is set."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def now_of(self, business_id: str) -> datetime:
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by
