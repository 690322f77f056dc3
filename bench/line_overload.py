"""Ten times more creates than the API can do: what is still done, what the others are told, and how it recovers.

On two cores the generator takes from the server what it needs itself, and cannot send tens of thousands a second
beside it. So it runs with less priority, as many requests arrive as ten times the capacity says, and those for which
none of the connections is free are counted apart: they never reached the server. What was really sent is told.
"""

from __future__ import annotations

import resource
import time
from statistics import mean

from bench import arrivals, capacity
from bench.arrivals import CREATED, Arrived
from bench.finding import Finding, Section
from bench.line_latency import at_half
from bench.memory import resident_mb
from bench.open_load import SLICE_S
from bench.stage import Stage

TIMES = 10
SECONDS = 12.0
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


def section(stage: Stage) -> Section:
    # The API's memory is that of one that has worked, with many payments stored.
    capacity.measure(stage)
    before_mb = resident_mb(stage.api.process.pid)
    normal = at_half(stage, NORMAL_S)
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
    after = at_half(stage, AFTERWARDS_S)
    # Until the first of them arrived, the server had rest.
    rest_s = time.monotonic() - ended_at - after.seen["seconds"]
    recovered_s = max(rest_s, 0.0) + _recovered_s(after, normal)
    # Not sooner: it would disturb the recovery, and a server that still recovers would flatter the ratio.
    after_per_s = capacity.again_per_s(stage)
    capacity_per_s = mean((before_per_s, after_per_s))
    return Section(
        name="overload",
        title=f"{TIMES} times the capacity",
        findings=[
            *_on_load(loaded, capacity_per_s),
            *_on_answers(loaded),
            Finding("API memory before", before_mb, "MB"),
            Finding("API memory at most", loaded.held.most_mb, "MB"),
            Finding("API memory, second half over first", loaded.held.growth, at_most=GROWTH_AIM, decimals=2),
            Finding("API memory afterwards", after.held.samples[-1] if after.held.samples else 0.0, "MB"),
            Finding("as quick as before after", recovered_s, "s", at_most=RECOVERED_WITHIN_S, decimals=1),
        ],
        notes=[_capacity_note(before_per_s=before_per_s, after_per_s=after_per_s), _cpu_note(loaded)],
        details={
            "capacity_per_s": round(capacity_per_s, 1),
            "capacity_before_per_s": round(before_per_s, 1),
            "capacity_after_per_s": round(after_per_s, 1),
            "normal": normal.as_json,
            "load": loaded.as_json,
            "afterwards": after.as_json,
        },
    )


def _on_load(loaded: Arrived, capacity_per_s: float) -> list[Finding]:
    seen = loaded.seen
    offered = capacity_per_s * seen["seconds"]
    turned_away = seen["given_up"] + seen["not_connected"]
    return [
        Finding("arrived, of capacity", seen["arrived"] / offered, "x", decimals=1),
        Finding("sent to the API, of capacity", seen["sent"] / offered, "x", decimals=1),
        Finding("arrivals without a connection", 100 * turned_away / max(seen["arrived"], 1), "%"),
        Finding("created, of capacity", loaded.created_per_s / capacity_per_s, at_least=GOODPUT_AIM, decimals=2),
    ]


def _on_answers(loaded: Arrived) -> list[Finding]:
    seen = loaded.seen
    known = {CREATED, *REFUSALS}
    wrong = sum(count for status, count in seen["statuses"].items() if status not in known)
    wrong += sum(count for status, count in seen["without_retry_after"].items() if status in REFUSALS)
    # Since it was sent: the generator, which is late on purpose, is no part of it.
    refused_ms = [seen["since_sent_ms"][status]["p99"] for status in REFUSALS if status in seen["since_sent_ms"]]
    return [
        Finding("refused with 429 or 503", sum(seen["statuses"].get(status, 0) for status in REFUSALS)),
        *(
            Finding("refusals, p99", p99_ms / 1000, "s", at_most=REFUSED_WITHIN_S, decimals=2)
            for p99_ms in sorted(refused_ms)[-1:]
        ),
        Finding("created, p99", loaded.latency_ms(CREATED).get("p99", 0.0) / 1000, "s", decimals=2),
        Finding("other answers, or without Retry-After", wrong, at_most=0),
        Finding("never answered, or cut off", seen["cut"] + seen["unanswered"], at_most=0),
    ]


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


def _capacity_note(*, before_per_s: float, after_per_s: float) -> str:
    return (
        f"Capacity {before_per_s:,.0f}/s right before, {TIMES} times of which arrived, and {after_per_s:,.0f}/s once it"
        " had recovered; shares are of their mean."
    )


def _cpu_note(loaded: Arrived) -> str:
    cores = loaded.used.get("cores", {})
    split = ", ".join(f"{name} {share:.2f}" for name, share in cores.items())
    return (
        f"The generator ran with nice {NICENESS} on the same machine. Cores used: {split or 'unknown'};"
        f" its own delay at most {loaded.seen['late_ms']:,.0f} ms, {loaded.seen['connections']:,} connections open."
    )
