"""Which items share a batch, and what the failure of one means to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tidegate.core.errors import Unavailable
from tidegate.infra import batcher as batcher_module
from tidegate.infra.batcher import Batcher


class Counter:
    """Doubles numbers once it may go, and remembers the batches."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.may_go = asyncio.Event()

    async def double_all(self, numbers: Sequence[int]) -> list[int]:
        self.groups.append(list(numbers))
        await self.may_go.wait()
        if 13 in numbers:
            raise ValueError("13 is refused")
        return [2 * number for number in numbers]


async def test_items_that_come_during_a_batch_are_in_the_next() -> None:
    counter = Counter()
    batcher = Batcher(counter.double_all, concurrency=1)
    first = batcher.do(1)
    await asyncio.sleep(0)
    rest = [batcher.do(number) for number in (2, 3, 4)]
    counter.may_go.set()
    assert await first == 2
    assert await asyncio.gather(*rest) == [4, 6, 8]
    assert counter.groups == [[1], [2, 3, 4]]


async def test_a_batch_has_no_more_items_than_its_limit() -> None:
    counter = Counter()
    counter.may_go.set()
    batcher = Batcher(counter.double_all, concurrency=1, batch_max=2)
    assert await asyncio.gather(*(batcher.do(number) for number in range(5))) == [0, 2, 4, 6, 8]
    assert counter.groups == [[0, 1], [2, 3], [4]]


async def test_a_failing_item_fails_alone() -> None:
    counter = Counter()
    counter.may_go.set()
    batcher = Batcher(counter.double_all)
    outcomes = await asyncio.gather(*(batcher.do(number) for number in (12, 13, 14)), return_exceptions=True)
    assert outcomes[::2] == [24, 28]
    assert isinstance(outcomes[1], ValueError)
    assert counter.groups == [[12, 13, 14], [12], [13], [14]]


async def test_a_cancelled_caller_delays_no_other() -> None:
    counter = Counter()
    batcher = Batcher(counter.double_all)
    leaving, staying = batcher.do(1), batcher.do(2)
    await asyncio.sleep(0)
    leaving.cancel()
    counter.may_go.set()
    assert await staying == 4


async def test_every_item_is_done_whenever_it_comes() -> None:
    """Also an item that comes at the moment at which a batch ends."""
    counter = Counter()
    counter.may_go.set()
    batcher = Batcher(counter.double_all, concurrency=1)

    async def ask(number: int) -> int:
        for _ in range(number % 7):
            await asyncio.sleep(0)
        return await batcher.do(number)

    async with asyncio.timeout(60):
        for _ in range(50):
            numbers = [number for number in range(30) if number != 13]
            assert await asyncio.gather(*map(ask, numbers)) == [2 * number for number in numbers]


async def test_a_caller_fails_when_its_batch_is_cancelled() -> None:
    counter = Counter()
    batcher = Batcher(counter.double_all)
    waiting = batcher.do(1)
    await asyncio.sleep(0)
    for task in batcher._under_way:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_unavailable_fails_the_whole_batch_at_once() -> None:
    asked: list[int] = []

    async def refuse(numbers: Sequence[int]) -> list[int]:
        asked.append(len(numbers))
        raise Unavailable("not now")

    batcher = Batcher(refuse)
    outcomes = await asyncio.gather(*(batcher.do(number) for number in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 3
    assert asked == [3]


async def test_a_caller_that_waited_too_long_fails_and_the_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    batcher = Batcher(counter.double_all, concurrency=1)
    first = batcher.do(1)
    await asyncio.sleep(0)
    monkeypatch.setattr(batcher_module, "monotonic_s", lambda: -1_000.0)
    late = batcher.do(2)
    monkeypatch.undo()
    in_time = batcher.do(3)
    counter.may_go.set()
    assert (await first, await in_time) == (2, 6)
    with pytest.raises(Unavailable):
        await late
    assert counter.groups == [[1], [3]]


async def test_a_missing_result_is_an_error_for_its_caller() -> None:
    async def forget_the_last(numbers: Sequence[int]) -> list[int]:
        return [2 * number for number in numbers[:-1]]

    batcher = Batcher(forget_the_last)
    outcomes = await asyncio.gather(*(batcher.do(number) for number in range(3)), return_exceptions=True)
    assert outcomes[:2] == [0, 2]
    assert isinstance(outcomes[2], ValueError)


async def test_a_caller_behind_a_cancelled_batch_fails() -> None:
    counter = Counter()
    batcher = Batcher(counter.double_all, concurrency=1)
    served = batcher.do(1)
    await asyncio.sleep(0)
    waiting = batcher.do(2)
    for task in batcher._under_way:
        task.cancel()
    outcomes = await asyncio.gather(served, waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 2
