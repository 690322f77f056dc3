from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tidegate import worker
from tidegate.core.clock import Clock, SettableClock
from tidegate.core.errors import Unavailable
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.infra.db import Database
from tidegate.infra.leased_work import RoundResult
from tidegate.infra.telemetry import Meter
from tidegate.rail.deps import InflowTerms, PaymentDeps


async def test_the_worker_repeats_its_rounds_and_survives_failures(db: Database) -> None:
    seen: list[datetime] = []

    async def stumbling(_: PaymentDeps, clock: Clock) -> RoundResult:
        seen.append(clock.now())
        if len(seen) == 1:
            raise RuntimeError("a broken round")
        if len(seen) == 2:
            raise Unavailable("away")
        return RoundResult()

    clock = SettableClock(datetime(2026, 11, 15, tzinfo=UTC))
    loops = (worker.Loop("stumbling", stumbling, every_s=0.001),)
    deps = PaymentDeps(
        db,
        {},
        MethodNames(),
        PublicIds(lambda: b""),
        InflowTerms(rate_lasts=timedelta(hours=1), hold=timedelta(days=3)),
    )
    task = asyncio.create_task(worker.run(deps, clock, Meter(), loops))
    while len(seen) < 4:
        await asyncio.sleep(0.001)
        assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
