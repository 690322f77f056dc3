"""Gatherings by name: together under one name, apart under two, and no more at once than there are lanes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence

import pytest

from tidegate.core.errors import Unavailable
from tidegate.infra import keyed_batcher
from tidegate.infra.keyed_batcher import KeyedBatcher


class Desk:
    """Takes its time until it is let go, and remembers who came together."""

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


async def settle_down() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_waits_under_one_name_is_served_together_and_under_another_apart() -> None:
    desk, all_of_them = Desk(), KeyedBatcher()
    waiting = [all_of_them.do("a", one, desk.serve) for one in "uv"]
    await settle_down()
    waiting += [all_of_them.do("a", "w", desk.serve), all_of_them.do("a", "x", desk.serve)]
    waiting += [all_of_them.do("b", "y", desk.serve)]
    await settle_down()
    desk.is_open.set()
    assert await asyncio.gather(*waiting) == ["U", "V", "W", "X", "Y"]
    assert desk.groups == [["u", "v"], ["y"], ["w", "x"]]


async def test_no_more_batches_run_at_once_than_the_concurrency() -> None:
    desk, all_of_them = Desk(), KeyedBatcher(concurrency=2)
    waiting = [all_of_them.do(name, name, desk.serve) for name in "abcdef"]
    await settle_down()
    assert len(desk.groups) == 2
    desk.is_open.set()
    assert await asyncio.gather(*waiting) == list("ABCDEF")
    assert desk.at_once_max == 2


async def test_a_caller_that_waits_too_long_for_a_batch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_batcher, "SLOT_WAIT_S", 0.01)
    desk, all_of_them = Desk(), KeyedBatcher(concurrency=1)
    first = all_of_them.do("a", "a", desk.serve)
    await settle_down()
    with pytest.raises(Unavailable):
        await all_of_them.do("b", "b", desk.serve)
    desk.is_open.set()
    assert await first == "A"
    assert await all_of_them.do("b", "b", desk.serve) == "B"


async def test_a_key_is_forgotten_when_no_caller_waits_under_it() -> None:
    desk, all_of_them = Desk(), KeyedBatcher()
    desk.is_open.set()
    for number in range(100):
        await all_of_them.do(number, "a", desk.serve)
    await settle_down()
    gc.collect()
    assert len(all_of_them._by_name) == 0
