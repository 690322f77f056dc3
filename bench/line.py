"""A line of the table: something of ours, and the yardstick it is measured against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class BenchFailed(Exception):
    """The numbers would be wrong; the message says why."""


@dataclass(frozen=True)
class Sample:
    """What one run did. `details` go into the results file only."""

    count: int
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return self.count / self.seconds

    @property
    def others_share(self) -> float:
        """Of the machine's CPU, used by processes that are not ours."""
        return float(self.details.get("others_share", 0.0))


# Given how many seconds to run.
Run = Callable[[float], Sample]


@dataclass(frozen=True)
class Line:
    name: str
    description: str
    yardstick: str
    run_ours: Run
    run_yardstick: Run
    target: float
    # The name of a line that does the same under easier circumstances. This one's target is its rate over that one's,
    # and its yardstick is only told.
    compared_to: str | None = None
