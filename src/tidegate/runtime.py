"""The runtime shared by API and worker. Without pages and routes, which the worker does not load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

import structlog

from tidegate.core.clock import Clock, ShiftedClock, SystemClock
from tidegate.core.errors import Unavailable
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.core.public_id import PublicIds
from tidegate.deployment import commands as deployment
from tidegate.deployment.commands import WrongDatabase
from tidegate.infra import backoff
from tidegate.infra.db import AWAY, Database
from tidegate.infra.guard import Guard
from tidegate.infra.trace import Tracer
from tidegate.infra.vault import Vault
from tidegate.mail.send import MailTransport, SandboxTransport, SmtpTransport
from tidegate.rail import registry
from tidegate.rail.deps import InflowTerms, PaymentDeps
from tidegate.rail.interface import Rail
from tidegate.sandbox import clock as sandbox_clock
from tidegate.sandbox.receiver import PATH as RECEIVER_PATH
from tidegate.settings import Settings
from tidegate.webhook.commands import WebhookDeps

PAUSE_FIRST_S = 0.1
PAUSE_MOST_S = 3.0

log = structlog.get_logger("runtime")
# Called with the reason while the database is not available.
OnWaiting = Callable[[str], None]


def guard_of(settings: Settings) -> Guard:
    """Of the addresses that merchants choose. A sandbox may call its own receiver."""
    receiver = RECEIVER_PATH if settings.mode is Mode.SANDBOX else None
    return Guard(settings.webhook_mode, settings.base_url, own_ports=settings.own_ports, own_receiver=receiver)


@dataclass
class Runtime:
    """The database, the clock, the rails and the settings."""

    settings: Settings
    db: Database
    clock: Clock
    rails: dict[str, Rail] = field(default_factory=dict)
    # From the database, the same for every process; available once open.
    secret: bytes = field(default=b"", repr=False)

    @classmethod
    def of(
        cls, settings: Settings, *, statement_timeout_ms: int | None = None, pool_wait_s: float | None = None
    ) -> Runtime:
        db = Database(
            settings.database_url or "",
            connections_max=settings.connections_max,
            statement_timeout_ms=statement_timeout_ms,
            pool_wait_s=pool_wait_s,
            is_pooled=settings.is_pooled,
            direct_url=settings.direct_url,
        )
        return cls.on(db, settings)

    @classmethod
    def on(cls, db: Database, settings: Settings) -> Runtime:
        return cls(settings, db, ShiftedClock() if settings.mode is Mode.SANDBOX else SystemClock())

    @cached_property
    def deps(self) -> PaymentDeps:
        """One instance, so that requests from everywhere share its batches and their concurrency limits."""
        settings = self.settings
        terms = InflowTerms(
            rate_lasts=timedelta(minutes=settings.rate_lasts_minutes),
            hold=timedelta(days=settings.hold_days),
            review_from_major=settings.review_inflows_from,
        )
        names = MethodNames(ussd=settings.ussd_method)
        return PaymentDeps(
            self.db,
            self.rails,
            names,
            self.public_ids,
            terms,
            settings.retention,
            self._mail(),
            mode=settings.mode,
            base_url=settings.base_url,
        )

    def _mail(self) -> MailTransport | None:
        if self.settings.mail is not None:
            return SmtpTransport(self.settings.mail)
        return SandboxTransport() if self.settings.mode is Mode.SANDBOX else None

    @cached_property
    def public_ids(self) -> PublicIds:
        return PublicIds(lambda: self.secret)

    @cached_property
    def webhook_deps(self) -> WebhookDeps:
        settings = self.settings
        return WebhookDeps(
            self.db,
            Vault(settings.encryption_keys),
            guard_of(settings),
        )

    def tracer(self, service: str) -> Tracer | None:
        return Tracer(self.settings.traces_url, service) if self.settings.traces_url else None

    @asynccontextmanager
    async def open(self, *, waiting: OnWaiting | None = None) -> AsyncIterator[None]:
        """With `waiting`, retries until the database is available and initialised; without, raises."""
        try:
            if waiting is None:
                await self._open_once()
            else:
                await self._open_patiently(waiting)
            async with registry.opened(self.rails.values()), running(partial(self.deps.paused.follow, self.db)):
                if not isinstance(self.clock, ShiftedClock):
                    yield
                    return
                async with running(partial(sandbox_clock.follow, self.db, self.clock)):
                    yield
        finally:
            await self.db.close()

    async def _open_once(self) -> None:
        await self.db.open()
        await self.initialise()

    async def _open_patiently(self, waiting: OnWaiting) -> None:
        failures = 0
        while True:
            try:
                return await self._open_once()
            except Exception as error:  # Any error may be fixed while this process runs.
                failures += 1
                pause = backoff.pause_s(failures, first_s=PAUSE_FIRST_S, most_s=PAUSE_MOST_S)
                reason = _reason(error)
                log.warning("not ready", reason=reason, error=repr(error), again_in_s=round(pause, 2))
                waiting(reason)
            await self.db.close()
            await asyncio.sleep(pause)

    async def initialise(self) -> None:
        """After the database is open: checks that it is ours, registers the rails, loads the clock offsets."""
        found = await deployment.check(self.db, self.settings.mode)
        self.secret = found.secret
        self.rails.update(registry.rails_of(self.settings, self.db, self.secret))
        await self.deps.paused.look(self.db)
        if isinstance(self.clock, ShiftedClock):
            await sandbox_clock.catch_up(self.db, self.clock)


def _reason(error: Exception) -> str:
    """Public; the log has the details."""
    if isinstance(error, WrongDatabase):
        return str(error)
    is_away = isinstance(error, (Unavailable, *AWAY))
    return "the database cannot be reached" if is_away else "the database cannot be used; see the log"


@asynccontextmanager
async def running(forever: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """In the background; started again when it fails."""
    task = asyncio.create_task(_again_and_again(forever))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _again_and_again(forever: Callable[[], Coroutine[Any, Any, None]]) -> None:
    failures = 0
    while True:
        try:
            return await forever()
        except Exception:
            failures += 1
            log.exception("background task failed", task=repr(forever))
        await asyncio.sleep(backoff.pause_s(failures, first_s=PAUSE_FIRST_S, most_s=PAUSE_MOST_S))
