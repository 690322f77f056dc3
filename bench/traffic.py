"""HTTP requests as bytes, and the load generators that send them."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench import process
from bench.cpu import Used, Watch
from bench.line import BenchFailed, Sample
from bench.load import UNIQUE, UNIQUE_LENGTH, Plan
from bench.process import Server

LEAD_S = 0.3
# When two take turns: how long each is at it, what of that does not count, and what both need until they are ready.
TURN_S = 0.25
TURN_LEAD_S = 0.05
READY_AFTER_S = 1.0
# Beyond the time asked for: starting the generator and the last answers.
SPARE_S = 30.0


def request(method: str, path: str, headers: Mapping[str, str], body: str = "") -> str:
    """As a merchant's HTTP library would send it. `{unique}` in the body becomes a reference of its own."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", "accept: */*", "user-agent: tidegate-bench"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body:
        length = len(body.encode()) + (UNIQUE_LENGTH - len(UNIQUE) if UNIQUE in body else 0)
        lines += ["content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, "", body])


@dataclass(frozen=True)
class Target:
    """What to ask whom, and what the answer has to be."""

    server: Server
    requests: Sequence[str]
    expected_status: int = 200


def send(
    target: Target, *, connections: int, seconds: float, watched: Mapping[str, int], is_each_once: bool = False
) -> Sample:
    """Raises when any answer has another status, or when requests that are sent only once did not last.

    `watched` are further process ids whose CPU time is noted.
    """
    server = target.server
    plan = Plan(server.port, connections, LEAD_S, seconds, target.expected_status, list(target.requests), is_each_once)
    watch = Watch({"server": server.process.pid, **watched})
    result = _generate(plan)
    return _sample(result, watch.details(result["answers"]))


def take_turns(
    ours: Target, yardstick: Target, *, connections: int, seconds: float, watched: Mapping[str, int]
) -> tuple[Sample, Sample]:
    """Both for that long, a quarter of a second each by turns. Each server works in its own turns only."""
    begins_at = time.monotonic() + READY_AFTER_S
    plans = [
        Plan(
            target.server.port, connections, TURN_LEAD_S, TURN_S - TURN_LEAD_S, target.expected_status,
            list(target.requests), turns=math.ceil(seconds / TURN_S), begins_at=begins_at + number * TURN_S,
            every_s=2 * TURN_S,
        )
        for number, target in enumerate((ours, yardstick))
    ]  # fmt: skip
    watch = Watch({"ours": ours.server.process.pid, "yardstick": yardstick.server.process.pid, **watched})
    with ThreadPoolExecutor(len(plans)) as both:
        results = list(both.map(_generate, plans))
    used = watch.used()
    # What else was watched worked for ours alone.
    beside = {name: used.by_name_s[name] for name in watched}
    return (
        _sample_in_turns(results[0], used, {"server": used.by_name_s["ours"], **beside}),
        _sample_in_turns(results[1], used, {"server": used.by_name_s["yardstick"]}),
    )


def _sample_in_turns(result: dict[str, Any], used: Used, by_name_s: dict[str, float]) -> Sample:
    own = replace(used, by_name_s={"client": result["cpu_s"], **by_name_s})
    return _sample(result, own.details(result["answers"]))


def _generate(plan: Plan) -> dict[str, Any]:
    printed = process.run(
        [sys.executable, "-m", "bench.load"],
        given=json.dumps(asdict(plan)),
        timeout_s=plan.turns * (plan.lead_s + plan.seconds + plan.every_s) + SPARE_S,
    )
    result: dict[str, Any] = json.loads(printed)
    _refuse_failures(result, plan.expected_status)
    return result


def _sample(result: dict[str, Any], used: dict[str, Any]) -> Sample:
    details = {"answers": result["answers"], "latency_ms": result["latency_ms"], **used}
    return Sample(result["counted"], result["seconds"], details)


def _refuse_failures(result: dict[str, Any], expected_status: int) -> None:
    others = {status: count for status, count in result["statuses"].items() if int(status) != expected_status}
    if others or result["broken"] or not result["counted"]:
        raise BenchFailed(
            f"of {result['answers']} answers, {sum(others.values())} were not {expected_status} ({others}), "
            f"and {result['broken']} never came.\n{result['complaint']}"
        )
    if result["has_run_out"]:
        raise BenchFailed(f"{result['answers']} requests were too few; the server was faster than foreseen")
