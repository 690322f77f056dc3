"""Creates that arrive at random at a fixed rate: half of what the API can do, and ten times as much.

Half: how long one takes, beside pgbench, which inserts the same row at the same rate and feels the same stalls of the
machine and the disk. Ten times: what is still created, what the others are answered, and how it is afterwards.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean, median

from bench import create, traffic
from bench.environment import Environment
from bench.load import Plan
from bench.report import BenchFailed, Finding, Sample, Section
from bench.traffic import LoadResult
from bench.usage import resident_mb

# A machine that stalls once would else decide.
ROUNDS_MAX = 3
RUN_S = 2.0
LOOK_EVERY_S = 0.5
HALF = 0.5
LATENCY_S = 10.0
# As many as pgbench's; the wait for a free one counts on either side.
CLIENTS = 64
P50_AIM_MS, P99_AIM_MS = 15.0, 100.0
TIMES = 10
OVERLOAD_S, AFTERWARDS_S = 8.0, 3.0
CONNECTIONS_MAX = 4_000
# Files that the generator has open besides.
FILES_SPARE = 100
# On two cores the generator would take from the server what it needs itself.
NICENESS = 10
GOODPUT_AIM = 0.8
# Memory that grows by more from one overload to the next has no bound.
GROWTH_AIM = 1.1
API_AIM_MB = 90.0
CREATED, REFUSALS = 201, (429, 503)


@cache
def _stored(environment: Environment) -> int:
    """Stores many payments, once in a run; how many there are."""
    environment.api.post(create.PATH, {**create.ORDER, "reference": "stored"}, environment.shops[0].create_headers)
    businesses, rows = [shop.business_id for shop in environment.shops], environment.options.stored
    # A year of trade, each in its place in every index; ended, so that no worker wants them.
    created_at = f"now() - ({rows} - serial) * interval '1 year' / {rows}"
    own = {
        "id": "1000000000 + serial",
        "business_id": f"(ARRAY{businesses})[1 + serial % {len(businesses)}]",
        "pay_code": "left(pay_code, -22) || left(md5(serial::text), 22)",
        "reference": "'stored-' || serial",
        "status": "'expired'",
        "created_at": created_at,
        "updated_at": created_at,
        "expires_at": f"{created_at} + interval '2 hours'",
    }
    create.copy_rows(environment, "payment", "reference = 'stored'", own, range(1, rows + 1))
    environment.execute("VACUUM ANALYZE payment")
    # What is stored is on the disk: writing it back must not disturb what is measured.
    environment.execute("CHECKPOINT")
    os.sync()
    create.create(environment, RUN_S)
    return environment.count("payment")


def _arrive(environment: Environment, per_second: float, seconds: float, *, connections_max: int = 0) -> LoadResult:
    """Every 201 must be a row, and every row a 201, or a request that was cut off or never answered."""
    before = environment.count("payment")
    plan = Plan(environment.api.port, create.requests(environment), CLIENTS, seconds, per_second)
    if connections_max:
        plan = replace(plan, connections=0, connections_max=connections_max, niceness=NICENESS)
    seen = traffic.generate(environment, environment.api, plan)
    made = -1
    # A request that was given up may still become a row.
    while made != (made := environment.count("payment") - before):
        time.sleep(LOOK_EVERY_S)
    without_answer = made - seen.answers(CREATED)
    if not 0 <= without_answer <= seen.counts["cut"] + seen.counts["unanswered"]:
        raise BenchFailed(f"{seen.counts['statuses']}, {without_answer} more rows\n{seen.counts['complaint']}")
    return seen


def latency(environment: Environment) -> Section:
    stored = _stored(environment)
    rounds: list[LoadResult] = []
    beside: list[Sample] = []
    rate = 0.0
    for _ in range(min(ROUNDS_MAX, environment.options.rounds)):
        # The capacity as it is now: where cores are shared with other machines, a minute can halve it or double it.
        rate = HALF * create.create(environment, RUN_S).per_second
        rounds.append(_arrive(environment, rate, LATENCY_S))
        beside.append(create.insert(environment, LATENCY_S, clients=CLIENTS, per_second=rate))
    others = sum(seen.counts["arrived"] - seen.answers(CREATED) for seen in rounds)
    other_p50, other_p99 = (median(one.percentiles_ms[name] for one in beside) for name in ("p50", "p99"))
    p50, p95, p99 = (median(seen.ms(CREATED, name) for seen in rounds) for name in ("p50", "p95", "p99"))
    return Section(
        name="latency",
        title=f"create at {HALF:.0%} of capacity, {stored:,} payments stored",
        findings=[
            Finding("p50", p50, "ms", at_most=P50_AIM_MS, decimals=1),
            Finding("p95", p95, "ms", decimals=1),
            Finding("p99", p99, "ms", at_most=P99_AIM_MS, decimals=1),
            Finding("p50 of pgbench at the same rate", other_p50, "ms", decimals=1),
            Finding("p99 of pgbench at the same rate", other_p99, "ms", decimals=1),
            Finding("arrivals that were not created", others, at_most=0),
        ],
        note=f"{len(rounds)} times {LATENCY_S:.0f} s, at last {rate:,.0f} a second, {CLIENTS} connections on either"
        " side, measured from when each was due; medians of the rounds.",
    )


@dataclass(frozen=True)
class Overload:
    """One overload, the capacity on either side of it, and creates at half of that right afterwards."""

    before_per_s: float
    after_per_s: float
    seen: LoadResult
    afterwards: LoadResult
    memory_mb: float

    def share(self, count: float) -> float:
        return count / OVERLOAD_S / mean((self.before_per_s, self.after_per_s))

    @property
    def goodput(self) -> float:
        """Only what was created in time."""
        return self.share(self.seen.counts["in_time"].get(str(CREATED), 0))

    @property
    def refused_p99_s(self) -> float:
        """Since it was sent: the generator, which is late on purpose, is no part of it."""
        return max(self.seen.ms(status, "p99", since="sent") for status in REFUSALS) / 1000

    @property
    def wrong(self) -> int:
        known = self.seen.answers(CREATED, *REFUSALS)
        return int(self.seen.answers() - known + self.seen.counts["without_retry_after"])


def overload(environment: Environment) -> Section:
    _stored(environment)
    before_mb = resident_mb(environment.api.process.pid)
    rounds = [_overload(environment) for _ in range(min(ROUNDS_MAX, environment.options.rounds))]
    middle = sorted(rounds, key=lambda one: one.goodput)[len(rounds) // 2]
    counts = middle.seen.counts
    lost = sum(one.seen.counts["cut"] + one.seen.counts["unanswered"] for one in rounds)
    refused_s = max(one.refused_p99_s for one in rounds)
    created_s = max(one.seen.ms(CREATED, "p99") for one in rounds) / 1000
    again_ms = max(one.afterwards.ms(CREATED, "p50") for one in rounds)
    growth = rounds[-1].memory_mb / rounds[0].memory_mb
    capacities = "; ".join(f"{one.before_per_s:,.0f} and {one.after_per_s:,.0f}" for one in rounds)
    return Section(
        name="overload",
        title=f"{TIMES} times the capacity",
        findings=[
            Finding("arrived, of capacity", middle.share(counts["arrived"]), "x", decimals=1),
            Finding("sent to the API, of capacity", middle.share(counts["sent"]), "x", decimals=1),
            Finding("created, of capacity", middle.goodput, at_least=GOODPUT_AIM, decimals=2),
            Finding("refused, of capacity", middle.share(middle.seen.answers(*REFUSALS)), "x", decimals=1),
            Finding("refusals of clients that ask again at once, p99", refused_s, "s", decimals=2),
            Finding("created, p99", created_s, "s", decimals=2),
            Finding("other answers, or without Retry-After", sum(one.wrong for one in rounds), at_most=0),
            Finding("never answered, or cut off", lost, at_most=0),
            Finding("p50 of creates at half capacity right afterwards", again_ms, "ms", at_most=P50_AIM_MS, decimals=1),
            Finding("memory of the API before", before_mb, "MB", at_most=API_AIM_MB),
            Finding("memory of the API afterwards", rounds[-1].memory_mb, "MB"),
            Finding("memory of the API, after the last over the first", growth, at_most=GROWTH_AIM, decimals=2),
        ],
        note=f"{len(rounds)} times {OVERLOAD_S:.0f} s. Capacity before and after: {capacities} a second; shares are of"
        f" their mean. Created were {', '.join(f'{one.goodput:.2f}' for one in rounds)} of it; the first four numbers"
        f" are of the median round, the others of the worst or of all. The generator had nice {NICENESS}; arrivals for"
        " which none of its connections was free were not sent.",
    )


def _overload(environment: Environment) -> Overload:
    before_per_s = create.create(environment, RUN_S).per_second
    # As many connections as may be opened; the API has the same limit.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = (hard if soft == resource.RLIM_INFINITY else soft) - FILES_SPARE
    most = max(min(CONNECTIONS_MAX, files), CLIENTS)
    seen = _arrive(environment, TIMES * before_per_s, OVERLOAD_S, connections_max=most)
    memory_mb = resident_mb(environment.api.process.pid)
    afterwards = _arrive(environment, HALF * before_per_s, AFTERWARDS_S)
    return Overload(before_per_s, create.create(environment, RUN_S).per_second, seen, afterwards, memory_mb)
