"""Waiting: for races whose order a test decides, and for what comes about in the background."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

# Nothing takes so long, on however busy a machine.
LONGEST = 300
# Sessions that stand before a lock of another transaction; on a cluster, on whichever node it is.
_SESSIONS = "citus_stat_activity" if os.environ.get("TIDEGATE_TEST_CLUSTER") else "pg_stat_activity"
_WAITING = f"SELECT count(*) FROM {_SESSIONS} WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def until_waiting(admin: Any, count: int = 1, *, unless: asyncio.Task[Any] | None = None) -> None:
    """Until so many wait for a lock; or until the task that should wait has ended without."""
    async with asyncio.timeout(LONGEST):
        while await admin.fetchval(_WAITING) < count and not (unless and unless.done()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def until(is_so: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(LONGEST):
        while not await is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
