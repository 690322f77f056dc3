"""Live mode in this process: a server, its worker, and a merchant."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from build import Shop
from tidegate import app, worker
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.infra.http.server import GracefulServer, configure
from tidegate.infra.telemetry import Meter
from tidegate.merchant import commands as merchants
from tidegate.runtime import Runtime
from tidegate.settings import Settings

WITHIN_S = 120


async def eventually(look: Callable[[], Awaitable[Any]], is_right: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(WITHIN_S):
        while not is_right(seen := await look()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return seen


@asynccontextmanager
async def serving_on(listening: socket.socket, settings: Settings) -> AsyncIterator[None]:
    server = GracefulServer(configure(app.build(settings)))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
        assert not serving.done(), "the server did not start"
    try:
        yield
    finally:
        server.should_exit = True
        await serving


class with_worker:  # noqa: N801
    """The background work, in this process."""

    def __init__(self, settings: Settings, loops: tuple[worker.Loop, ...] = worker.LOOPS) -> None:
        self._loops = loops
        self._runtime = Runtime.of(settings)
        self._opened = self._runtime.open()

    async def __aenter__(self) -> Runtime:
        await self._opened.__aenter__()
        run = worker.run(self._runtime.deps, self._runtime.clock, Meter(), self._loops)
        self._task = asyncio.create_task(run)
        return self._runtime

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._opened.__aexit__(None, None, None)


async def live_shop(runtime: Runtime, client: httpx.AsyncClient) -> Shop:
    now = SystemClock().now()
    new = await merchants.create(runtime.db, name="Live Shop", email="live@example.com", mode=Mode.LIVE, now=now)
    await merchants.change(runtime.db, new.business.id, {"rate_per_second": 100_000, "rate_burst": 100_000}, now=now)
    return Shop(client, new.business.id, new.secret_key, new.public_key)
