"""What a comparison of two names can come to, and what is kept of it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class NameVerdict(StrEnum):
    """Exact is credited, close or missing is held for a person to look at, different is returned."""

    EXACT = "exact"
    CLOSE = "close"
    DIFFERENT = "different"
    MISSING = "missing"


class Finding(msgspec.Struct, frozen=True):
    verdict: NameVerdict
    # One sentence that a person understands.
    reason: str
    steps: tuple[str, ...] = ()

    def doubted(self, doubts: tuple[str, ...]) -> Finding:
        """A doubt never makes a name worse than close, but it can no longer be exact."""
        if not doubts or self.verdict is not NameVerdict.EXACT:
            return self
        return Finding(NameVerdict.CLOSE, doubts[0], (*self.steps, *doubts))
