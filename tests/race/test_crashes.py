"""kill -9 in the middle of creates: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from build import Shop, make_shop, order
from conftest import postgres_bin
from process import api, children_of
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres

CLIENTS = 8
KILLS = 3
PAUSE_S = 0.7
AWAY_S = 0.4


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
        for _ in range(200):
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


async def load_while(shop: Shop, disturb: Callable[[], Awaitable[None]]) -> Journal:
    journal = Journal(shop)
    done = asyncio.Event()
    clients = [asyncio.create_task(journal.create_until_told(done)) for _ in range(CLIENTS)]
    for _ in range(KILLS):
        await asyncio.sleep(PAUSE_S)
        await disturb()
    await asyncio.sleep(PAUSE_S)
    done.set()
    await asyncio.gather(*clients)
    return journal


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
        async with httpx.AsyncClient(base_url=base_url, timeout=5, limits=limits) as client:
            shop = await make_shop(crash_db, client, rate_per_second=100_000, rate_burst=100_000)

            async def kill_one() -> None:
                # The resource tracker of multiprocessing is a child too; killing it would prove nothing.
                workers = [pid for pid in children_of(process.pid) if b"spawn_main" in command_of(pid)]
                os.kill(workers[0], signal.SIGKILL)

            journal = await load_while(shop, kill_one)
    await check(journal, url)


def command_of(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


async def test_killing_postgresql_loses_nothing(url: str, crash_db: Database, postgres: EmbeddedPostgres) -> None:
    with api(url) as (base_url, _):
        async with httpx.AsyncClient(base_url=base_url, timeout=5) as client:
            shop = await make_shop(crash_db, client, rate_per_second=100_000, rate_burst=100_000)

            async def kill_postgres() -> None:
                assert postgres.pid is not None
                os.kill(postgres.pid, signal.SIGKILL)
                await asyncio.sleep(AWAY_S)  # Long enough for the clients to notice.
                postgres.start()

            journal = await load_while(shop, kill_postgres)
            assert journal.unavailable > 0, "the database was never seen away"
            ready = await client.get("/readyz")
            assert ready.status_code == 200
    await check(journal, url)
