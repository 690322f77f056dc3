"""The verdict of a comparison of two names, and what is stored of it."""

from __future__ import annotations

import msgspec

from tidegate.core.described_enum import DescribedEnum


class NameVerdict(DescribedEnum):
    """Exact is credited, close or missing is held for review, different is returned."""

    EXACT = "exact", "The same name: credited."
    CLOSE = "close", "Almost the same, such as one other letter: held for review."
    DIFFERENT = "different", "Another name: returned to the payer."
    MISSING = "missing", "The bank passed on no name: held for review."


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
