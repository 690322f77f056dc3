"""Many identical creates at once, over two API processes: one payment each."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import httpx
import pytest

from build import Shop, make_shop, order
from process import api
from tidegate.infra.db import Database

# The full measure is 1,000 × 100.
REFERENCES = int(os.environ.get("TIDEGATE_TEST_REFERENCES", "25"))
RIVALS = int(os.environ.get("TIDEGATE_TEST_RIVALS", "20"))


@pytest.fixture(scope="module")
async def two_processes(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[Rivals, Any]]:
    url = await make_database("tidegate_test_race")
    database = Database(url)
    await database.open()
    admin = await asyncpg.connect(url)
    with api(url) as (first, _), api(url) as (second, _):
        async with (
            httpx.AsyncClient(base_url=first, timeout=60) as one,
            httpx.AsyncClient(base_url=second, timeout=60) as other,
        ):
            shop = await make_shop(database, one, rate_per_second=100_000, rate_burst=100_000)
            yield Rivals(shop, replace(shop, client=other)), admin
    await admin.close()
    await database.close()


@dataclass(frozen=True)
class Rivals:
    """One business that calls two processes."""

    one: Shop
    other: Shop

    async def at_once(self, bodies: list[dict[str, Any]], **headers: str) -> list[httpx.Response]:
        callers = itertools.cycle((self.one, self.other))
        calls = [caller.create(body, headers) for caller, body in zip(callers, bodies, strict=False)]
        return await asyncio.gather(*calls)


async def test_identical_creates_make_one_payment(two_processes: tuple[Rivals, Any]) -> None:
    rivals, admin = two_processes
    for number in range(REFERENCES):
        answers = await rivals.at_once([order(reference=f"same-{number}")] * RIVALS)
        assert Counter(a.status_code for a in answers) == {201: 1, 409: RIVALS - 1}
        assert len({a.json()["data"]["payCode"] for a in answers}) == 1
    rows = await admin.fetchval("SELECT count(*) FROM payment WHERE reference LIKE 'same-%'")
    assert rows == REFERENCES


async def test_different_amounts_under_one_reference_have_one_winner(two_processes: tuple[Rivals, Any]) -> None:
    rivals, _ = two_processes
    for number in range(max(REFERENCES // 4, 1)):
        reference = f"other-{number}"
        answers = await rivals.at_once([order(reference=reference, amount=n + 1) for n in range(RIVALS)])
        assert Counter(a.status_code for a in answers) == {201: 1, 409: RIVALS - 1}
        assert all("data" not in a.json() for a in answers if a.status_code == 409)
        winner = next(a for a in answers if a.status_code == 201).json()["data"]["payCode"]
        record = (await rivals.one.verify(reference)).json()["data"]
        index = next(i for i, a in enumerate(answers) if a.status_code == 201)
        assert (record["reference"], record["amount"]) == (winner, index + 1)


async def test_one_idempotency_key_makes_one_payment(two_processes: tuple[Rivals, Any]) -> None:
    rivals, admin = two_processes
    body = order(reference=...)
    answers = await rivals.at_once([body] * RIVALS, **{"Idempotency-Key": "only-once"})
    statuses = Counter(a.status_code for a in answers)
    assert set(statuses) <= {201, 409}
    created = [a for a in answers if a.status_code == 201]
    assert len({a.content for a in created}) == 1
    assert sum("idempotent-replayed" not in a.headers for a in created) == 1
    assert all(a.headers["retry-after"] == "1" for a in answers if a.status_code == 409)
    count = await admin.fetchval(
        "SELECT count(*) FROM payment WHERE reference = $1", created[0].json()["data"]["payCode"]
    )
    assert count == 1


async def test_what_one_process_acknowledged_another_finds_at_once(two_processes: tuple[Rivals, Any]) -> None:
    rivals, _ = two_processes
    for _ in range(100):
        reference = (await rivals.one.create()).json()["data"]["reference"]
        assert (await rivals.other.verify(reference)).status_code == 200
