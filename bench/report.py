"""The files of a run: every number as JSON, the tables in Markdown, the ratios as a picture."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import growth_report, markdown, plot
from bench.finding import Finding, Section
from bench.line import Sample
from bench.result import Result, Round, Verdict
from bench.run import Run
from bench.stage import SHOPS

FOLDER = Path(__file__).parent / "results"
RESULTS = FOLDER / "latest.json"
TABLES = FOLDER / "latest.md"
PICTURE = FOLDER / "latest.svg"


def write(run: Run) -> None:
    FOLDER.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(_as_json(run), indent=2) + "\n", encoding="utf-8")
    TABLES.write_text(markdown.text_of(run), encoding="utf-8")
    if run.results:
        PICTURE.write_text(plot.svg_of(run.verdicts, run.machine), encoding="utf-8")


def _as_json(run: Run) -> dict[str, Any]:
    return {
        "machine": asdict(run.machine),
        "options": {**asdict(run.options), "businesses": SHOPS},
        "misses": run.misses,
        "lines": [_line(result, verdict) for result, verdict in zip(run.results, run.verdicts, strict=True)],
        "delays": [
            {
                "name": one.delay.name,
                "aim_s": one.delay.aim_s,
                "p50_s": one.p50_s,
                "p99_s": one.p99_s,
                "all": one.seconds,
            }
            for one in run.waited
        ],
        "sections": [_section(section) for section in run.sections],
        "growth": growth_report.as_json(run.grown) if run.grown else None,
    }


def _line(result: Result, verdict: Verdict) -> dict[str, Any]:
    return {
        "name": verdict.name,
        "description": verdict.description,
        "over": verdict.over,
        "ratio": round(verdict.ratio, 4),
        "spread": [round(ratio, 4) for ratio in verdict.spread],
        "target": verdict.target,
        "is_reached": verdict.is_reached,
        "yardstick": result.line.yardstick,
        "rounds": [_round(one) for one in result.rounds],
        "disturbed": [_round(one) for one in result.disturbed],
    }


def _round(one: Round) -> dict[str, Any]:
    return {"ratio": round(one.ratio, 4), "ours": _sample(one.ours), "yardstick": _sample(one.yardstick)}


def _sample(sample: Sample) -> dict[str, Any]:
    return {"per_second": round(sample.per_second, 1), **asdict(sample)}


def _section(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "findings": [_finding(one) for one in section.findings],
        "notes": section.notes,
        "details": section.details,
    }


def _finding(one: Finding) -> dict[str, Any]:
    # JSON has no infinity; what never happened is null.
    measured = None if one.measured == float("inf") else round(one.measured, 4)
    return {
        "what": one.what,
        "measured": measured,
        "unit": one.unit,
        "aim": one.aim_text,
        "is_reached": one.is_reached,
    }
