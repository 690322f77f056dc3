"""Creates that arrive at a given rate: the open generator started, watched and believed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from bench import line_create, process
from bench.cpu import Watch
from bench.line import BenchFailed
from bench.memory import Held, watching
from bench.open_load import Plan
from bench.stage import Stage

CREATED = "201"
# Beyond the time asked for: starting the generator, and the last answers.
SPARE_S = 30.0


@dataclass(frozen=True)
class Arrived:
    """What the generator saw, what the processes used, what the API held."""

    seen: dict[str, Any]
    used: dict[str, Any]
    held: Held

    @property
    def answers(self) -> int:
        return sum(self.seen["statuses"].values())

    @property
    def created_per_s(self) -> float:
        """Only answers that came in time."""
        return float(self.seen["in_time"].get(CREATED, 0) / self.seen["seconds"])

    def latency_ms(self, status: str) -> dict[str, float]:
        """As the client sees it, from when its request was due."""
        return dict(self.seen["since_due_ms"].get(status, {}))

    @property
    def as_json(self) -> dict[str, Any]:
        return {**self.seen, **self.used, "memory_mb": {"most": round(self.held.most_mb, 1)}}


def send(
    stage: Stage,
    *,
    per_second: float,
    seconds: float,
    connections_first: int = 0,
    connections_max: int,
    is_patient: bool = True,
    niceness: int = 0,
) -> Arrived:
    """Every 201 must be a row, and every row a 201."""
    plan = Plan(
        port=stage.api.port,
        per_second=per_second,
        seconds=seconds,
        connections_max=connections_max,
        requests=line_create.requests(stage),
        connections_first=connections_first,
        is_patient=is_patient,
        niceness=niceness,
    )
    before = line_create.count_rows(stage)
    watch = Watch({"server": stage.api.process.pid, **stage.watched()})
    with watching(stage.api.process.pid) as held:
        printed = process.run(
            [sys.executable, "-m", "bench.open_load"], given=json.dumps(asdict(plan)), timeout_s=seconds + SPARE_S
        )
    seen = json.loads(printed)
    arrived = Arrived(seen, watch.details(max(sum(seen["statuses"].values()), 1)), held)
    made = line_create.count_rows(stage) - before
    # Whoever was cut off, or had no answer when we left, may have a row all the same.
    unknown = seen["cut"] + seen["unanswered"]
    if not 0 <= made - seen["statuses"].get(CREATED, 0) <= unknown:
        raise BenchFailed(f"{seen['statuses'].get(CREATED, 0)} successes, but {made} new rows\n{seen['complaint']}")
    return arrived
