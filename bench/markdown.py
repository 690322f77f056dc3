"""The same tables in Markdown; `python -m bench.publish` puts them into docs/performance.md."""

from __future__ import annotations

from bench.delay import Waited
from bench.finding import Section
from bench.growth import AIM as GROWTH_AIM
from bench.growth import Growth
from bench.result import Verdict
from bench.run import Run

_MARKS = {True: "✓", False: "✗", None: ""}
# Between the numbers and where their time goes, which stand in two places of the document.
DIVIDER = "<!-- where the time goes -->"
_PROCESSES = ("server", "worker", "postgres", "client", "receiver")


def text_of(run: Run) -> str:
    parts = ["\n".join(f"- {sentence}" for sentence in run.machine.sentences)]
    if run.results:
        parts += [_lines(run.verdicts), *run.notes]
    if run.waited:
        parts.append(_delays(run.waited))
    parts += [_section(section) for section in run.sections]
    if run.grown:
        parts.append(_growth(run.grown))
    return "\n\n".join([*parts, DIVIDER, _cpu(run)]) + "\n"


def _lines(verdicts: list[Verdict]) -> str:
    rows = ["| line | over | ours/s | over/s | ratio | spread | target | |", "|---|---|--:|--:|--:|--:|--:|:-:|"]
    for one in verdicts:
        low, high = one.spread
        target = "" if one.target is None else f"≥ {one.target:.2f}"
        rows.append(
            f"| `{one.name}` | {one.over} | {one.ours_per_s:,.0f} | {one.over_per_s:,.0f} | **{one.ratio:.2f}** |"
            f" {low:.2f}–{high:.2f} | {target} | {_MARKS[one.is_reached]} |"
        )
    return "\n".join(rows)


def _cpu(run: Run) -> str:
    rows = [
        f"| CPU per answer, µs | {' | '.join(_PROCESSES)} |",
        f"|---|{'--:|' * len(_PROCESSES)}",
    ]
    for result in run.results:
        spent = [one.ours.details.get("cpu_us_per_answer", {}) for one in result.rounds]
        # The middle round by what all of them used together.
        middle = sorted(spent, key=lambda by_process: sum(by_process.values()))[len(spent) // 2]
        cells = (f"{middle[name]:,.0f}" if middle.get(name) else "" for name in _PROCESSES)
        rows.append(f"| `{result.line.name}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def _delays(waited: list[Waited]) -> str:
    rows = ["| delay | p50 | p99 | aim of p50 | |", "|---|--:|--:|--:|:-:|"]
    rows += [
        f"| `{one.delay.name}`: {one.delay.description} | **{one.p50_s * 1000:,.0f} ms** | {one.p99_s * 1000:,.0f} ms |"
        f" ≤ {one.delay.aim_s * 1000:,.0f} ms | {_MARKS[one.p50_s <= one.delay.aim_s]} |"
        for one in waited
    ]
    return "\n".join(rows)


def _section(section: Section) -> str:
    rows = [f"| `{section.name}`: {section.title} | measured | aim | |", "|---|--:|--:|:-:|"]
    rows += [
        f"| {one.what} | **{one.measured_text}** | {one.aim_text} | {_MARKS[one.is_reached]} |"
        for one in section.findings
    ]
    return "\n".join(["\n".join(rows), *(f"\n{note}" for note in section.notes)])


def _growth(growth: Growth) -> str:
    rows = [
        f"| listing | {growth.small.rows:,} | {growth.large.rows:,} | ratio | aim | |",
        "|---|--:|--:|--:|--:|:-:|",
    ]
    rows += [
        f"| {one.question.description} | {one.small_p50_s * 1000:.2f} ms | {one.large_p50_s * 1000:.2f} ms |"
        f" **{one.ratio:.2f}** | ≤ {GROWTH_AIM:.2f} | {_MARKS[one.ratio <= GROWTH_AIM]} |"
        for one in growth.grown
    ]
    return "\n".join(rows)
