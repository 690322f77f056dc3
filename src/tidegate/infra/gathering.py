"""Things that wait at the same moment are done together: one statement, one commit, and to each its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Unavailable

One = TypeVar("One")
Outcome = TypeVar("Outcome")
# Since when, what, and who wants to know.
_Waiting = tuple[float, One, asyncio.Future[Outcome]]
# As many groups may be under way: while the database works on one, the next comes together.
LANES = 2
TOGETHER_MAX = 64
# Whoever has waited longer for a group is told so: the database is stuck, and more would only queue up behind it.
WAIT_S = 1.0
RETRY_AFTER_S = 1


class Gathering(Generic[One, Outcome]):
    """Nobody waits for company: who comes alone goes alone, and only while others are being served do more gather.

    When a group fails, each of it is tried by itself, so that nobody fails for another's sake. What is done here must
    therefore bear being done twice. "Not now" is nobody's own fault, and is said to all of them at once.
    """

    def __init__(
        self,
        do_all: Callable[[Sequence[One]], Awaitable[Sequence[Outcome]]],
        *,
        lanes: int = LANES,
        together_max: int = TOGETHER_MAX,
        turns: int = 0,
    ) -> None:
        """`turns` of the loop are let pass before a group is taken, for more to come together. Where the database is
        quick that pays: it would otherwise be asked for each few, and asking costs more than what is asked for.
        """
        self._do_all = do_all
        self._turns = turns
        self._lanes = lanes
        self._together_max = together_max
        self._waiting: list[_Waiting[One, Outcome]] = []
        # Also what keeps them alive: the loop itself does not.
        self._under_way: set[asyncio.Task[None]] = set()

    def do(self, one: One) -> asyncio.Future[Outcome]:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((monotonic_s(), one, outcome))
        if len(self._under_way) < self._lanes:
            self._under_way.add(loop.create_task(self._serve()))
        return outcome

    async def _serve(self) -> None:
        try:
            while self._waiting:
                for _ in range(self._turns):
                    await asyncio.sleep(0)
                await self._do(_in_time(self._take(self._together_max)))
        finally:
            # At once and not in a callback: whoever comes in between would wait for a lane that has closed.
            self._under_way.discard(cast("asyncio.Task[None]", asyncio.current_task()))
            if not self._under_way:
                _cancel(self._take(len(self._waiting)))  # Only when the lane was stopped: else nobody waits any more.

    def _take(self, most: int) -> Sequence[_Waiting[One, Outcome]]:
        group = self._waiting[:most]
        del self._waiting[:most]
        return group

    async def _do(self, group: Sequence[_Waiting[One, Outcome]]) -> None:
        try:
            outcomes = await self._do_all([one for _, one, _ in group]) if group else ()
            for (_, _, waiting), outcome in zip(group, outcomes, strict=True):
                if not waiting.done():  # Whoever asked may have gone.
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
    """Without those who have waited too long, and are told so. The first has waited longest."""
    latest = monotonic_s() - WAIT_S
    if not group or group[0][0] >= latest:
        return group
    for since, _, waiting in group:
        if since < latest and not waiting.done():
            waiting.set_exception(Unavailable("the database is busy; try again", retry_after_s=RETRY_AFTER_S))
    return [one for one in group if one[0] >= latest]


def _cancel(group: Sequence[_Waiting[One, Outcome]]) -> None:
    for _, _, waiting in group:
        waiting.cancel()
