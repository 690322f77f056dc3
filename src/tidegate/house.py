"""What API and worker are both built on. No page and no route is among it: the worker need not carry them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any

from tidegate.core.clock import Clock, ShiftedClock, SystemClock
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.deployment import commands as deployment
from tidegate.infra import telemetry
from tidegate.infra.db import Database
from tidegate.infra.egress import Egress
from tidegate.infra.guard import Guard
from tidegate.infra.vault import Vault
from tidegate.rail.interface import Rail
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.till import InflowTerms, Till
from tidegate.sandbox import clock as sandbox_clock
from tidegate.settings import Settings
from tidegate.webhook.commands import Office
from tidegate.webhook.deliver import Courier


@dataclass
class House:
    """Where things are written, what time it is, which rails there are."""

    settings: Settings
    db: Database
    clock: Clock
    rails: dict[str, Rail] = field(default_factory=dict)
    # Of the database, the same for every process; there once the house is open.
    secret: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, settings: Settings, *, statement_timeout_ms: int = 5_000) -> House:
        db = Database(
            settings.database_url or "",
            connections_max=settings.connections_max,
            statement_timeout_ms=statement_timeout_ms,
        )
        return cls.on(db, settings)

    @classmethod
    def on(cls, db: Database, settings: Settings) -> House:
        return cls(settings, db, ShiftedClock() if settings.mode is Mode.SANDBOX else SystemClock())

    @cached_property
    def till(self) -> Till:
        """One for all: what gathers in it gathers from wherever it comes, and has its lanes once."""
        settings = self.settings
        terms = InflowTerms(
            rate_lasts=timedelta(minutes=settings.rate_lasts_minutes),
            hold=timedelta(days=settings.hold_days),
            review_from_major=settings.review_inflows_from,
        )
        return Till(self.db, self.rails, MethodNames(ussd=settings.ussd_method), terms)

    @cached_property
    def office(self) -> Office:
        settings = self.settings
        return Office(self.db, Vault(settings.encryption_keys), Guard(settings.mode, settings.base_url))

    def courier(self, meter: telemetry.Meter) -> Courier:
        return Courier(self.db, Egress(self.office.guard), self.office.vault, self.clock, meter)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        await self.db.open()
        try:
            await self.furnish()
            if not isinstance(self.clock, ShiftedClock):
                yield
                return
            async with running(sandbox_clock.follow(self.db, self.clock)):
                yield
        finally:
            await self.db.close()

    async def furnish(self) -> None:
        """On a database that is open: is it ours, which rails are there, what time is it."""
        found = await deployment.check(self.db, self.settings.mode)
        self.secret = found.secret
        if isinstance(self.clock, ShiftedClock):
            self.rails["sandbox"] = SandboxRail(self.db, self.secret)
            await sandbox_clock.catch_up(self.db, self.clock)


@asynccontextmanager
async def running(forever: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(forever)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
