"""Alive, and ready."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tidegate.core.clock import Clock, SystemClock
from tidegate.core.errors import Refusal
from tidegate.infra import migrate
from tidegate.infra.db import Database
from tidegate.infra.http.application import Application
from tidegate.infra.http.operation import encode
from tidegate.infra.http.routing import Route, answering

PING_TIMEOUT_S = 0.5
CLOCK_SKEW_MAX_S = 2.0


class Health:
    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        # The real time, whatever a sandbox's clock says.
        self._clock = clock or SystemClock()
        self._application: Application | None = None

    def watch(self, application: Application) -> None:
        self._application = application

    def routes(self) -> list[Route]:
        return [
            answering("/healthz", self._alive),
            answering("/readyz", self._ready),
        ]

    async def _alive(self, _: Request) -> Response:
        return _json(200, {"success": True, "message": "alive"})

    async def _ready(self, _: Request) -> Response:
        problems = await self._problems()
        if self._application is not None and self._application.is_draining:
            problems.append("stopping")
        message = "; ".join(problems) or "ready"
        return _json(503 if problems else 200, {"success": not problems, "message": message})

    async def _problems(self) -> list[str]:
        if self._application is not None and self._application.waiting_for is not None:
            return [self._application.waiting_for]
        try:
            async with asyncio.timeout(PING_TIMEOUT_S), self._db.connection() as tx:
                version = await migrate.applied_version(tx)
                there = await tx.fetchval("SELECT clock_timestamp()")
        except (TimeoutError, Refusal):
            return ["the database does not answer"]
        problems = []
        if version < migrate.latest_version():
            problems.append(f"the database is at migration {version}, not {migrate.latest_version()}")
        skew_s = abs((self._clock.now() - there).total_seconds())
        if skew_s > CLOCK_SKEW_MAX_S:
            problems.append(f"this machine's clock and the database's differ by {skew_s:.1f} s")
        return problems


def _json(status: int, value: dict[str, Any]) -> Response:
    return Response(encode(value), status_code=status, media_type="application/json")
