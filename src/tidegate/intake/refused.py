"""Notifications without a valid signature. The endpoint is public, so they are counted, limited and rarely logged."""

from __future__ import annotations

import structlog
from starlette.types import Scope

from tidegate.core.clock import monotonic_s
from tidegate.infra.http.client import client_of
from tidegate.infra.http.request_limit import Allowance, Limiter
from tidegate.infra.telemetry import Meter

# Per client address. Signed notifications are never limited.
REFUSED = Allowance("refused notifications", per_second=1, burst=60)
LOGGED_EVERY_S = 60.0
log = structlog.get_logger("intake")


class RefusedNotifications:
    def __init__(self, limiter: Limiter, meter: Meter) -> None:
        self._limiter = limiter
        self._meter = meter
        # By kind: the time of the last log line, and the count since.
        self._logged: dict[str, tuple[float, int]] = {}

    def check(self, scope: Scope) -> None:
        self._limiter.refuse(
            REFUSED.of_address(client_of(scope)),
            "too many notifications were refused; wait as long as Retry-After says, then send only signed ones",
        )

    def count(self, kind: str, why: str, scope: Scope) -> None:
        self._limiter.count(REFUSED.of_address(client_of(scope)))
        self._meter.count_refused_notification(kind)
        logged_at, since = self._logged.get(kind, (float("-inf"), 0))
        if monotonic_s() - logged_at < LOGGED_EVERY_S:
            self._logged[kind] = logged_at, since + 1
            return
        self._logged[kind] = monotonic_s(), 0
        log.warning("a notification was refused", kind=kind, why=why, more_since_last_line=since)
