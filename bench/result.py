"""What the rounds of a line say, and whether that is what was aimed at."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from bench.line import Line, Sample


@dataclass(frozen=True)
class Round:
    ours: Sample
    yardstick: Sample

    @property
    def ratio(self) -> float:
        return self.ours.per_second / self.yardstick.per_second

    @property
    def others_share(self) -> float:
        return max(self.ours.others_share, self.yardstick.others_share)


@dataclass(frozen=True)
class Result:
    line: Line
    rounds: list[Round]
    disturbed: list[Round]
    """Taken again, whatever they showed, because others used the machine meanwhile."""

    @property
    def ratios(self) -> list[float]:
        return [one.ratio for one in self.rounds]

    @property
    def ours_per_s(self) -> float:
        return median(one.ours.per_second for one in self.rounds)

    @property
    def yardstick_per_s(self) -> float:
        return median(one.yardstick.per_second for one in self.rounds)

    @property
    def others_share(self) -> float:
        """In the worst round: above a few percent, the numbers are guesses."""
        return max(one.others_share for one in self.rounds)


@dataclass(frozen=True)
class Verdict:
    """A line as it is told: its ratio over what it is judged by, and the target."""

    name: str
    description: str
    over: str
    ours_per_s: float
    over_per_s: float
    ratios: list[float]
    target: float | None
    # When it is judged by another line: its ratio over its own yardstick all the same.
    own_yardstick: str | None = None
    own_ratio: float | None = None

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def spread(self) -> tuple[float, float]:
        return min(self.ratios), max(self.ratios)

    @property
    def is_reached(self) -> bool | None:
        return None if self.target is None else self.ratio >= self.target


def judge(results: list[Result]) -> list[Verdict]:
    by_name = {result.line.name: result for result in results}
    return [_judge(result, by_name) for result in results]


def _judge(result: Result, by_name: dict[str, Result]) -> Verdict:
    line = result.line
    if line.compared_to is None:
        return Verdict(
            line.name, line.description, line.yardstick, result.ours_per_s, result.yardstick_per_s, result.ratios,
            line.target,
        )  # fmt: skip
    other = by_name.get(line.compared_to)
    if other is None:  # The other line was not measured, so that there is nothing to judge this one by.
        return Verdict(
            line.name, line.description, line.yardstick, result.ours_per_s, result.yardstick_per_s, result.ratios, None
        )
    ratios = [one.ours.per_second / other.ours_per_s for one in result.rounds]
    return Verdict(
        line.name, line.description, f"the line {other.line.name}", result.ours_per_s,
        other.ours_per_s, ratios, line.target, line.yardstick, median(result.ratios),
    )  # fmt: skip
