"""Time that passes when a test says so."""

from __future__ import annotations


class Stopwatch:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now
