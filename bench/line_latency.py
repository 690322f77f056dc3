"""How long a create takes while others come at random, at half of what the API can do.

A machine or a disk that stalls makes everybody wait. How much of ours is theirs is told by pgbench, which inserts the
same row at the same rate before, between and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench import arrivals, capacity, line_create
from bench.arrivals import CREATED, Arrived
from bench.finding import Finding, Section
from bench.stage import Stage

SHARE = 0.5
SECONDS = 10.0
# A machine that stalls once would else decide.
ROUNDS = 3
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
    rounds: list[Arrived] = []
    beside = [_pgbench(stage)]
    for _ in range(ROUNDS):
        rounds.append(at_half(stage, SECONDS))
        beside.append(_pgbench(stage))
    latencies = [arrived.latency_ms(CREATED) for arrived in rounds]
    p99s_ms = [latency.get("p99", 0.0) for latency in latencies]
    pgbench_ms = [seen["since_due_ms"].get("p99", 0.0) for seen in beside]
    others = sum(arrived.seen["arrived"] - arrived.seen["statuses"].get(CREATED, 0) for arrived in rounds)
    return Section(
        name="latency",
        title=f"Create at {SHARE:.0%} of capacity, {found.stored:,} payments stored",
        findings=[
            Finding("p50", _middle(latencies, "p50"), "ms", at_most=P50_AIM_MS, decimals=1),
            Finding("p95", _middle(latencies, "p95"), "ms", decimals=1),
            Finding("p99", median(p99s_ms), "ms", at_most=P99_AIM_MS, decimals=1),
            Finding("longest", max(latency.get("max", 0.0) for latency in latencies), "ms", decimals=1),
            Finding("p99 of pgbench at the same rate", median(pgbench_ms), "ms", decimals=1),
            Finding("arrivals that were not created", others, at_most=0),
        ],
        notes=[
            f"Capacity {found.per_second:,.0f}/s; {SHARE * found.per_second:,.0f}/s came at random for {SECONDS:.0f} s,"
            f" {ROUNDS} times, and were measured from when each was due. The middle is told, and the longest of all."
            f" p99 was {_listed(p99s_ms)} ms. Storing took {found.storing_took_s:.0f} s.",
            f"pgbench inserted the same row at the same rate, as long, with {PGBENCH_CLIENTS} clients, before, between"
            f" and after; it too is measured from when each was due. Its p99 was {_listed(pgbench_ms)} ms.",
        ],
        details={
            "capacity_per_s": round(found.per_second, 1),
            "stored": found.stored,
            "rounds": [arrived.as_json for arrived in rounds],
            "pgbench": beside,
        },
    )


def _middle(latencies: Sequence[Mapping[str, float]], name: str) -> float:
    return median(latency.get(name, 0.0) for latency in latencies)


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:,.0f}" for number in numbers)


def _pgbench(stage: Stage) -> dict[str, Any]:
    per_second = SHARE * capacity.measure(stage).per_second
    sample = line_create.insert(stage, SECONDS, clients=PGBENCH_CLIENTS, per_second=per_second)
    return {"asked_per_s": round(per_second, 1), "per_second": round(sample.per_second, 1), **sample.details}
