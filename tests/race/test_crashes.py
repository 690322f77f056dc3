"""kill -9 in the middle of creates: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sized
from pathlib import Path

import asyncpg
import httpx
import pytest

from build import Shop, make_shop, order
from conftest import postgres_bin
from process import api, supervised_by
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres

CLIENTS = 8
KILLS = 3
WITHIN_S = 180.0


@pytest.fixture
def postgres() -> Iterator[EmbeddedPostgres]:
    """Durable, unlike the one of the other tests: that is the point here."""
    home = Path(tempfile.mkdtemp(prefix="tidegate-crash-"))
    server = EmbeddedPostgres(home, bin_dir=postgres_bin())
    server.start()
    yield server
    server.stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
async def url(postgres: EmbeddedPostgres) -> str:
    await deployment.prepare(postgres.url(), Mode.SANDBOX)
    return postgres.url()


@pytest.fixture
async def crash_db(url: str) -> AsyncIterator[Database]:
    database = Database(url)
    await database.open()
    yield database
    await database.close()


class Journal:
    """What was sent, and what was acknowledged: a pay code per reference."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._numbers = itertools.count(1)
        self.acknowledged: dict[str, str] = {}
        self.unavailable = 0

    async def create_until_told(self, done: asyncio.Event) -> None:
        while not done.is_set():
            await self.create_one(f"crash-{next(self._numbers)}")

    async def create_one(self, reference: str) -> None:
        """Asks until the answer is definite, as a merchant would."""
        ends_at = time.monotonic() + WITHIN_S
        while time.monotonic() < ends_at:
            answer = await self._send(reference)
            if answer is not None and answer.status_code in (201, 409):
                self.acknowledged[reference] = answer.json()["data"]["payCode"]
                return
            assert answer is None or answer.status_code == 503, answer.text
            await asyncio.sleep(0.05)
        raise AssertionError(f"{reference} was never answered")

    async def _send(self, reference: str) -> httpx.Response | None:
        try:
            answer = await self._shop.create(order(reference=reference))
        except httpx.TransportError:
            return None
        self.unavailable += answer.status_code == 503
        return answer


async def load_while(shop: Shop, disturb: Callable[[Journal], Awaitable[None]]) -> Journal:
    journal = Journal(shop)
    done = asyncio.Event()
    clients = [asyncio.create_task(journal.create_until_told(done)) for _ in range(CLIENTS)]
    for _ in range(KILLS):
        await more_than(len(journal.acknowledged) + CLIENTS, journal.acknowledged)
        await disturb(journal)
    await more_than(len(journal.acknowledged) + CLIENTS, journal.acknowledged)
    done.set()
    await asyncio.gather(*clients)
    return journal


async def more_than(count: int, things: Sized) -> None:
    await until(lambda: len(things) > count, f"there were never more than {count}")


async def until(is_so: Callable[[], bool], otherwise: str) -> None:
    ends_at = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < ends_at, otherwise
        await asyncio.sleep(0.02)


async def check(journal: Journal, url: str) -> None:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch("SELECT reference, pay_code FROM payment")
    await connection.close()
    assert len(journal.acknowledged) > CLIENTS
    assert {row["reference"]: row["pay_code"] for row in rows} == journal.acknowledged
    assert len(rows) == len(journal.acknowledged)


async def test_killing_the_api_loses_nothing(url: str, crash_db: Database) -> None:
    with api(url, workers=2) as (base_url, process):
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=base_url, timeout=60, limits=limits) as client:
            shop = await make_shop(crash_db, client, rate_per_second=100_000, rate_burst=100_000)

            async def kill_one(_: Journal) -> None:
                children = await asyncio.to_thread(supervised_by, process)
                os.kill(children[0], signal.SIGKILL)

            journal = await load_while(shop, kill_one)
    await check(journal, url)


async def test_killing_postgresql_loses_nothing(url: str, crash_db: Database, postgres: EmbeddedPostgres) -> None:
    with api(url) as (base_url, _):
        async with httpx.AsyncClient(base_url=base_url, timeout=60) as client:
            shop = await make_shop(crash_db, client, rate_per_second=100_000, rate_burst=100_000)

            async def kill_postgres(journal: Journal) -> None:
                assert postgres.pid is not None
                seen = journal.unavailable
                os.kill(postgres.pid, signal.SIGKILL)
                await until(lambda: journal.unavailable > seen, "the database was never seen away")
                postgres.start()

            journal = await load_while(shop, kill_postgres)
            ready = await client.get("/readyz")
            assert ready.status_code == 200
    await check(journal, url)
