"""While the database is away, the loops of a worker ask more and more rarely, and the log says it once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from structlog.testing import capture_logs

from tidegate import worker
from tidegate.core.clock import Clock, monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.infra.leased_work import RoundResult
from tidegate.infra.telemetry import Meter
from tidegate.rail.deps import PaymentDeps
from tidegate.runtime import Runtime

AWAY_ROUNDS = 8
EVERY_S = 0.001


async def test_an_outage_is_logged_once_and_asked_about_more_and_more_rarely(runtime: Runtime) -> None:
    asked: dict[str, list[float]] = {"a": [], "b": [], "fine": []}

    def loop(name: str, *, is_away: bool) -> worker.Loop:
        async def round_(_: PaymentDeps, __: Clock) -> RoundResult:
            asked[name].append(monotonic_s())
            if is_away and len(asked[name]) <= AWAY_ROUNDS:
                raise Unavailable("away")
            return RoundResult()

        return worker.Loop(name, round_, every_s=EVERY_S)

    loops = (loop("a", is_away=True), loop("b", is_away=True), loop("fine", is_away=False))
    with capture_logs() as lines:
        task = asyncio.create_task(worker.run(runtime.deps, runtime.clock, Meter(), loops))
        async with asyncio.timeout(60):
            while min(map(len, asked.values())) <= AWAY_ROUNDS + 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    said: list[Any] = [line["event"] for line in lines]
    assert said == ["database away", "database back"]
    for name in ("a", "b"):
        last_pause_s = asked[name][AWAY_ROUNDS] - asked[name][AWAY_ROUNDS - 1]
        # Doubled with every failure; jitter takes at most half of it.
        assert last_pause_s >= EVERY_S * 2 ** (AWAY_ROUNDS - 1) / 2
