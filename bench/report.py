"""What is measured, and how it is printed: Markdown, so that a run can be pasted into docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import click

from bench.usage import Usage

_MARKS = {True: "✓", False: "✗", None: ""}
_LINES_HEAD = (
    "\n| line | over | ours/s | over/s | ratio | spread | target | | CPU per answer, µs (of the yardstick) |\n"
    "|---|---|--:|--:|--:|--:|--:|:-:|---|\n"
)
# Below this share of the machine, other programs change a ratio by no more than its ordinary spread.
QUIET_SHARE = 0.08


class BenchFailed(click.ClickException):
    """The numbers would be wrong; the message says why."""


@dataclass(frozen=True)
class Sample:
    """One run: what was counted, in how many seconds, and how many answers there were in all."""

    count: int
    seconds: float
    answers: int
    usage: Usage
    # Of latencies; of a run at a rate only.
    percentiles_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return self.count / self.seconds


# Given how many seconds to run.
Run = Callable[[float], Sample]


@dataclass(frozen=True)
class Line:
    """Something of ours, and the yardstick that it is measured against."""

    name: str
    yardstick: str
    run_ours: Run
    run_yardstick: Run
    target: float


@dataclass(frozen=True)
class Result:
    """The rounds of a line: ours and the yardstick's."""

    line: Line
    rounds: Sequence[tuple[Sample, Sample]]

    @property
    def ratios(self) -> list[float]:
        return [ours.per_second / other.per_second for ours, other in self.rounds]

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def is_reached(self) -> bool:
        return self.ratio >= self.line.target

    @property
    def row(self) -> str:
        sides = list(zip(*self.rounds, strict=True))
        ours, other = (median(sample.per_second for sample in side) for side in sides)
        return (
            f"| `{self.line.name}` | {self.line.yardstick} | {ours:,.0f} | {other:,.0f} | **{self.ratio:.2f}** |"
            f" {min(self.ratios):.2f}–{max(self.ratios):.2f} | ≥ {self.line.target:.2f} | {_MARKS[self.is_reached]} |"
            f" {_cpu_us(sides[0])} ({_cpu_us(sides[1])}) |"
        )

    @property
    def faults(self) -> list[str]:
        faults = [] if self.is_reached else [f"{self.line.name}: {self.ratio:.2f}, target {self.line.target:.2f}"]
        others = max(sample.usage.others_share for both in self.rounds for sample in both)
        if others > QUIET_SHARE:
            faults.append(f"{self.line.name}: other programs used up to {others:.0%} of the machine")
        return faults


def _cpu_us(samples: Sequence[Sample]) -> str:
    medians = {name: median(sample.usage.cpu_us[name] for sample in samples) for name in samples[0].usage.cpu_us}
    return ", ".join(f"{name} {us:,.0f}" for name, us in medians.items() if us >= 0.5)


@dataclass(frozen=True)
class Finding:
    """A number with an aim instead of a yardstick; without an aim, it is only reported."""

    what: str
    measured: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    decimals: int = 0

    @property
    def is_reached(self) -> bool | None:
        if self.at_most is not None:
            return self.measured <= self.at_most
        return None if self.at_least is None else self.measured >= self.at_least

    @property
    def cells(self) -> tuple[str, str]:
        """What was measured, and the aim."""
        sign, aim = ("≤", self.at_most) if self.at_least is None else ("≥", self.at_least)
        return self._text(self.measured), "" if aim is None else f"{sign} {self._text(aim)}"

    def _text(self, number: float) -> str:
        return f"{number:,.{self.decimals}f} {self.unit}".rstrip()


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    findings: Sequence[Finding]
    # What must be known to believe them, in one paragraph.
    note: str = ""

    @property
    def table(self) -> str:
        rows = [f"| `{self.name}`: {self.title} | measured | aim | |", "|---|--:|--:|:-:|"]
        for one in self.findings:
            measured, aim = one.cells
            rows.append(f"| {one.what} | **{measured}** | {aim} | {_MARKS[one.is_reached]} |")
        return "\n".join([*rows, "", self.note] if self.note else rows)

    @property
    def faults(self) -> list[str]:
        return [f"{self.name}, {one.what}: {one.cells[0]}" for one in self.findings if one.is_reached is False]


class Report:
    """Printed as it is measured, so that a run that is stopped has said what it knows."""

    def __init__(self) -> None:
        self._head = _LINES_HEAD
        self._faults: list[str] = []

    def add_line(self, result: Result) -> None:
        print(self._head + result.row, flush=True)
        self._head = ""
        self._faults += result.faults

    def add_section(self, section: Section) -> None:
        print(f"\n{section.table}", flush=True)
        self._faults += section.faults

    def close(self) -> None:
        missed = "\n".join(["\nNot as it should be:\n", *(f"- {fault}" for fault in self._faults)])
        print(missed if self._faults else "\nEvery target is reached.")


def percentiles_ms(latencies_s: Sequence[float]) -> dict[str, float]:
    ordered = sorted(latencies_s)
    if not ordered:
        return {}
    places = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    last = len(ordered) - 1
    return {name: 1000 * ordered[min(int(len(ordered) * share), last)] for name, share in places.items()}
