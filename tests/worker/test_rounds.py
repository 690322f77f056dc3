from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from settable_clock import SettableClock
from tidegate import worker
from tidegate.audit.model import OPERATOR
from tidegate.core.clock import Clock
from tidegate.core.errors import NotFound, Unavailable
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.infra import job_round
from tidegate.infra.db import Database
from tidegate.infra.job_round import JobRounds
from tidegate.infra.leased_work import RoundResult
from tidegate.infra.telemetry import Meter
from tidegate.rail.deps import InflowTerms, PaymentDeps
from tidegate.webhook import job_command


def deps_on(db: Database) -> PaymentDeps:
    terms = InflowTerms(rate_lasts=timedelta(hours=1), hold=timedelta(days=3))
    return PaymentDeps(db, {}, MethodNames(), PublicIds(lambda: b""), terms)


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
    task = asyncio.create_task(worker.run(deps_on(db), clock, Meter(), loops))
    while len(seen) < 4:
        await asyncio.sleep(0.001)
        assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_last_round_of_each_job_is_told_and_run_at_once_when_asked(db: Database, admin: Any) -> None:
    began: asyncio.Queue[int] = asyncio.Queue()
    numbers = itertools.count(1)

    async def rare(_: PaymentDeps, clock: Clock) -> RoundResult:
        began.put_nowait(number := next(numbers))
        if number == 2:
            raise RuntimeError("a broken\0 round")
        return RoundResult()

    rounds = JobRounds()
    watched = worker.WatchedLoop(worker.Loop("rare", rare, every_s=3_600.0), Meter(), worker.Outage(), rounds)
    task = asyncio.create_task(watched.repeat(deps_on(db), SettableClock(datetime(2026, 11, 15, tzinfo=UTC))))
    try:
        assert await began.get() == 1
        with pytest.raises(NotFound):
            await job_command.run(db, "rare", by=OPERATOR)
        await rounds.write(db)
        row = await admin.fetchrow("SELECT * FROM job_round")
        assert (row["job"], row["done"], row["failed"], row["error"]) == ("rare", 0, 0, None)
        await job_command.run(db, "rare", by=OPERATOR)
        assert began.empty()
        await rounds.write(db)
        assert await began.get() == 2
        await rounds.write(db)
        row = await admin.fetchrow("SELECT * FROM job_round")
        assert (row["failed"], row["error"]) == (1, r"RuntimeError: a broken\u0000 round")
        assert row["ended_at"] > row["wanted_at"]
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_what_is_wrong_with_telling_of_rounds_does_not_end_the_worker(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: asyncio.Queue[bool] = asyncio.Queue()

    async def broken(self: JobRounds, db: Database) -> None:
        written.put_nowait(True)
        raise RuntimeError("no such table")

    monkeypatch.setattr(JobRounds, "write", broken)
    monkeypatch.setattr(job_round, "WRITE_EVERY_S", 0.001)
    task = asyncio.create_task(worker.run(deps_on(db), SettableClock(datetime(2026, 11, 15, tzinfo=UTC)), Meter(), ()))
    with capture_logs():
        for _ in range(3):
            await written.get()
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
