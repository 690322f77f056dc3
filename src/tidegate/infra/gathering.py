"""Things that wait at the same moment are done together: one statement, one commit, and to each its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

One = TypeVar("One")
Outcome = TypeVar("Outcome")
_Waiting = tuple[One, asyncio.Future[Outcome]]
# As many groups may be under way: while the database works on one, the next comes together.
LANES = 2
TOGETHER_MAX = 64


class Gathering(Generic[One, Outcome]):
    """Nobody waits for company: who comes alone goes alone, and only while others are being served do more gather.

    When a group fails, each of it is tried by itself, so that nobody fails for another's sake. What is done here must
    therefore bear being done twice.
    """

    def __init__(
        self,
        do_all: Callable[[Sequence[One]], Awaitable[Sequence[Outcome]]],
        *,
        lanes: int = LANES,
        together_max: int = TOGETHER_MAX,
    ) -> None:
        self._do_all = do_all
        self._lanes = lanes
        self._together_max = together_max
        self._waiting: list[_Waiting[One, Outcome]] = []
        # Also what keeps them alive: the loop itself does not.
        self._under_way: set[asyncio.Task[None]] = set()

    def do(self, one: One) -> asyncio.Future[Outcome]:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((one, outcome))
        if len(self._under_way) < self._lanes:
            self._under_way.add(loop.create_task(self._serve()))
        return outcome

    async def _serve(self) -> None:
        try:
            while self._waiting:
                group = self._waiting[: self._together_max]
                del self._waiting[: self._together_max]
                await self._do(group)
        finally:
            # At once and not in a callback: whoever comes in between would wait for a lane that has closed.
            self._under_way.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    async def _do(self, group: Sequence[_Waiting[One, Outcome]]) -> None:
        try:
            outcomes = await self._do_all([one for one, _ in group])
        except Exception as error:
            await self._do_each(group, error)
        except asyncio.CancelledError:
            for _, waiting in group:
                waiting.cancel()
            raise
        else:
            for (_, waiting), outcome in zip(group, outcomes, strict=True):
                if not waiting.done():  # Whoever asked may have gone.
                    waiting.set_result(outcome)

    async def _do_each(self, group: Sequence[_Waiting[One, Outcome]], error: Exception) -> None:
        if len(group) > 1:
            await asyncio.gather(*(self._do([single]) for single in group))
        elif not group[0][1].done():
            group[0][1].set_exception(error)
