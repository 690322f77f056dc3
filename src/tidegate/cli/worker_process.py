"""The child of `tidegate worker`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import uvloop

from tidegate import worker as worker_module
from tidegate.infra import memory, telemetry
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from tidegate.webhook.deliver import GRACE_S


def run(settings: Settings) -> None:
    telemetry.configure_logs(as_json=settings.log_as_json, level=settings.log_level)
    uvloop.run(_until_stopped(work(settings, telemetry.Meter())))


async def work(settings: Settings, meter: telemetry.Meter, *, grace_s: float = GRACE_S) -> None:
    """Until cancelled; then work in progress is waited for."""
    runtime = Runtime.of(
        settings.without_pooler,
        statement_timeout_ms=worker_module.STATEMENT_TIMEOUT_MS,
        pool_wait_s=worker_module.POOL_WAIT_S,
    )
    loops = worker_module.loops_of(settings)
    async with runtime.open(waiting=lambda _: None):
        memory.tune_gc()
        sender = worker_module.sender_of(runtime, meter).run(grace_s=grace_s)
        await worker_module.run(runtime.deps, runtime.clock, meter, loops, sender)


async def _until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """SIGTERM lets work in progress finish."""
    task = asyncio.create_task(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
