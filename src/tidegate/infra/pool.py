"""A connection pool. Taking a connection and giving it back needs no task, no timer and no round trip.

asyncpg's own pool also resets session settings, listeners and cursors, at about 50 µs each time. Tidegate uses none of
these, and a connection in an uncertain state is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

CLOSE_TIMEOUT_S = 5.0

Connect = Callable[[], Awaitable[Any]]


class PoolClosed(OSError):
    """A connection was requested after close()."""


class Pool:
    def __init__(self, connect: Connect, *, connections_max: int, wait_s: float) -> None:
        self._connect = connect
        self._connections_max = connections_max
        self._wait_s = wait_s
        # Last in, first out: the caches of the last used one are warm.
        self._idle: list[Any] = []
        self._lent: set[Any] = set()
        # Connections that are idle, lent or being opened.
        self._count = 0
        # Each receives a returned connection, or None when it may open one.
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._is_closed = False

    async def take(self) -> Any:
        """Raises TimeoutError when none is free in time."""
        connection = self._take_idle()
        if connection is None and self._count < self._connections_max:
            self._count += 1
            connection = await self._open()
        elif connection is None:
            connection = await self._wait() or await self._open()
        self._lent.add(connection)
        return connection

    def give_back(self, connection: Any, *, is_sound: bool) -> None:
        self._lent.discard(connection)
        if not is_sound or self._is_closed or connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
            self._give_up_place()
        elif not self._hand_over(connection):
            self._idle.append(connection)

    async def close(self) -> None:
        self._is_closed = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(PoolClosed("the pool is closed"))
        for connection in self._idle:
            with suppress(OSError, TimeoutError):
                await connection.close(timeout=CLOSE_TIMEOUT_S)
        # Tasks that still hold one are being stopped as well.
        for connection in self._lent:
            connection.terminate()
        self._idle.clear()

    def _take_idle(self) -> Any | None:
        if self._is_closed:
            raise PoolClosed("the pool is closed")
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._count -= 1
        return None

    async def _open(self) -> Any:
        try:
            return await self._connect()
        except BaseException:
            self._give_up_place()
            raise

    async def _wait(self) -> Any | None:
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            async with asyncio.timeout(self._wait_s):
                return await waiting
        except BaseException:
            self._pass_on(waiting)
            raise

    def _pass_on(self, waiting: asyncio.Future[Any]) -> None:
        """Passes on a connection that arrived at the moment of the time-out."""
        if not waiting.done() or waiting.cancelled() or waiting.exception():
            waiting.cancel()
        elif waiting.result() is None:
            self._give_up_place()
        else:
            self.give_back(waiting.result(), is_sound=True)

    def _give_up_place(self) -> None:
        if not self._hand_over(None):
            self._count -= 1

    def _hand_over(self, connection: Any | None) -> bool:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(connection)
                return True
        return False
