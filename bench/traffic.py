"""HTTP requests as bytes, and the load generator that sends them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench import process
from bench.cpu import Watch
from bench.line import BenchFailed, Sample
from bench.load import UNIQUE, UNIQUE_LENGTH, Plan
from bench.process import Server

LEAD_S = 0.3
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


def send(
    server: Server,
    requests: Sequence[str],
    *,
    expected_status: int,
    connections: int,
    seconds: float,
    watched: Mapping[str, int],
    is_each_once: bool = False,
) -> Sample:
    """Raises when any answer has another status, or when requests that are sent only once did not last.

    `watched` are process ids whose CPU time is noted.
    """
    plan = Plan(server.port, connections, LEAD_S, seconds, expected_status, list(requests), is_each_once)
    watch = Watch(watched)
    printed = process.run(
        [sys.executable, "-m", "bench.load"], given=json.dumps(asdict(plan)), timeout_s=seconds + SPARE_S
    )
    result = json.loads(printed)
    _refuse_failures(result, expected_status)
    details = {"latency_ms": result["latency_ms"], **watch.details(result["answers"])}
    return Sample(result["counted"], result["seconds"], {"answers": result["answers"], **details})


def _refuse_failures(result: dict[str, Any], expected_status: int) -> None:
    others = {status: count for status, count in result["statuses"].items() if int(status) != expected_status}
    if others or result["broken"] or not result["counted"]:
        raise BenchFailed(
            f"of {result['answers']} answers, {sum(others.values())} were not {expected_status} ({others}), "
            f"and {result['broken']} never came.\n{result['complaint']}"
        )
    if result["has_run_out"]:
        raise BenchFailed(f"{result['answers']} requests were too few; the server was faster than foreseen")
