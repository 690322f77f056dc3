"""Batchers by key: each batches its own items, and a limit holds for all of them at the database at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from tidegate.core.errors import Unavailable
from tidegate.infra.batcher import Batcher

One = TypeVar("One")
Outcome = TypeVar("Outcome")
# Fewer than the default connections of a process: work without batches needs some too.
CONCURRENCY = 8
SLOT_WAIT_S = 1.0
RETRY_AFTER_S = 1


class KeyedBatcher:
    def __init__(self, *, concurrency: int = CONCURRENCY) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        # A batcher lives while an item waits in it.
        self._by_name: WeakValueDictionary[Hashable, Batcher[Any, Any]] = WeakValueDictionary()

    def do(
        self,
        name: Hashable,
        one: One,
        do_all: Callable[[Sequence[One]], Awaitable[Sequence[Outcome]]],
        *,
        at_once: int = 1,
    ) -> asyncio.Future[Outcome]:
        """`do_all` is the same for all items of a name, and so is how many of its batches are in progress at once."""
        batcher: Batcher[One, Outcome] | None = self._by_name.get(name)
        if batcher is None:

            async def do_limited(group: Sequence[One]) -> Sequence[Outcome]:
                await self._take_slot()
                try:
                    return await do_all(group)
                finally:
                    self._slots.release()

            batcher = self._by_name[name] = Batcher(do_limited, concurrency=at_once)
        return batcher.do(one)

    async def _take_slot(self) -> None:
        if not self._slots.locked():
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(SLOT_WAIT_S):
                await self._slots.acquire()
        except TimeoutError:
            raise Unavailable(
                f"too many requests wait for the database; retry after {RETRY_AFTER_S} s", retry_after_s=RETRY_AFTER_S
            ) from None
