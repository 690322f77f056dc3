"""What browsers refused to run in our pages, one log line each: the first sign of a page that was tampered with."""

from __future__ import annotations

import re
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from tidegate.core.errors import Malformed, UnsupportedMediaType
from tidegate.infra.http import strict_json
from tidegate.infra.http.body import read_body
from tidegate.infra.http.client import client_of
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.request_limit import Allowance, Limiter
from tidegate.infra.http.routing import Route, answering

REPORTS_PATH = "/csp-reports"
EACH_ADDRESS = Allowance("reports of address", per_second=0.1, burst=5)
ALL = Allowance("reports", per_second=2.0, burst=50)
_MEDIA_TYPES = frozenset({"application/reports+json", "application/csp-report", "application/json"})
# A word such as `inline`, or where something came from: the rest of an address may be private.
_WORD_OR_HOST = re.compile(r"[a-z-]{1,40}\Z|[a-z][a-z0-9+.-]{0,20}://[A-Za-z0-9.:\[\]-]{1,100}(?=[/?#]|\Z)")
log = structlog.get_logger("page")


class Reports:
    """Anyone may send anything here: the rate is limited, and only values of a known form are logged."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    def routes(self) -> list[Route]:
        return [answering(REPORTS_PATH, self._receive, methods=["POST"], limit=self._refuse_flood)]

    async def _receive(self, request: Request) -> Response:
        headers = Headers(request.scope["headers"])
        media = (headers.one(b"content-type") or "").partition(";")[0].strip().lower()
        if media not in _MEDIA_TYPES:
            raise UnsupportedMediaType("send Content-Type: application/reports+json")
        report = _first_of(strict_json.loads(await read_body(headers, request.scope, request.receive)))
        directive = report.get("effectiveDirective") or report.get("effective-directive")
        blocked = report.get("blockedURL") or report.get("blocked-uri")
        log.warning("blocked by a browser", directive=_known(directive), blocked=_known(blocked))
        return Response(status_code=204)

    def _refuse_flood(self, scope: Scope) -> None:
        scope["tidegate.operation"] = "reportViolation"
        counted = (*EACH_ADDRESS.of_address(client_of(scope)), ALL.of(""))
        self._limiter.check(counted, "too many reports; wait a little")


def _first_of(value: Any) -> dict[str, Any]:
    """Newer browsers send a list of reports, older ones a single one under another name."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        report = value[0].get("body")
    else:
        report = value.get("csp-report") if isinstance(value, dict) else None
    if not isinstance(report, dict):
        raise Malformed("this is not a report as browsers send them")
    return report


def _known(value: Any) -> str:
    match = _WORD_OR_HOST.match(value) if isinstance(value, str) else None
    return match[0] if match else "unknown"
