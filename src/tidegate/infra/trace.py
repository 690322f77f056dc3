"""Traces as OpenTelemetry has them, sent as OTLP in JSON over HTTP. Without a collector's address there is no Tracer.

A trace's id is made of the request's id: the worker's webhook is in the trace of the request that caused it, and
either is found by the other.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import structlog

from tidegate.core.clock import SystemClock
from tidegate.infra.lazy_module import LazyModule

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = LazyModule("aiohttp")  # 6 MB, where a collector is named

# Spans that wait; when the collector is away the newest are dropped, never a request delayed.
WAITING_MAX = 4_096
BATCH_MAX = 512
SEND_EVERY_S = 1.0
SEND_TIMEOUT_S = 5.0
# As OTLP numbers them.
SERVER, CLIENT = 2, 3
STATUS_ERROR = 2

log = structlog.get_logger("trace")


def trace_id_of(request_id: str) -> str:
    return hashlib.sha256(request_id.encode()).hexdigest()[:32]


class Tracer:
    def __init__(self, url: str, service: str) -> None:
        self._url = f"{url.rstrip('/')}/v1/traces"
        self._service = service
        self._waiting: list[dict[str, object]] = []
        self._clock = SystemClock()

    def record(
        self, name: str, request_id: str, *, kind: int, seconds: float, attributes: Mapping[str, object], failed: bool
    ) -> None:
        """A span that has just ended."""
        if len(self._waiting) >= WAITING_MAX:
            return
        ended_ns = int(self._clock.now().timestamp() * 1_000_000_000)
        self._waiting.append(
            {
                "traceId": trace_id_of(request_id),
                "spanId": os.urandom(8).hex(),
                "name": name,
                "kind": kind,
                "startTimeUnixNano": str(ended_ns - int(seconds * 1_000_000_000)),
                "endTimeUnixNano": str(ended_ns),
                "attributes": _attributes({"tidegate.request_id": request_id, **attributes}),
                "status": {"code": STATUS_ERROR} if failed else {},
            }
        )

    async def run(self) -> None:
        """Sends until cancelled, and then what is left."""
        timeout = aiohttp.ClientTimeout(total=SEND_TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            try:
                while True:
                    await asyncio.sleep(SEND_EVERY_S)
                    await self._send(session)
            finally:
                await self._send(session)

    async def _send(self, session: aiohttp.ClientSession) -> None:
        while batch := self._waiting[:BATCH_MAX]:
            del self._waiting[: len(batch)]
            try:
                async with session.post(
                    self._url, data=self._encode(batch), headers={"content-type": "application/json"}
                ) as answer:
                    answer.raise_for_status()
            except (aiohttp.ClientError, OSError) as error:
                log.warning("spans were not sent", count=len(batch), error=repr(error))
                return

    def _encode(self, spans: list[dict[str, object]]) -> bytes:
        resource = {"attributes": _attributes({"service.name": self._service})}
        scoped = [{"scope": {"name": "tidegate"}, "spans": spans}]
        return msgspec.json.encode({"resourceSpans": [{"resource": resource, "scopeSpans": scoped}]})


def _attributes(values: Mapping[str, object]) -> list[dict[str, object]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}}
        for key, value in values.items()
    ]
