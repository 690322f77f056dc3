"""Work that is there at the same moment is done in step: the first part of all of it, then the second part of all.

What goes its whole way by itself finds each part of the program fallen out of the processor's caches, since all the
rest of it ran in between. In step, a part is fetched once and serves everybody in a row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextvars import Context
from typing import Any, TypeVar

Outcome = TypeVar("Outcome")
# Between two steps it yields.
Steps = Generator[None, None, Outcome]


class InStep:
    def __init__(self) -> None:
        self._waiting: list[tuple[Steps[Any], asyncio.Future[Any]]] = []

    def do(self, steps: Steps[Outcome]) -> asyncio.Future[Outcome]:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        if not self._waiting:
            # In nobody's context: what one request says of itself must not stand in another's log line.
            loop.call_soon(self._go, context=Context())
        self._waiting.append((steps, outcome))
        return outcome

    def _go(self) -> None:
        ranks, self._waiting = self._waiting, []
        try:
            while ranks:
                ranks = [one for one in ranks if _goes_on(*one)]
        except BaseException:  # The process ends. Nobody must wait on.
            for _, outcome in ranks:
                outcome.cancel()
            raise


def _goes_on(steps: Steps[Outcome], outcome: asyncio.Future[Outcome]) -> bool:
    if outcome.done():  # Whoever asked has gone.
        return False
    try:
        next(steps)
    except StopIteration as end:
        outcome.set_result(end.value)
    except Exception as error:
        outcome.set_exception(error)
    else:
        return True
    return False
