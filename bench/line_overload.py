"""Ten times more creates than the API can do: what is still done, what the others are told, and how it recovers.

On two cores the generator takes from the server what it needs itself, and cannot send tens of thousands a second
beside it. So it runs with less priority, as many requests arrive as ten times the capacity says, and those for which
none of the connections is free are counted apart: they never reached the server. What was really sent is told.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from bench import arrivals, capacity
from bench.arrivals import CREATED, Arrived
from bench.finding import Finding, Section
from bench.line_latency import at_half
from bench.memory import resident_mb
from bench.open_load import SLICE_S
from bench.stage import Stage

TIMES = 10
SECONDS = 8.0
# A machine that stalls once would else decide.
ROUNDS = 3
CONNECTIONS_MAX = 4_000
# Files that the generator has open besides.
FILES_SPARE = 100
NICENESS = 10
GOODPUT_AIM = 0.8
REFUSED_WITHIN_S = 1.0
RECOVERED_WITHIN_S = 10.0
REFUSALS = ("429", "503")
# Memory that still grows in the second half of the load by more than this has no bound.
GROWTH_AIM = 1.1
NORMAL_S = 3.0
AFTERWARDS_S = RECOVERED_WITHIN_S + 1.0
# Half the arrivals as quick as this many times the ordinary, or as this, and it is as before.
NORMAL_TIMES = 2.0
NORMAL_MS = 5.0


@dataclass(frozen=True)
class Round:
    """One overload, the capacity on either side of it, and how it recovered."""

    before_per_s: float
    after_per_s: float
    loaded: Arrived
    afterwards: Arrived
    recovered_s: float

    @property
    def capacity_per_s(self) -> float:
        return mean((self.before_per_s, self.after_per_s))

    def share(self, per_second: float) -> float:
        return per_second / self.capacity_per_s

    @property
    def created(self) -> float:
        return self.share(self.loaded.created_per_s)

    def of_arrivals(self, name: str) -> float:
        return self.share(self.loaded.seen[name] / self.loaded.seen["seconds"])

    def count(self, status: str) -> int:
        return int(self.loaded.seen["statuses"].get(status, 0))

    @property
    def without_connection(self) -> float:
        seen = self.loaded.seen
        return float((seen["given_up"] + seen["not_connected"]) / max(seen["arrived"], 1))

    @property
    def refused_p99_s(self) -> float:
        """Since it was sent: the generator, which is late on purpose, is no part of it."""
        since_sent_ms = self.loaded.seen["since_sent_ms"]
        return max((since_sent_ms[status]["p99"] / 1000 for status in REFUSALS if status in since_sent_ms), default=0.0)

    @property
    def wrong(self) -> int:
        seen, known = self.loaded.seen, {CREATED, *REFUSALS}
        strange = sum(count for status, count in seen["statuses"].items() if status not in known)
        return int(strange + sum(seen["without_retry_after"].get(status, 0) for status in REFUSALS))

    @property
    def unanswered(self) -> int:
        return int(self.loaded.seen["cut"] + self.loaded.seen["unanswered"])


def section(stage: Stage) -> Section:
    # The API's memory is that of one that has worked, with many payments stored.
    capacity.measure(stage)
    before_mb = resident_mb(stage.api.process.pid)
    normal = at_half(stage, NORMAL_S)
    rounds = [_round(stage, normal) for _ in range(ROUNDS)]
    first, last = rounds[0].loaded.held, rounds[-1].loaded.held
    growth = max(one.loaded.held.growth for one in rounds)
    return Section(
        name="overload",
        title=f"{TIMES} times the capacity",
        findings=[
            *_on_load(rounds),
            *_on_answers(rounds),
            Finding("API memory before", before_mb, "MB"),
            Finding("API memory at most", max(one.loaded.held.most_mb for one in rounds), "MB"),
            Finding("API memory, second half over first", growth, at_most=GROWTH_AIM, decimals=2),
            Finding(
                "API memory, last time over first",
                last.most_mb / (first.most_mb or 1.0),
                at_most=GROWTH_AIM,
                decimals=2,
            ),
            Finding("API memory afterwards", (rounds[-1].afterwards.held.samples or [0.0])[-1], "MB"),
            Finding(
                "as quick as before after, at most",
                max(one.recovered_s for one in rounds),
                "s",
                at_most=RECOVERED_WITHIN_S,
                decimals=1,
            ),
        ],
        notes=[_capacity_note(rounds), _cpu_note(rounds[0].loaded)],
        details={
            "normal": normal.as_json,
            "rounds": [
                {
                    "capacity_before_per_s": round(one.before_per_s, 1),
                    "capacity_after_per_s": round(one.after_per_s, 1),
                    "load": one.loaded.as_json,
                    "afterwards": one.afterwards.as_json,
                }
                for one in rounds
            ],
        },
    )


def _round(stage: Stage, normal: Arrived) -> Round:
    before_per_s = capacity.again_per_s(stage)
    loaded = arrivals.send(
        stage,
        per_second=TIMES * before_per_s,
        seconds=SECONDS,
        connections_max=_connections_max(),
        is_patient=False,
        niceness=NICENESS,
    )
    ended_at = time.monotonic()
    afterwards = at_half(stage, AFTERWARDS_S)
    # Until the first of them arrived, the server had rest.
    rest_s = time.monotonic() - ended_at - afterwards.seen["seconds"]
    recovered_s = max(rest_s, 0.0) + _recovered_s(afterwards, normal)
    # Not sooner: it would disturb the recovery, and a server that still recovers would flatter the ratio.
    return Round(before_per_s, capacity.again_per_s(stage), loaded, afterwards, recovered_s)


def _on_load(rounds: Sequence[Round]) -> list[Finding]:
    """Of the round in the middle."""
    middle = _middle(rounds)
    return [
        Finding("arrived, of capacity", middle.of_arrivals("arrived"), "x", decimals=1),
        Finding("sent to the API, of capacity", middle.of_arrivals("sent"), "x", decimals=1),
        Finding("arrivals without a connection", 100 * middle.without_connection, "%"),
        Finding("created, of capacity", middle.created, at_least=GOODPUT_AIM, decimals=2),
    ]


def _on_answers(rounds: Sequence[Round]) -> list[Finding]:
    """Of all rounds, or of the worst."""
    return [
        Finding("refused with 429 or 503", sum(one.count(status) for one in rounds for status in REFUSALS)),
        Finding("refusals, p99", max(one.refused_p99_s for one in rounds), "s", at_most=REFUSED_WITHIN_S, decimals=2),
        Finding(
            "created, p99",
            max(one.loaded.latency_ms(CREATED).get("p99", 0.0) for one in rounds) / 1000,
            "s",
            decimals=2,
        ),
        Finding("other answers, or without Retry-After", sum(one.wrong for one in rounds), at_most=0),
        Finding("never answered, or cut off", sum(one.unanswered for one in rounds), at_most=0),
    ]


def _middle(rounds: Sequence[Round]) -> Round:
    return sorted(rounds, key=lambda one: one.created)[len(rounds) // 2]


def _recovered_s(after: Arrived, normal: Arrived) -> float:
    """When half of those who came in a slice were served as quickly as ordinarily; beyond the end when never."""
    ordinary_ms = max(NORMAL_TIMES * normal.latency_ms(CREATED).get("p50", 0.0), NORMAL_MS)
    slices = after.seen["slices_p50_ms"]
    good = (number for number, p50_ms in enumerate(slices) if p50_ms is not None and p50_ms <= ordinary_ms)
    first = next(good, None)
    return float("inf") if first is None else first * SLICE_S


def _connections_max() -> int:
    """As many as we may open; the API inherits the same limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(min(CONNECTIONS_MAX, (hard if soft == resource.RLIM_INFINITY else soft) - FILES_SPARE), 1)


def _capacity_note(rounds: Sequence[Round]) -> str:
    capacities = "; ".join(f"{one.before_per_s:,.0f} and {one.after_per_s:,.0f}" for one in rounds)
    return (
        f"{ROUNDS} times for {SECONDS:.0f} s. Capacity per second right before, {TIMES} times of which arrived, and"
        f" once it had recovered: {capacities}; shares are of their mean. Created were"
        f" {', '.join(f'{one.created:.2f}' for one in rounds)} of it. What arrived and was created is told of the"
        " middle one, the rest of all of them, or of the worst; what is told of cores, of the first."
    )


def _cpu_note(loaded: Arrived) -> str:
    cores = loaded.used.get("cores", {})
    split = ", ".join(f"{name} {share:.2f}" for name, share in cores.items())
    return (
        f"The generator ran with nice {NICENESS} on the same machine. Cores used: {split or 'unknown'};"
        f" its own delay at most {loaded.seen['late_ms']:,.0f} ms, {loaded.seen['connections']:,} connections open."
    )
