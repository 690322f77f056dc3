"""How many requests are inside, and who waits before the door.

A request that was read is a task with all it has found out, and when hundreds of them wait for the database, each costs
more: probably it has left the processor's caches by the time its turn comes. So while a whole group waits there, others
wait here, as the bytes that came. Only what waits for us counts: a request that waits for a rail keeps nobody out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Protocol

from starlette.types import Scope

from tidegate.core.clock import monotonic_s
from tidegate.infra.gathering import TOGETHER_MAX, WAIT_S, Backlog

# About a tenth of a second's work: who would wait longer is better told to come again.
IN_FLIGHT_MAX = 512
# One group is with the database, the next is ready.
READ_AT_ONCE = 2 * TOGETHER_MAX
# The crowd may also end without anybody leaving, when all of it goes on to wait for a rail; and it may not end.
LOOK_EVERY_S = 0.05
UNREAD_S = WAIT_S
# A load balancer must not take a full server for a dead one.
ALWAYS_OPEN = ("/healthz", "/readyz")
IS_LET_IN = "tidegate.is_let_in"
_HAS_LEFT = "tidegate.has_left"


class Comer(Protocol):
    def enter(self) -> None: ...

    def give_up(self) -> None: ...


class Places:
    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._in_flight = 0
        # Of these, whose task has not run yet.
        self._beginning = 0
        # Who waits to be read, and since when.
        self._unread: OrderedDict[Comer, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        return self._in_flight + len(self._unread) >= IN_FLIGHT_MAX

    @property
    def is_crowded(self) -> bool:
        """Whoever is read now is read only to wait."""
        return self._in_flight >= READ_AT_ONCE and self._beginning + self._backlog.waiting >= TOGETHER_MAX

    def take(self, scope: Scope) -> None:
        """When a request's task is made, not when it runs: hundreds of requests may be read before any task runs."""
        self._in_flight += 1
        self._beginning += 1
        scope[IS_LET_IN] = self._in_flight <= IN_FLIGHT_MAX or scope["path"] in ALWAYS_OPEN

    def begin(self) -> None:
        self._beginning -= 1

    def leave(self, scope: Scope) -> None:
        """A stream that only waits does so early."""
        if _HAS_LEFT not in scope:
            scope[_HAS_LEFT] = True
            self._in_flight -= 1
            self.let_in()  # Also the last one inside does it, so that nobody is forgotten.

    def wait(self, comer: Comer) -> None:
        self._unread[comer] = monotonic_s()
        if self._timer is None:
            self._look_again()

    def forget(self, comer: Comer) -> None:
        """Who has gone, or could not wait, takes no place here any longer."""
        del self._unread[comer]

    def let_in(self) -> None:
        """Before anybody who comes now."""
        while self._unread and not self.is_crowded:
            self._unread.popitem(last=False)[0].enter()

    def _look_again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._look)

    def _look(self) -> None:
        self._timer = None
        self.let_in()
        latest = monotonic_s() - UNREAD_S
        while self._unread and next(iter(self._unread.values())) < latest:
            self._unread.popitem(last=False)[0].give_up()
        if self._unread:
            self._look_again()
