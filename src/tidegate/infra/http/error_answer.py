"""How an error is answered: its status, its headers and its body."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog
from starlette.types import Scope

from tidegate.core.errors import Invalid, MethodNotAllowed, Refusal
from tidegate.infra.http.operation import RawHeaders
from tidegate.infra.http.status import STATUS_OF

# After these the rest of the request may still be on the wire, so the connection cannot be used again.
_CLOSES = frozenset({400, 408, 413, 414, 415, 431})
log = structlog.get_logger("http")


def write_log(write: Callable[..., Any], event: str, **fields: Any) -> None:
    """A log that cannot be written, on a full disk or a closed pipe, must not cost the client an answer."""
    with suppress(OSError, ValueError):
        write(event, **fields)


def outcome_of(error: Exception, scope: Scope) -> tuple[int, Refusal]:
    """The status, and what to say. An unexpected error is logged; the client sees only that it happened."""
    if isinstance(error, Refusal):
        return STATUS_OF[type(error)], error
    write_log(log.error, "unexpected", request_id=scope["tidegate.request_id"], exc_info=error)
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
