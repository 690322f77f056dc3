"""The worker beside a test."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tidegate import worker
from tidegate.core.errors import Unavailable
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime


class NotingMeter(Meter):
    """The worker goes on after a round that failed; a test must not."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: list[str] = []

    def count_failure(self, loop: str) -> None:
        # On a busy machine the database may be too slow for a moment; then the round is tried again.
        if not isinstance(sys.exception(), Unavailable):
            self.failed.append(loop)


@asynccontextmanager
async def working(runtime: Runtime, loops: tuple[worker.Loop, ...] = worker.SANDBOX_LOOPS) -> AsyncIterator[None]:
    """Fails at its end when a round has failed."""
    meter = NotingMeter()
    task = asyncio.create_task(worker.run(runtime.deps, runtime.clock, meter, loops))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert meter.failed == [], "rounds of the worker failed; their traces are in the captured output"
