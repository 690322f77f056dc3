"""Batches what waits at the same moment: one statement, one commit, and an outcome for each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Unavailable

One = TypeVar("One")
Outcome = TypeVar("Outcome")
# Start of the wait, item, and future of its outcome.
_Waiting = tuple[float, One, asyncio.Future[Outcome]]
# Batches in progress: while the database works on one, the next one fills.
CONCURRENCY = 2
BATCH_MAX = 64
# An item that has waited longer fails: the database is stuck, and the queue would only grow.
WAIT_S = 1.0
RETRY_AFTER_S = 1


class Batcher(Generic[One, Outcome]):
    """An item never waits for a batch to fill: alone it is sent alone; items gather only while batches are in progress.

    When a batch fails, each item is tried by itself, so that one item never fails another. The work must therefore be
    safe to repeat. A temporary failure (`Unavailable`) is reported to all items at once.
    """

    def __init__(
        self,
        do_all: Callable[[Sequence[One]], Awaitable[Sequence[Outcome]]],
        *,
        concurrency: int = CONCURRENCY,
        batch_max: int = BATCH_MAX,
        ticks: int = 0,
    ) -> None:
        """Before a batch is taken, `ticks` iterations of the event loop pass, so that more items gather. With a fast
        database this pays: batches would otherwise be small, and a round trip costs more than the work.
        """
        self._do_all = do_all
        self._ticks = ticks
        self._concurrency = concurrency
        self._batch_max = batch_max
        self._waiting: list[_Waiting[One, Outcome]] = []
        # Also the strong references: the event loop keeps none.
        self._under_way: set[asyncio.Task[None]] = set()

    def do(self, one: One) -> asyncio.Future[Outcome]:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((monotonic_s(), one, outcome))
        if len(self._under_way) < self._concurrency:
            self._under_way.add(loop.create_task(self._serve()))
        return outcome

    async def _serve(self) -> None:
        try:
            while self._waiting:
                for _ in range(self._ticks):
                    await asyncio.sleep(0)
                await self._do(_in_time(self._take(self._batch_max)))
        finally:
            # At once and not in a callback: an item that arrives in between would wait for a task that has ended.
            self._under_way.discard(cast("asyncio.Task[None]", asyncio.current_task()))
            if not self._under_way:
                _cancel(self._take(len(self._waiting)))  # Only after a cancellation; otherwise the queue is empty.

    def _take(self, most: int) -> Sequence[_Waiting[One, Outcome]]:
        group = self._waiting[:most]
        del self._waiting[:most]
        return group

    async def _do(self, group: Sequence[_Waiting[One, Outcome]]) -> None:
        try:
            outcomes = await self._do_all([one for _, one, _ in group]) if group else ()
            for (_, _, waiting), outcome in zip(group, outcomes, strict=True):
                if not waiting.done():  # The caller may have been cancelled.
                    waiting.set_result(outcome)
        except asyncio.CancelledError:
            _cancel(group)
            raise
        except Exception as error:
            await self._do_each(group, error)

    async def _do_each(self, group: Sequence[_Waiting[One, Outcome]], error: Exception) -> None:
        if len(group) > 1 and not isinstance(error, Unavailable):
            await asyncio.gather(*(self._do([single]) for single in group))
            return
        for _, _, waiting in group:
            if not waiting.done():
                waiting.set_exception(error)


def _in_time(group: Sequence[_Waiting[One, Outcome]]) -> Sequence[_Waiting[One, Outcome]]:
    """Fails and removes items that have waited too long. The first has waited longest."""
    latest = monotonic_s() - WAIT_S
    if not group or group[0][0] >= latest:
        return group
    for since, _, waiting in group:
        if since < latest and not waiting.done():
            waiting.set_exception(
                Unavailable(f"the database is busy; retry after {RETRY_AFTER_S} s", retry_after_s=RETRY_AFTER_S)
            )
    return [one for one in group if one[0] >= latest]


def _cancel(group: Sequence[_Waiting[One, Outcome]]) -> None:
    for _, _, waiting in group:
        waiting.cancel()
