"""Requests on their way into the log: noted in memory, written in batches beside the requests, never in their way."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

import structlog
from msgspec.structs import replace
from starlette.types import Scope

from tidegate.core.clock import Clock
from tidegate.core.errors import Refusal, Unavailable
from tidegate.infra.db import Database
from tidegate.infra.http.client import client_of
from tidegate.infra.telemetry import Meter
from tidegate.merchant.model import Caller
from tidegate.request_log import store
from tidegate.request_log.model import PATH_LENGTH_MAX, LoggedRequest, masked

WRITE_EVERY_S = 1.0
# Of each kind between two writes, in each process. More are dropped and counted: a log of everything would cost the
# database as much as the requests themselves.
WAITING_MAX = 200

log = structlog.get_logger("request_log")


class _Noted(NamedTuple):
    """Not the scope, which would keep the whole request for as long."""

    request: LoggedRequest
    # As it came; it is masked beside the requests.
    body: bytes


class RequestRecorder:
    def __init__(self, db: Database, clock: Clock, meter: Meter) -> None:
        """`clock` is the real one: the log tells when a request came, not what time a sandbox plays."""
        self._db, self._clock, self._meter = db, clock, meter
        self._successes: deque[_Noted] = deque()
        # Apart, so that many successes do not push them out.
        self._errors: deque[_Noted] = deque()
        self._dropped = 0

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        """Of requests whose business is known."""
        caller = scope.get("tidegate.caller")
        if not isinstance(caller, Caller):
            return
        waiting = self._errors if status >= 400 else self._successes
        if len(waiting) >= WAITING_MAX:
            self._dropped += 1
            return
        body = scope.get("tidegate.body", b"") if status >= 400 else b""
        waiting.append(_Noted(self._logged(caller, scope, status, seconds), body))

    async def keep_writing(self) -> None:
        """Runs for as long as the process serves requests."""
        while True:
            await asyncio.sleep(WRITE_EVERY_S)
            await self.write()

    async def write(self) -> None:
        noted = [*self._errors, *self._successes]
        self._errors.clear()
        self._successes.clear()
        self._meter.count_dropped_logs(self._dropped)
        self._dropped = 0
        if not noted:
            return
        try:
            async with self._db.connection() as tx:
                await store.insert_all(tx, [replace(one.request, body=masked(one.body)) for one in noted])
        except Unavailable:
            self._meter.count_dropped_logs(len(noted))
        except Exception as error:
            # A log that cannot be written ends no process.
            log.error("requests were not logged", count=len(noted), exc_info=error)

    def _logged(self, caller: Caller, scope: Scope, status: int, seconds: float) -> LoggedRequest:
        refusal: Refusal | None = scope.get("tidegate.refusal")
        return LoggedRequest(
            business_id=caller.business.id,
            request_id=scope["tidegate.request_id"],
            key_id=caller.key.id,
            method=scope["method"],
            path=_path(scope["path"]),
            operation=scope.get("tidegate.operation", "other"),
            status=status,
            duration_ms=round(seconds * 1000),
            address=client_of(scope)[:50],
            error_type=refusal.error_type if refusal else None,
            message=refusal.message[:500].replace("\0", "\ufffd") if refusal else None,
            body=None,
            created_at=self._clock.now(),
        )


def _path(path: str) -> str:
    return path[:PATH_LENGTH_MAX].replace("\0", "\ufffd")
