"""Batches by key: together under one key, apart under two, and no more at once than the concurrency."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence

import pytest

from tidegate.core.errors import Unavailable
from tidegate.infra import keyed_batcher
from tidegate.infra.keyed_batcher import KeyedBatcher


class BlockingHandler:
    """Blocks until it is opened, and remembers the batches."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.at_once_max = 0
        self.is_open = asyncio.Event()
        self._at_once = 0

    async def serve(self, group: Sequence[str]) -> list[str]:
        self.groups.append(list(group))
        self._at_once += 1
        self.at_once_max = max(self.at_once_max, self._at_once)
        await self.is_open.wait()
        self._at_once -= 1
        return [one.upper() for one in group]


async def let_tasks_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_items_of_one_key_share_a_batch_and_of_another_do_not() -> None:
    handler, batcher = BlockingHandler(), KeyedBatcher()
    waiting = [batcher.do("a", one, handler.serve) for one in "uv"]
    await let_tasks_run()
    waiting += [batcher.do("a", "w", handler.serve), batcher.do("a", "x", handler.serve)]
    waiting += [batcher.do("b", "y", handler.serve)]
    await let_tasks_run()
    handler.is_open.set()
    assert await asyncio.gather(*waiting) == ["U", "V", "W", "X", "Y"]
    assert handler.groups == [["u", "v"], ["y"], ["w", "x"]]


async def test_no_more_batches_run_at_once_than_the_concurrency() -> None:
    handler, batcher = BlockingHandler(), KeyedBatcher(concurrency=2)
    waiting = [batcher.do(name, name, handler.serve) for name in "abcdef"]
    await let_tasks_run()
    assert len(handler.groups) == 2
    handler.is_open.set()
    assert await asyncio.gather(*waiting) == list("ABCDEF")
    assert handler.at_once_max == 2


async def test_a_caller_that_waits_too_long_for_a_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_batcher, "SLOT_WAIT_S", 0.01)
    handler, batcher = BlockingHandler(), KeyedBatcher(concurrency=1)
    first = batcher.do("a", "a", handler.serve)
    await let_tasks_run()
    with pytest.raises(Unavailable):
        await batcher.do("b", "b", handler.serve)
    handler.is_open.set()
    assert await first == "A"
    assert await batcher.do("b", "b", handler.serve) == "B"


async def test_a_key_is_forgotten_when_no_caller_waits_under_it() -> None:
    handler, batcher = BlockingHandler(), KeyedBatcher()
    handler.is_open.set()
    for number in range(100):
        await batcher.do(number, "a", handler.serve)
    await let_tasks_run()
    gc.collect()
    assert len(batcher._by_name) == 0
