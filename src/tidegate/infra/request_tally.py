"""How long requests took. Added up here, and told to prometheus now and then: telling it of each costs seven times as
much, and every answer would pay for it."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Histogram

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
# So old may be what other processes show of this one; so much of it is lost when it is killed.
TELL_AFTER_S = 1.0


@dataclass(slots=True)
class _Sum:
    seconds: float = 0.0
    # By bucket; the last one has no end.
    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))


class RequestTally:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._told = Histogram(
            "tidegate_request_seconds",
            "Time to answer, by operation and status.",
            ("operation", "status"),
            buckets=BUCKETS_S,
            registry=registry,
        )
        # By operation and status.
        self._untold: dict[tuple[str, int], _Sum] = {}

    def add(self, operation: str, status: int, seconds: float, count: int = 1) -> None:
        sum_ = self._untold.get((operation, status))
        if sum_ is None:
            sum_ = self._begin(operation, status)
        sum_.seconds += seconds * count
        sum_.counts[bisect_left(BUCKETS_S, seconds)] += count

    def _begin(self, operation: str, status: int) -> _Sum:
        if not self._untold:
            asyncio.get_running_loop().call_later(TELL_AFTER_S, self.tell)
        begun = self._untold[operation, status] = _Sum()
        return begun

    def tell(self) -> None:
        # Taken away first: if telling fails, nothing is told twice, and what comes next is told again.
        untold, self._untold = self._untold, {}
        for (operation, status), sum_ in untold.items():
            told = self._told.labels(operation, str(status))
            told._sum.inc(sum_.seconds)
            for bucket, count in zip(told._buckets, sum_.counts, strict=True):
                bucket.inc(count)
