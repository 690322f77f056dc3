"""The verdict of a comparison of two names, and what is stored of it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class NameVerdict(StrEnum):
    """Exact is credited, close or missing is held for review, different is returned."""

    EXACT = "exact"
    CLOSE = "close"
    DIFFERENT = "different"
    MISSING = "missing"


class NameFinding(msgspec.Struct, frozen=True):
    verdict: NameVerdict
    # One sentence for people.
    reason: str
    steps: tuple[str, ...] = ()

    def doubted(self, doubts: tuple[str, ...]) -> NameFinding:
        """A doubt turns exact into close and changes nothing else."""
        if not doubts or self.verdict is not NameVerdict.EXACT:
            return self
        return NameFinding(NameVerdict.CLOSE, doubts[0], (*self.steps, *doubts))
