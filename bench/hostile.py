"""The slowest body that anybody can send, and how long `/healthz` waits meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from statistics import median

from bench.create import PATH
from bench.environment import Environment
from bench.hostile_input import TEXTS, VALUES
from bench.report import Finding, Section
from tidegate.infra.http.body import BODY_BYTES_MAX

# A machine that stalls once would else decide.
ROUNDS = 5
AIM_MS = 50.0
HEALTH_PATH = "/healthz"


def section(environment: Environment) -> Section:
    bodies = _bodies()
    took = {what: median(_refused_ms(environment, body) for _ in range(ROUNDS)) for what, body in bodies.items()}
    slowest, *others = sorted(took, key=lambda what: -took[what])
    waited_ms = median(_health_beside_ms(environment, bodies[slowest]) for _ in range(ROUNDS))
    return Section(
        name="hostile",
        title=f"{len(took)} bodies of {BODY_BYTES_MAX // 1024} kB that are hard to read, sent to create",
        findings=[
            Finding(f"the slowest ({slowest})", took[slowest], "ms", at_most=AIM_MS, decimals=1),
            *(Finding(f"the next ({what})", took[what], "ms", at_most=AIM_MS, decimals=1) for what in others[:2]),
            Finding("the median", median(took.values()), "ms", decimals=1),
            Finding(f"{HEALTH_PATH} beside the slowest", waited_ms, "ms", at_most=2 * AIM_MS, decimals=1),
        ],
        note=f"Each {ROUNDS} times, one at a time; medians.",
    )


def _bodies() -> dict[str, bytes]:
    room = BODY_BYTES_MAX - 32
    values = {what: f'{{"metadata":{make(room)}}}'.encode() for what, make in VALUES.items()}
    return values | {what: f'{{"metadata":{{"a":"{make(room)}"}}}}'.encode() for what, make in TEXTS.items()}


def _refused_ms(environment: Environment, body: bytes) -> float:
    headers = {"content-type": "application/json", **environment.shops[0].create_headers}
    return 1000 * environment.api.timed(PATH, headers, body, expected=(400, 422))[0]


def _health_ms(environment: Environment) -> float:
    return 1000 * environment.api.timed(HEALTH_PATH)[0]


def _health_beside_ms(environment: Environment, body: bytes) -> float:
    """The longest of those that are asked while the body is read."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        sending = pool.submit(_refused_ms, environment, body)
        longest = _health_ms(environment)
        while not sending.done():
            longest = max(longest, _health_ms(environment))
        sending.result()
    return longest
