"""How long a create takes while others come at random, at half of what the API can do.

A machine or a disk that stalls makes everybody wait. How much of ours is theirs is told by pgbench, which inserts the
same row at the same rate right before and right after.
"""

from __future__ import annotations

from typing import Any

from bench import arrivals, capacity, line_create
from bench.arrivals import Arrived
from bench.finding import Finding, Section
from bench.stage import Stage

SHARE = 0.5
SECONDS = 12.0
CONNECTIONS_FIRST = 64
CONNECTIONS_MAX = 512
# As many as ours begins with. While the machine stalls for 80 ms at thousands a second, hundreds fall due, more than
# PostgreSQL admits clients; the wait for one counts, and more of them share the first commit after it.
PGBENCH_CLIENTS = CONNECTIONS_FIRST
P50_AIM_MS = 15.0
P99_AIM_MS = 100.0


def at_half(stage: Stage, seconds: float) -> Arrived:
    return arrivals.send(
        stage,
        per_second=SHARE * capacity.measure(stage).per_second,
        seconds=seconds,
        connections_first=CONNECTIONS_FIRST,
        connections_max=CONNECTIONS_MAX,
    )


def section(stage: Stage) -> Section:
    found = capacity.measure(stage)
    before = _pgbench(stage)
    arrived = at_half(stage, SECONDS)
    after = _pgbench(stage)
    latency = arrived.latency_ms(arrivals.CREATED)
    others = arrived.seen["arrived"] - arrived.seen["statuses"].get(arrivals.CREATED, 0)
    return Section(
        name="latency",
        title=f"Create at {SHARE:.0%} of capacity, {found.stored:,} payments stored",
        findings=[
            Finding("p50", latency.get("p50", 0.0), "ms", at_most=P50_AIM_MS, decimals=1),
            Finding("p95", latency.get("p95", 0.0), "ms", decimals=1),
            Finding("p99", latency.get("p99", 0.0), "ms", at_most=P99_AIM_MS, decimals=1),
            Finding("longest", latency.get("max", 0.0), "ms", decimals=1),
            *_on_pgbench(before, "before"),
            *_on_pgbench(after, "after"),
            Finding("arrivals that were not created", others, at_most=0),
        ],
        notes=[
            f"Capacity {found.per_second:,.0f}/s; {SHARE * found.per_second:,.0f}/s came at random for {SECONDS:.0f} s"
            f" and were measured from when each was due. Storing took {found.storing_took_s:.0f} s.",
            f"pgbench inserted the same row at the same rate, as long, with {PGBENCH_CLIENTS} clients, right before and"
            " right after; it too is measured from when each was due.",
        ],
        details={
            "capacity_per_s": round(found.per_second, 1),
            "stored": found.stored,
            **arrived.as_json,
            "pgbench": {"before": before, "after": after},
        },
    )


def _pgbench(stage: Stage) -> dict[str, Any]:
    per_second = SHARE * capacity.measure(stage).per_second
    sample = line_create.insert(stage, SECONDS, clients=PGBENCH_CLIENTS, per_second=per_second)
    return {"asked_per_s": round(per_second, 1), "per_second": round(sample.per_second, 1), **sample.details}


def _on_pgbench(seen: dict[str, Any], when: str) -> list[Finding]:
    latency = seen["since_due_ms"]
    return [
        Finding(f"p99 of pgbench at the same rate, {when}", latency.get("p99", 0.0), "ms", decimals=1),
        Finding(f"longest of pgbench at the same rate, {when}", latency.get("max", 0.0), "ms", decimals=1),
    ]
