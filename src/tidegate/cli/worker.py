"""The command that runs the worker. It stands by itself, since it needs neither web server nor pages."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import click
import uvloop

from tidegate import settings as settings_module
from tidegate import worker as worker_module
from tidegate.cli.console import speaks_plainly
from tidegate.cli.database import check, prepare, with_database, with_encryption_key
from tidegate.core.ids import Mode
from tidegate.house import House
from tidegate.infra import memory, telemetry
from tidegate.infra.http.server import stop_on_terminate


@click.command()
@speaks_plainly
def worker() -> None:
    """Run the background loops. Any number of workers may run side by side."""
    settings = settings_module.from_environment()
    telemetry.configure_logs(as_json=settings.log_as_json, level=settings.log_level)
    with with_database(settings) as (ready, postgres):
        if postgres is not None:
            prepare(ready)
        check(ready)
        stop_on_terminate()
        with suppress(KeyboardInterrupt):
            uvloop.run(_work(with_encryption_key(ready)))


async def _work(settings: settings_module.Settings) -> None:
    house = House.of(settings, statement_timeout_ms=worker_module.STATEMENT_TIMEOUT_MS)
    loops = worker_module.SANDBOX_LOOPS if settings.mode is Mode.SANDBOX else worker_module.LOOPS
    meter = telemetry.Meter()
    async with house.open():
        if settings.metrics_port:
            meter.serve(settings.host, settings.metrics_port)
        memory.settle()
        courier = house.courier(meter).run()
        await _until_told(worker_module.run(house.till, house.clock, meter, loops, courier))


async def _until_told(work: Coroutine[Any, Any, None]) -> None:
    """The first signal lets what is under way come to its end; a second one does not."""
    task = asyncio.create_task(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
