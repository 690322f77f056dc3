"""Rate limits of three machines that tell each other what they let pass."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from infra.stopwatch import Stopwatch
from tidegate.infra import limit_exchange
from tidegate.infra.db import Database
from tidegate.infra.limit_exchange import CALLERS_MAX, EVERY_S, LimitExchange
from tidegate.infra.rate_limit import RateLimit
from waiting import until

MACHINES, TICK_S = 3, 0.01


@pytest.fixture
def exchanges(db: Database, tmp_path: Path) -> list[LimitExchange]:
    return [
        LimitExchange(db, [RateLimit(slots=64), RateLimit(slots=64)], bytes([number] * 8), tmp_path / f"lock{number}")
        for number in range(MACHINES)
    ]


def limits_of(exchanges: list[LimitExchange]) -> list[RateLimit]:
    return [exchange.limits[1] for exchange in exchanges]


def send(exchanges: list[LimitExchange]) -> None:
    payloads = [limit_exchange.write(one.machine, enumerate(one.limits)) for one in exchanges]
    for payload in payloads:
        for exchange in exchanges:
            exchange.receive(payload or "")


@pytest.mark.parametrize(
    ("per_second", "burst", "tries_each_s"), [(50, 100, 400), (50, 100, 20), (2, 20, 50), (600, 100, 900)]
)
def test_over_a_minute_three_machines_let_pass_what_one_would(
    exchanges: list[LimitExchange], stopwatch: Stopwatch, per_second: float, burst: int, tries_each_s: int
) -> None:
    passed, due, sent_at = 0, 0.0, stopwatch.now
    for _ in range(round(60 / TICK_S)):
        stopwatch.now += TICK_S
        due += tries_each_s * TICK_S
        for _ in range(int(due)):
            passed += sum(not one.wait_s(7, per_second=per_second, burst=burst) for one in limits_of(exchanges))
        due -= int(due)
        if stopwatch.now - sent_at >= EVERY_S:
            sent_at = stopwatch.now
            send(exchanges)
    allowed = per_second * 60 + burst
    assert passed == pytest.approx(min(allowed, MACHINES * tries_each_s * 60), rel=0.1)


def test_what_is_owed_ends(exchanges: list[LimitExchange], stopwatch: Stopwatch) -> None:
    """However many others there are, no caller waits longer than a few times its allowance."""
    one, *others = limits_of(exchanges)
    for _ in range(20):
        for other in others:
            while not other.wait_s(7, per_second=50, burst=100):
                pass
        send(exchanges)
        stopwatch.now += 0.1
    assert 0 < one.wait_s(7, per_second=50, burst=100) <= 8


def test_a_payload_stays_within_what_a_notification_carries(exchanges: list[LimitExchange]) -> None:
    machine, limit = exchanges[0].machine, RateLimit()
    limit.share()
    for slot in range(CALLERS_MAX + 50):
        limit.count(slot, per_second=1, burst=1)
    payload = limit_exchange.write(machine, [(0, limit)])
    assert payload is not None
    assert len(payload) < 8_000
    assert limit_exchange.write(machine, [(0, limit)]) is None


async def test_machines_hear_each_other_through_the_database(exchanges: list[LimitExchange]) -> None:
    tasks = [asyncio.create_task(work()) for one in exchanges for work in (one.keep_sending, one.keep_listening)]
    first, *others = limits_of(exchanges)

    async def have_heard() -> bool:
        # Until all of them listen, what is sent is lost.
        first.count(7, per_second=1 / 60, burst=1)
        return all(one.peek_s(7, per_second=1 / 60, burst=1) > 0 for one in others)

    try:
        await until(have_heard)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
