"""HTTP requests as bytes, and the load generator that sends them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench import process
from bench.environment import CONNECTIONS, Environment
from bench.load import UNIQUE, UNIQUE_LENGTH, Plan
from bench.process import Server
from bench.report import BenchFailed, Sample
from bench.usage import Usage, Watch

LEAD_S = 0.3
# Beyond the time asked for: starting the generator, opening connections, the last answers.
SPARE_S = 60.0


def request(method: str, path: str, headers: Mapping[str, str], body: str = "") -> str:
    """As a merchant's HTTP library would send it. `{unique}` in the body becomes a reference of its own."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", "accept: */*", "user-agent: tidegate-bench"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body:
        length = len(body.encode()) + (UNIQUE_LENGTH - len(UNIQUE) if UNIQUE in body else 0)
        lines += ["content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, "", body])


@dataclass(frozen=True)
class LoadResult:
    """What the generator saw, and what the processes used."""

    counts: dict[str, Any]
    usage: Usage

    def answers(self, *statuses: int) -> int:
        """With one of the statuses, or all."""
        found = self.counts["statuses"]
        return sum(found.get(str(status), 0) for status in statuses) if statuses else sum(found.values())

    def ms(self, status: int, name: str, *, since: str = "due") -> float:
        """A percentile; 0 when there was no such answer."""
        return float(self.counts[f"since_{since}_ms"].get(str(status), {}).get(name, 0.0))


def generate(environment: Environment, server: Server, plan: Plan) -> LoadResult:
    watch = Watch({"server": server.process.pid, **environment.watched()})
    argv, timeout_s = [sys.executable, "-m", "bench.load"], plan.lead_s + plan.seconds + SPARE_S
    counts = json.loads(process.run(argv, given=json.dumps(asdict(plan)), timeout_s=timeout_s))
    return LoadResult(counts, watch.usage(sum(counts["statuses"].values())))


def send(
    environment: Environment,
    server: Server,
    requests: Sequence[str],
    expected: int,
    seconds: float,
    *,
    is_each_once: bool = False,
) -> Sample:
    """Closed load. Raises when an answer has another status, or when requests that are sent only once did not last."""
    plan = Plan(server.port, list(requests), CONNECTIONS, seconds, lead_s=LEAD_S, is_each_once=is_each_once)
    seen = generate(environment, server, plan)
    counts = seen.counts
    never = counts["cut"] + counts["unanswered"]
    if never or not seen.answers() == seen.answers(expected) > 0:
        raise BenchFailed(f"expected {expected}: {counts['statuses']}, {never} never came.\n{counts['complaint']}")
    if counts["run_out"]:
        raise BenchFailed(f"{seen.answers()} requests were too few; the server was faster than foreseen")
    return Sample(counts["in_time"][str(expected)], seconds, seen.answers(), seen.usage)
