"""How long something takes that has no yardstick: from one moment to another, as somebody waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import quantiles


@dataclass(frozen=True)
class Delay:
    name: str
    description: str
    # What the middle one should stay below.
    aim_s: float
    measure: Callable[[], list[float]]


@dataclass(frozen=True)
class Waited:
    delay: Delay
    seconds: list[float]

    @property
    def p50_s(self) -> float:
        return self._percentile(50)

    @property
    def p99_s(self) -> float:
        return self._percentile(99)

    def _percentile(self, percent: int) -> float:
        return quantiles(self.seconds, n=100, method="inclusive")[percent - 1]
