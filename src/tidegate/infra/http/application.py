"""The ASGI application: what every request meets, whatever its path."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

import structlog
from starlette.types import Receive, Scope, Send

from tidegate.core import ids
from tidegate.core import request_id as request_ids
from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Refusal, Unavailable
from tidegate.infra.http.body import BROKEN
from tidegate.infra.http.client import id_by_proxy
from tidegate.infra.http.error_answer import error_body, headers_of, outcome_of, write_log
from tidegate.infra.http.hosts import KnownHosts
from tidegate.infra.http.in_flight import ALWAYS_ANSWERED, AdmissionControl
from tidegate.infra.http.operation import encode
from tidegate.infra.http.reply import JSON, Reply
from tidegate.infra.http.request_head import check_head
from tidegate.infra.http.routing import Route, Routing
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.standby import Standby
from tidegate.infra.telemetry import Meter, is_logged
from tidegate.infra.trace import SERVER, Tracer

FULL_RETRY_AFTER_S = 1
START_RETRY_AFTER_S = 2

Lifespan = Callable[[], AbstractAsyncContextManager[None]]
# Called after every answer, with its status and how long it took.
NoteRequest = Callable[[Scope, int, float], None]
# Answers a refusal with a page; False when the client prefers JSON.
AnswerPage = Callable[[Refusal, int, Scope, Reply], Awaitable[bool]]
log = structlog.get_logger("http")


class Application:
    """Gives each request an id, refuses it while too many are in flight, routes it, and answers errors in one shape."""

    def __init__(
        self,
        routes: Sequence[Route],
        *,
        lifespan: Lifespan,
        meter: Meter,
        trusted_proxies: int = 0,
        answer_page: AnswerPage | None = None,
        hosts: KnownHosts | None = None,
        note: NoteRequest | None = None,
        tracer: Tracer | None = None,
        standby: Standby | None = None,
    ) -> None:
        self.routing = Routing(routes)
        self.admission = AdmissionControl()
        self._lifespan = lifespan
        self._meter = meter
        self._trusted_proxies = trusted_proxies
        self._answer_page = answer_page
        self._hosts = hosts
        self._note = note
        self._standby = standby
        self.tracer = tracer
        self.is_draining = False
        # Why nothing can be served yet.
        self.waiting_for: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await _live(self._lifespan, receive, send)
            return
        scope["app"] = self
        scope["tidegate.trusted_proxies"] = self._trusted_proxies
        request_id = scope["tidegate.request_id"] = id_by_proxy(scope) or ids.new_request_id()
        request_ids.begin(request_id)
        reply = Reply(send, request_id, None if scope["path"] in ALWAYS_ANSWERED else self._standby)
        started = monotonic_s()
        try:
            if self.admission.admit(scope):
                await self._serve(scope, receive, reply)
            else:
                await reply.whole(STATUS_OF[Unavailable], encode(error_body(_FULL, request_id)), _FULL_HEADERS)
        except Exception as error:
            await self._answer_error_if_sure(error, scope, reply)
        finally:
            self.admission.release(scope)
            self._record(scope, reply.status, monotonic_s() - started, request_id)

    async def _serve(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        if BROKEN in scope:
            raise scope[BROKEN]
        check_head(scope)
        if self._hosts is not None:
            self._hosts.refuse_unknown(scope)
        if self.waiting_for is not None and scope["path"] not in ALWAYS_ANSWERED:
            raise Unavailable(
                f"starting: {self.waiting_for}; retry after {START_RETRY_AFTER_S} s", retry_after_s=START_RETRY_AFTER_S
            )
        await self.routing(scope, receive, reply)

    async def _answer_error_if_sure(self, error: Exception, scope: Scope, reply: Reply) -> None:
        try:
            await self._answer_error(error, scope, reply)
        except Unavailable as unsure:  # A refusal rests on what was read, which no standby may have.
            if unsure is error:
                raise
            await self._answer_error(unsure, scope, reply)

    async def _answer_error(self, error: Exception, scope: Scope, reply: Reply) -> None:
        if reply.status:  # The answer has begun; all that is left is to cut it.
            write_log(log.error, "answer cut short", request_id=scope["tidegate.request_id"], exc_info=error)
            raise error
        status, refusal = outcome_of(error, scope)
        scope["tidegate.refusal"] = refusal
        if self._answer_page is None or not await self._answer_page(refusal, status, scope, reply):
            await _send_json(refusal, status, scope["tidegate.request_id"], reply)

    def _record(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        operation = scope.get("tidegate.operation", "other")
        self._meter.observe_request(operation, status, seconds)
        if self._note is not None:
            self._note(scope, status, seconds)
        if self.tracer is not None:
            facts = {"http.request.method": scope["method"], "http.response.status_code": status}
            self.tracer.record(
                operation, request_id, kind=SERVER, seconds=seconds, attributes=facts, failed=status >= 500
            )
        if is_logged(logging.INFO):
            write_log(
                log.info,
                "request",
                request_id=request_id,
                method=scope["method"],
                operation=operation,
                status=status,
                ms=round(seconds * 1000, 2),
                caller=str(scope.get("tidegate.caller") or ""),
            )


def _send_json(refusal: Refusal, status: int, request_id: str, reply: Reply) -> Awaitable[None]:
    return reply.whole(status, encode(error_body(refusal, request_id)), [*JSON, *headers_of(refusal, status)])


# Prepared: what refusals cost is taken from the requests that were admitted.
_FULL = Unavailable(f"too many requests at once; retry after {FULL_RETRY_AFTER_S} s", retry_after_s=FULL_RETRY_AFTER_S)
_FULL_HEADERS = [*JSON, *headers_of(_FULL, STATUS_OF[Unavailable])]


async def _live(lifespan: Lifespan, receive: Receive, send: Send) -> None:
    await receive()
    try:
        async with lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
    except Exception as error:
        log.error("could not start", exc_info=error)
        await send({"type": "lifespan.startup.failed", "message": str(error)})
        raise
    await send({"type": "lifespan.shutdown.complete"})
