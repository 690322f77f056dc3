"""More requests at once than may be in flight: some are served, the others are told when to retry."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from build import Shop, make_shop, order
from conftest import ENCRYPTION_KEY
from serving import serving
from tidegate.infra import batcher
from tidegate.infra.db import Database
from tidegate.infra.http import in_flight
from tidegate.settings import Settings

IN_FLIGHT = 8
AT_ONCE = 120
# So few that all are answered before PostgreSQL has had enough of waiting for a lock.
FEW = 24
RATE = 100_000
# Only a server that hangs makes anybody wait as long.
PATIENCE_S = 120


@pytest.fixture
async def crowded(database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """A server with a low limit, and a client with a connection for each request."""
    monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", IN_FLIGHT)
    settings = Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,))
    limits = httpx.Limits(max_connections=None)
    async with (
        serving(settings) as (url, _),
        httpx.AsyncClient(base_url=url, limits=limits, timeout=PATIENCE_S) as client,
    ):
        yield client


@pytest.fixture
async def busy_shop(db: Database, crowded: httpx.AsyncClient) -> Shop:
    return await make_shop(db, crowded, rate_per_second=RATE, rate_burst=RATE)


def references(prefix: str, count: int = AT_ONCE) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


async def create(shop: Shop, reference: str) -> tuple[str, httpx.Response]:
    return reference, await shop.create(order(reference=reference))


async def written(admin: Any) -> set[str]:
    return {row["reference"] for row in await admin.fetch("SELECT reference FROM payment")}


def refuse_rudeness(refused: list[httpx.Response]) -> None:
    for answer in refused:
        assert answer.status_code in (429, 503), answer.text
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["errorType"] in ("RATE_LIMITED", "SERVICE_UNAVAILABLE")


async def test_under_overload_requests_are_served_or_refused_with_retry_after(busy_shop: Shop, admin: Any) -> None:
    answers = dict(await asyncio.gather(*(create(busy_shop, name) for name in references("crowd"))))
    created = {name for name, answer in answers.items() if answer.status_code == 201}
    assert created
    refuse_rudeness([answer for name, answer in answers.items() if name not in created])
    # Each success is a row, and no refusal has left one.
    assert await written(admin) == created
    assert (await busy_shop.create(order(reference="afterwards"))).status_code == 201


async def test_no_more_than_the_limit_are_in_flight(
    busy_shop: Shop, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else admitted requests are told that the database is stuck, as it is here.
    monkeypatch.setattr(batcher, "WAIT_S", PATIENCE_S)
    assert (await busy_shop.create(order(reference="first"))).status_code == 201
    async with admin.transaction():
        # Admitted requests wait here until all the others have been refused.
        await admin.execute("LOCK TABLE payment IN SHARE ROW EXCLUSIVE MODE")
        waiting = [asyncio.create_task(create(busy_shop, name)) for name in references("held", FEW)]
        refused = []
        for one in asyncio.as_completed(waiting):
            refused.append((await one)[1])
            if len(refused) == FEW - IN_FLIGHT:
                break
    refuse_rudeness(refused)
    assert Counter(answer.status_code for answer in refused) == {503: FEW - IN_FLIGHT}
    answers = dict(await asyncio.gather(*waiting))
    created = {name for name, answer in answers.items() if answer.status_code == 201}
    assert len(created) == IN_FLIGHT
    assert await written(admin) == {"first", *created}
    assert (await busy_shop.create(order(reference="afterwards"))).status_code == 201


async def test_one_business_at_its_rate_limit_takes_nothing_from_another(
    busy_shop: Shop, db: Database, crowded: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, admin: Any
) -> None:
    monkeypatch.setattr(in_flight, "IN_FLIGHT_MAX", 2 * AT_ONCE)
    hasty = await make_shop(db, crowded, rate_per_second=1, rate_burst=5)
    answers = dict(await asyncio.gather(*(create(hasty, name) for name in references("hasty"))))
    created = {name for name, answer in answers.items() if answer.status_code == 201}
    refused = [answer for name, answer in answers.items() if name not in created]
    refuse_rudeness(refused)
    assert 429 in {answer.status_code for answer in refused}
    assert (await busy_shop.create(order(reference="beside"))).status_code == 201
    assert await written(admin) == {"beside", *created}
