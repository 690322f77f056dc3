"""A limit on how many requests are in flight in one process. The rest are refused at once."""

from __future__ import annotations

from starlette.types import Scope

# About a tenth of a second's work: a client that would wait longer had better retry later.
IN_FLIGHT_MAX = 512
# A load balancer must not take a full server for a dead one.
ALWAYS_ANSWERED = ("/healthz", "/readyz")
# Set in the scope of a request that was refused because the process is full.
WAS_FULL = "tidegate.was_full"
_IS_COUNTED = "tidegate.is_counted"


class AdmissionControl:
    def __init__(self) -> None:
        self._in_flight = 0

    def admit(self, scope: Scope) -> bool:
        if self._in_flight >= IN_FLIGHT_MAX and scope["path"] not in ALWAYS_ANSWERED:
            scope[WAS_FULL] = True
            return False
        self._in_flight += 1
        scope[_IS_COUNTED] = True
        return True

    def release(self, scope: Scope) -> None:
        """When the request ends. A stream that only waits for its client is released early."""
        if scope.pop(_IS_COUNTED, False):
            self._in_flight -= 1
