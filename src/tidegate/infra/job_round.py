"""What the jobs of this worker did last, written for operators every few seconds; and rounds that they ask for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime

import structlog

from tidegate.core.clock import SystemClock
from tidegate.core.errors import Unavailable
from tidegate.core.visible import visible
from tidegate.infra import job_round_store as store
from tidegate.infra.db import Database
from tidegate.infra.job_round_store import JobRound

log = structlog.get_logger("worker")

WRITE_EVERY_S = 5.0
ERROR_CHARS_MAX = 500


class JobRounds:
    def __init__(self) -> None:
        self._clock = SystemClock()
        self._unwritten: dict[str, JobRound] = {}
        self._ended_at: dict[str, datetime] = {}
        self._wanted: dict[str, asyncio.Event] = {}

    def add(
        self, job: str, *, every_s: float, lasted_s: float, done: int = 0, failed: int = 0, error: str | None = None
    ) -> None:
        """A round has ended; with an error it failed as a whole."""
        now, before = self._clock.now(), self._unwritten.get(job)
        last_error = visible(error)[:ERROR_CHARS_MAX] if error is not None else before and before.error
        failed_at = now if error is not None else before and before.failed_at
        self._ended_at[job] = now
        self._unwritten[job] = JobRound(
            job, every_s, now, round(lasted_s * 1_000), done + (before.done if before else 0),
            failed + (before.failed if before else 0), last_error, failed_at,
        )  # fmt: skip

    async def pause(self, job: str, seconds: float) -> None:
        """Ends early when an operator asks for a round."""
        wanted = self._wanted.setdefault(job, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wanted.wait()
        wanted.clear()

    async def write(self, db: Database) -> None:
        unwritten, self._unwritten = self._unwritten, {}
        async with db.connection() as tx:
            if unwritten:
                await store.write(tx, list(unwritten.values()))
            wanted = await store.list_wanted(tx)
        for job, at in wanted.items():
            if job in self._ended_at and at > self._ended_at[job]:
                self._wanted.setdefault(job, asyncio.Event()).set()

    async def follow(self, db: Database) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.write(db)
            except Unavailable:
                pass  # While the database is away, rounds are not written.
            except Exception:
                # The jobs go on, even if their rounds cannot be written.
                log.exception("rounds not written")
            await asyncio.sleep(WRITE_EVERY_S)
