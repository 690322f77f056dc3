"""How evenly the machine runs: a loop that only counts, alone, and the moments in which it counts little.

A virtual machine whose host has other guests may be slowed for a tenth of a second at a time, and say nothing about it
itself. Whoever waits just then waits longer, however quick the program is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median
from time import perf_counter

SECONDS = 5.0
SLICE_S = 0.02
# Of the usual count of a slice.
SLOW = 0.5
_TURNS = range(50)


@dataclass(frozen=True)
class Steadiness:
    # Of all slices: those in which the loop counted less than half as far as usual; and the least of them.
    slow_share: float
    slowest: float

    @property
    def sentence(self) -> str:
        return (
            f"A loop that only counts, alone, ran at less than half of its speed in {self.slow_share:.0%} of all"
            f" {1000 * SLICE_S:.0f} ms, at worst at {self.slowest:.0%}"
        )


def measure() -> Steadiness:
    counts: Counter[int] = Counter()
    began_at = perf_counter()
    while (at := int((perf_counter() - began_at) / SLICE_S)) * SLICE_S < SECONDS:
        counts[at] += 1
        for _ in _TURNS:
            pass
    slices = [counts[at] for at in range(round(SECONDS / SLICE_S))]
    usual = median(slices)
    return Steadiness(sum(count < SLOW * usual for count in slices) / len(slices), min(slices) / usual)
