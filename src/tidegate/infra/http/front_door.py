"""What every request meets, whatever its path: an id, a place in the queue, headers, a log line, an answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import structlog
from starlette.types import Receive, Scope, Send

from tidegate.core import ids
from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Invalid, MethodNotAllowed, Refusal, Unavailable
from tidegate.infra.gathering import Backlog
from tidegate.infra.http.hosts import KnownHosts
from tidegate.infra.http.operation import RawHeaders, encode
from tidegate.infra.http.places import ALWAYS_OPEN, IS_LET_IN, Places
from tidegate.infra.http.reply import EVERYWHERE_NOT_STORED, JSON, Reply
from tidegate.infra.http.routing import Route, Routing
from tidegate.infra.http.shed import REQUEST_ID, Held, PreparedAnswer
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.telemetry import Meter, is_said

SHED_RETRY_AFTER_S = 1
START_RETRY_AFTER_S = 2
# After these the rest of the request may still be on the wire, so the connection cannot be used again.
_CLOSES = frozenset({400, 408, 413, 415})

Lifespan = Callable[[], AbstractAsyncContextManager[None]]
# Says a refusal as a page; False when the client would rather have JSON.
AnswerPage = Callable[[Refusal, int, Scope, Reply], Awaitable[bool]]
log = structlog.get_logger("http")


class FrontDoor:
    """The ASGI application."""

    def __init__(
        self,
        routes: Sequence[Route],
        *,
        lifespan: Lifespan,
        meter: Meter,
        backlog: Backlog | None = None,
        trusted_proxies: int = 0,
        answer_page: AnswerPage | None = None,
        hosts: KnownHosts | None = None,
    ) -> None:
        self.routing = Routing(routes)
        self._lifespan = lifespan
        self._requests = meter.requests
        self._trusted_proxies = trusted_proxies
        self._answer_page = answer_page
        self._hosts = hosts
        self.places = Places(backlog or Backlog())
        self.held = Held()
        self.is_draining = False
        # Why nothing can be served yet.
        self.waiting_for: str | None = None

    def count_turned_away(self, count: int, seconds: float) -> None:
        self._requests.add("other", 503, seconds, count)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await _live(self._lifespan, receive, send)
            return
        request_id = scope["tidegate.request_id"] = ids.new_request_id()
        scope["app"] = self
        scope["tidegate.trusted_proxies"] = self._trusted_proxies
        reply = Reply(send, request_id)
        started = monotonic_s()
        if IS_LET_IN not in scope:  # Behind another server than ours nobody has done it.
            self.places.take(scope)
        self.places.begin()
        try:
            if not scope[IS_LET_IN]:
                raise _full()
            if self._hosts is not None:
                self._hosts.refuse_unknown(scope)
            if self.waiting_for is not None and scope["path"] not in ALWAYS_OPEN:
                raise Unavailable(f"starting: {self.waiting_for}; try again", retry_after_s=START_RETRY_AFTER_S)
            await self.routing(scope, receive, reply)
        except Exception as error:
            await self._answer_error(error, scope, reply)
        finally:
            self.places.leave(scope)
            self._record(scope, reply.status, monotonic_s() - started, request_id)

    async def _answer_error(self, error: Exception, scope: Scope, reply: Reply) -> None:
        if reply.status:  # The answer has begun; all that is left is to cut it.
            _say(log.error, "answer cut short", request_id=scope["tidegate.request_id"], exc_info=error)
            raise error
        status, refusal = outcome_of(error, scope)
        if self._answer_page is not None and await self._answer_page(refusal, status, scope, reply):
            return
        body = encode(error_body(refusal, scope["tidegate.request_id"]))
        await reply.whole(status, body, headers=headers_of(refusal, status))

    def _record(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        operation = scope.get("tidegate.operation", "other")
        self._requests.add(operation, status, seconds)
        if is_said(logging.INFO):
            _say(
                log.info,
                "request",
                request_id=request_id,
                method=scope["method"],
                operation=operation,
                status=status,
                ms=round(seconds * 1000, 2),
                caller=str(scope.get("tidegate.caller", "")),
            )


def _say(write: Callable[..., Any], event: str, **fields: Any) -> None:
    """A log that cannot be written, on a full disk or a closed pipe, must not cost the client an answer."""
    with suppress(OSError, ValueError):
        write(event, **fields)


def outcome_of(error: Exception, scope: Scope) -> tuple[int, Refusal]:
    """The status, and what to say. What nobody expected is logged, and of it nothing is said."""
    if isinstance(error, Refusal):
        return STATUS_OF[type(error)], error
    _say(log.error, "unexpected", request_id=scope["tidegate.request_id"], exc_info=error)
    return 500, _INTERNAL


def headers_of(refusal: Refusal, status: int) -> RawHeaders:
    """What a client must know of a refusal, in whatever form the rest is said."""
    headers: RawHeaders = []
    if isinstance(refusal, MethodNotAllowed):
        headers.append((b"allow", ", ".join(refusal.allowed).encode()))
    if refusal.retry_after_s is not None:
        headers.append((b"retry-after", str(refusal.retry_after_s).encode()))
    if status in _CLOSES:
        headers.append((b"connection", b"close"))
    return headers


class _Internal(Refusal):
    error_type = "INTERNAL_ERROR"


_INTERNAL = _Internal("something went wrong on our side; quote the request id when you report it")


def error_body(refusal: Refusal, request_id: str) -> dict[str, Any]:
    problems = refusal.problems if isinstance(refusal, Invalid) else ()
    body: dict[str, Any] = {
        "status": False,
        "success": False,
        "message": refusal.message,
        "error": refusal.message,
        "errorType": refusal.error_type,
        "errors": [{"field": problem.field, "message": problem.message} for problem in problems],
        "requestId": request_id,
    }
    if refusal.data is not None:
        body["data"] = refusal.data
    return body


def _full() -> Unavailable:
    return Unavailable("too many requests at once; try again", retry_after_s=SHED_RETRY_AFTER_S)


WHEN_FULL = PreparedAnswer(
    STATUS_OF[Unavailable],
    [*JSON.headers, *headers_of(_full(), STATUS_OF[Unavailable]), *EVERYWHERE_NOT_STORED.headers],
    encode(error_body(_full(), REQUEST_ID)),
)


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
