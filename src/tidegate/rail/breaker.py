"""Whether a rail answers. While it does not, its methods are not offered, so that payers choose another."""

from __future__ import annotations

from tidegate.core.clock import monotonic_s

FAILURES_MAX = 5
PAUSE_S = 30.0


class Breaker:
    """Of one process. After the pause one call is tried; if it fails, the pause begins again."""

    def __init__(self) -> None:
        self._failures = 0
        self._down_until_s = 0.0

    @property
    def is_up(self) -> bool:
        return monotonic_s() >= self._down_until_s

    def succeeded(self) -> None:
        self._failures = 0
        self._down_until_s = 0.0

    def failed(self) -> None:
        self._failures += 1
        if self._failures >= FAILURES_MAX:
            self._down_until_s = monotonic_s() + PAUSE_S

    def refused(self) -> None:
        """The rail refuses us: no call can succeed."""
        self._failures = FAILURES_MAX
        self.failed()
