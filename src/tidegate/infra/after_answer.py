"""Work that is done after its request was answered, so that its length is not seen in the answer's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

WAITING_MAX = 100
# The answer is sent meanwhile, and the next request of the same client is not yet there.
PAUSE_S = 0.05
log = structlog.get_logger("http")


@dataclass(frozen=True)
class AfterAnswer:
    """Lost when the process ends before: only for what a person can ask for again."""

    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def add(self, work: Callable[[], Awaitable[None]]) -> None:
        """When too much waits already, until some of it is done."""
        while len(self._tasks) >= WAITING_MAX:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(_do(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _do(work: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(PAUSE_S)
    try:
        await work()
    except Exception:
        log.exception("work after an answer failed")
