"""The table for people, and the file with every number."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from bench import growth_report
from bench.delay import Waited
from bench.growth import Growth
from bench.line import Line, Sample
from bench.stage import SHOPS, Options, Stage

RESULTS = Path(__file__).parent / "results" / "latest.json"


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
    def ratio(self) -> float:
        return median(self.ratios)

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
class Comparison:
    """The speed of a line as a share of another's, on either side."""

    name: str
    ours: float
    yardstick: float


def compare(result: Result, results: list[Result]) -> Comparison | None:
    other = next((one for one in results if one.line.name == result.line.compared_to), None)
    if other is None:
        return None
    return Comparison(
        other.line.name, result.ours_per_s / other.ours_per_s, result.yardstick_per_s / other.yardstick_per_s
    )


def table_of(results: list[Result], options: Options) -> Table:
    title = f"{options.workers} API process(es), {options.connections} connections, log level {options.log_level}"
    table = Table(title=title)
    for name in ("line", "yardstick"):
        table.add_column(name)
    for name in ("ours /s", "yardstick /s", "ratio", "spread", "target", "others"):
        table.add_column(name, justify="right")
    for result in results:
        colour = "green" if result.ratio >= result.line.target else "yellow"
        table.add_row(
            f"[bold]{result.line.name}[/]: {result.line.description}",
            result.line.yardstick,
            f"{result.ours_per_s:,.0f}",
            f"{result.yardstick_per_s:,.0f}",
            f"[bold {colour}]{result.ratio:.2f}[/]",
            f"{min(result.ratios):.2f}..{max(result.ratios):.2f}",
            f"{result.line.target:.2f}",
            f"{result.others_share:.0%}",
        )
    compared = [(result.line.name, compare(result, results)) for result in results]
    table.caption = "\n".join(
        f"{name} reaches {found.ours:.2f} of {found.name}; its yardstick, {found.yardstick:.2f}"
        for name, found in compared
        if found
    )
    return table


def delays_of(waited: list[Waited]) -> Table:
    table = Table()
    table.add_column("delay")
    for name in ("p50", "p99", "longest", "aim", "times"):
        table.add_column(name, justify="right")
    for one in waited:
        colour = "green" if one.p50_s <= one.delay.aim_s else "yellow"
        table.add_row(
            f"[bold]{one.delay.name}[/]: {one.delay.description}",
            f"[bold {colour}]{one.p50_s * 1000:,.0f} ms[/]",
            f"{one.p99_s * 1000:,.0f} ms",
            f"{max(one.seconds) * 1000:,.0f} ms",
            f"{one.delay.aim_s * 1000:,.0f} ms",
            str(len(one.seconds)),
        )
    return table


def write(results: list[Result], waited: list[Waited], grown: Growth | None, stage: Stage) -> None:
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(stage),
        "options": {**asdict(stage.options), "businesses": SHOPS},
        "lines": [_as_json(result, compare(result, results)) for result in results],
        "delays": [
            {
                "name": one.delay.name,
                "aim_s": one.delay.aim_s,
                "p50_s": one.p50_s,
                "p99_s": one.p99_s,
                "all": one.seconds,
            }
            for one in waited
        ],
        "growth": growth_report.as_json(grown) if grown else None,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _as_json(result: Result, comparison: Comparison | None) -> dict[str, Any]:
    return {
        "name": result.line.name,
        "description": result.line.description,
        "yardstick": result.line.yardstick,
        "target": result.line.target,
        "ratio": round(result.ratio, 4),
        "compared_to": asdict(comparison) if comparison else None,
        "rounds": [_round(one) for one in result.rounds],
        "disturbed": [_round(one) for one in result.disturbed],
    }


def _round(one: Round) -> dict[str, Any]:
    return {"ratio": round(one.ratio, 4), "ours": _sample(one.ours), "yardstick": _sample(one.yardstick)}


def _sample(sample: Sample) -> dict[str, Any]:
    return {"per_second": round(sample.per_second, 1), **asdict(sample)}


def _machine(stage: Stage) -> dict[str, Any]:
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": _cpu_model(),
        "memory_mb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1024 * 1024),
        "system": platform.platform(),
        "python": platform.python_version(),
        "postgresql": stage.fetchrow("SHOW server_version")["server_version"],
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
