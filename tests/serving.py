"""A server of one's own in this process, for tests that look inside it or must not disturb the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from prometheus_client import generate_latest

from tidegate import app
from tidegate.infra.http.application import Application
from tidegate.infra.http.server import GracefulServer, bind, configure
from tidegate.infra.telemetry import Meter
from tidegate.settings import Settings


def metrics_of(meter: Meter) -> str:
    """As a scraper reads them."""
    return generate_latest(meter._registry).decode()


def serving(settings: Settings) -> AbstractAsyncContextManager[tuple[str, Application]]:
    """Its address, and the application behind it."""
    return serving_app(lambda url: app.build(replace(settings, base_url=url)))


@asynccontextmanager
async def serving_app(build: Callable[[str], Application]) -> AsyncIterator[tuple[str, Application]]:
    """Built when its address is known."""
    with bind("127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        application = build(url)
        server = GracefulServer(configure(application))
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.01)
            assert not task.done(), "the server did not start"
        try:
            yield url, application
        finally:
            server.should_exit = True
            await task
