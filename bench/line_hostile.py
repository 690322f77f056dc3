"""The slowest body that anybody can send, and how long everybody else waits meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from bench.finding import Finding, Section
from bench.hostile_input import TEXTS, VALUES
from bench.line import BenchFailed
from bench.line_create import PATH
from bench.stage import Stage
from tidegate.infra.http.body import BODY_BYTES_MAX

# A machine that stalls once would else decide.
ROUNDS = 5
AIM_MS = 50.0
HEALTH_PATH = "/healthz"


def section(stage: Stage) -> Section:
    took = {what: _median_ms(stage, body) for what, body in _bodies()}
    slowest = max(took, key=lambda what: took[what])
    body = dict(_bodies())[slowest]
    alone_ms = median(_health_ms(stage) for _ in range(ROUNDS))
    waited_ms = median(_health_beside_ms(stage, body) for _ in range(ROUNDS))
    return Section(
        name="hostile",
        title=f"{len(took)} bodies of {BODY_BYTES_MAX // 1024} kB that are hard to read",
        findings=[
            Finding(f"the slowest ({slowest})", took[slowest], "ms", at_most=AIM_MS, decimals=1),
            Finding("the middle one", median(took.values()), "ms", decimals=1),
            Finding(f"{HEALTH_PATH} beside the slowest", waited_ms, "ms", at_most=2 * AIM_MS, decimals=1),
            Finding(f"{HEALTH_PATH} alone", alone_ms, "ms", decimals=1),
        ],
        notes=[f"Each was sent to create {ROUNDS} times, one at a time; the median is told."],
        details={"took_ms": {what: round(ms, 2) for what, ms in took.items()}},
    )


def _bodies() -> Iterator[tuple[str, bytes]]:
    for what, make in VALUES.items():
        yield what, f'{{"metadata":{make(BODY_BYTES_MAX - 20)}}}'.encode()
    for what, make in TEXTS.items():
        yield what, f'{{"metadata":{{"a":"{make(BODY_BYTES_MAX - 20)}"}}}}'.encode()


def _median_ms(stage: Stage, body: bytes) -> float:
    return median(_refused_ms(stage, body) for _ in range(ROUNDS))


def _refused_ms(stage: Stage, body: bytes) -> float:
    headers = {"content-type": "application/json", **stage.shops[0].create_headers}
    began = time.perf_counter()
    status, answer = stage.api.ask("POST", PATH, headers=headers, body=body)
    took_ms = (time.perf_counter() - began) * 1000
    if status not in (400, 422):
        raise BenchFailed(f"a hostile body was answered with {status} {answer[:500].decode()}")
    return took_ms


def _health_ms(stage: Stage) -> float:
    began = time.perf_counter()
    status, _ = stage.api.get(HEALTH_PATH)
    if status != 200:
        raise BenchFailed(f"{HEALTH_PATH} answered {status}")
    return (time.perf_counter() - began) * 1000


def _health_beside_ms(stage: Stage, body: bytes) -> float:
    """The longest of those that are asked while the body is read."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        sending = pool.submit(_refused_ms, stage, body)
        longest = _health_ms(stage)
        while not sending.done():
            longest = max(longest, _health_ms(stage))
        sending.result()
    return longest
