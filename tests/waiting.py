"""Waiting until others wait: for races whose order a test decides."""

from __future__ import annotations

import asyncio
from typing import Any

# Sessions that stand before a lock of another transaction.
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def until_waiting(admin: Any, count: int = 1, *, unless: asyncio.Task[Any] | None = None) -> None:
    """Until so many wait for a lock; or until the task that should wait has ended without."""
    async with asyncio.timeout(60):
        while await admin.fetchval(_WAITING) < count and not (unless and unless.done()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
