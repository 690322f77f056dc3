"""How long a create takes while others come at random, at half of what the API can do."""

from __future__ import annotations

from bench import arrivals, capacity
from bench.arrivals import Arrived
from bench.finding import Finding, Section
from bench.stage import Stage

SHARE = 0.5
SECONDS = 12.0
CONNECTIONS_FIRST = 64
CONNECTIONS_MAX = 512
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
    arrived = at_half(stage, SECONDS)
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
            Finding("arrivals that were not created", others, at_most=0),
        ],
        notes=[
            f"Capacity {found.per_second:,.0f}/s; {SHARE * found.per_second:,.0f}/s came at random for {SECONDS:.0f} s"
            f" and were measured from when each was due. Storing took {found.storing_took_s:.0f} s."
        ],
        details={"capacity_per_s": round(found.per_second, 1), "stored": found.stored, **arrived.as_json},
    )
