"""What a section of the benchmark found: numbers with an aim instead of a yardstick."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    what: str
    measured: float
    unit: str = ""
    # None when it is only told.
    at_most: float | None = None
    at_least: float | None = None
    decimals: int = 0

    @property
    def is_reached(self) -> bool | None:
        if self.at_most is not None:
            return self.measured <= self.at_most
        if self.at_least is not None:
            return self.measured >= self.at_least
        return None

    @property
    def measured_text(self) -> str:
        return self._text(self.measured)

    @property
    def aim_text(self) -> str:
        if self.at_most is not None:
            return f"≤ {self._text(self.at_most)}"
        if self.at_least is not None:
            return f"≥ {self._text(self.at_least)}"
        return ""

    def _text(self, number: float) -> str:
        return f"{number:,.{self.decimals}f} {self.unit}".rstrip()


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    findings: list[Finding]
    # What must be known to believe them, in sentences.
    notes: list[str] = field(default_factory=list)
    # For the results file only.
    details: dict[str, Any] = field(default_factory=dict)
