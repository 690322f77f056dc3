"""API processes, workers and PostgreSQL are killed in any order, under load. Only the parents are left alone: they mend
everything by themselves, and nothing that was acknowledged is lost.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from build import Shop, make_shop, order
from checkout.paying import card
from conftest import postgres_bin
from process import free_port, status_of, stop, supervised_by, tidegate, wait_until_ready
from receiver import Receiver, receiving
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres

KILLS = ["api"] * 8 + ["worker"] * 8 + ["postgres"] * 4
CLIENTS = 4
# Acknowledged between one kill and the next.
PROGRESS = 2
WITHIN_S = 120.0
# All of it; on a machine with nothing else to do it takes a fifth of this.
ENDS_WITHIN_S = 900.0
# A charge that never reached the rail leaves a failed attempt, and the payment open for another.
UNDECIDED = "SELECT count(*) FROM attempt WHERE status IN ('starting', 'waiting', 'running')"
TRANSIENT = (httpx.TransportError, json.JSONDecodeError)


@dataclass
class Deployment:
    """`tidegate serve` with a PostgreSQL of its own, and `tidegate worker` beside it."""

    home: Path
    base_url: str
    api: subprocess.Popen[str]
    worker: subprocess.Popen[str]

    @property
    def postgres(self) -> EmbeddedPostgres:
        return EmbeddedPostgres(self.home, bin_dir=postgres_bin())

    async def kill(self, what: str, chance: random.Random) -> None:
        os.kill(await asyncio.to_thread(self._victim, what, chance), signal.SIGKILL)

    def _victim(self, what: str, chance: random.Random) -> int:
        if what != "postgres":
            return chance.choice(supervised_by(self.api if what == "api" else self.worker, within_s=WITHIN_S))
        ends_at = time.monotonic() + WITHIN_S
        while (pid := self.postgres.pid) is None:
            assert time.monotonic() < ends_at, "PostgreSQL was not started again"
            time.sleep(0.05)
        return pid


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    home = Path(tempfile.mkdtemp(prefix="tidegate-kills-"))
    port = free_port()
    environment = {"TIDEGATE_HOME": str(home), "PORT": str(port), "TIDEGATE_TRUSTED_PROXIES": "1"}
    base_url = f"http://127.0.0.1:{port}"
    # Only this makes a database where there is none.
    prepared = tidegate("migrate", **environment)
    said, _ = prepared.communicate(timeout=WITHIN_S)
    assert prepared.returncode == 0, said
    api = tidegate("serve", "--workers", "2", **environment)
    try:
        wait_until_ready(base_url, api)
        worker = tidegate("worker", **environment)
        try:
            # A parent that starts while PostgreSQL is away ends; one that has started waits for it.
            supervised_by(worker, within_s=WITHIN_S)
            yield Deployment(home, base_url, api, worker)
        finally:
            stop(worker)
    finally:
        stop(api)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
async def shop(deployment: Deployment) -> AsyncIterator[Shop]:
    db = Database(deployment.postgres.url())
    await db.open()
    async with httpx.AsyncClient(base_url=deployment.base_url, timeout=60) as client:
        made = await make_shop(db, client, rate_per_second=100_000, rate_burst=100_000)
        await db.close()
        yield made


@dataclass
class Journal:
    """What the API has acknowledged: pay codes by reference, and the references that were paid."""

    shop: Shop
    created: dict[str, str] = field(default_factory=dict)
    paid: set[str] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def buy_until(self, done: asyncio.Event) -> None:
        while not done.is_set():
            await self._buy(next(self._numbers))

    async def _buy(self, number: int) -> None:
        reference = f"kill-{number}"
        created = await definite(lambda: self.shop.create(order(reference=reference)))
        assert created.status_code in (201, 409), created.text
        pay_code = self.created[reference] = created.json()["data"]["payCode"]
        payer = {"x-forwarded-for": f"10.{number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"}
        # Once: whether a charge that nobody answered was carried out is for the worker to find out.
        with suppress(*TRANSIENT):
            path = f"/checkout/payments/{pay_code}/charge"
            charged = await self.shop.client.post(path, json=card(), headers=payer)
            if charged.status_code == 200 and charged.json()["data"]["status"] == "success":
                self.paid.add(reference)


async def definite(ask: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Asks until the answer is one, as a merchant would."""
    ends_at = time.monotonic() + WITHIN_S
    while time.monotonic() < ends_at:
        with suppress(*TRANSIENT):
            answer = await ask()
            if answer.status_code < 500:
                return answer
            assert answer.status_code == 503, answer.text
            assert int(answer.headers["retry-after"]) > 0
        await asyncio.sleep(0.05)
    raise AssertionError("there was never a definite answer")


async def test_after_any_kills_the_parents_mend_all_and_nothing_acknowledged_is_lost(
    deployment: Deployment, shop: Shop
) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with asyncio.timeout(ENDS_WITHIN_S), receiving() as receiver:
        body = {"url": receiver.url(), "ratePerSecond": 1_000}
        await call(shop, "POST", "/webhooks/endpoints", body)
        journal = await buy_while_killing(deployment, shop, chance)
        assert (deployment.api.poll(), deployment.worker.poll()) == (None, None)
        await let_all_arrive(deployment, shop, receiver)
        await check(deployment, journal, receiver)


async def buy_while_killing(deployment: Deployment, shop: Shop, chance: random.Random) -> Journal:
    journal = Journal(shop)
    done = asyncio.Event()
    clients = [asyncio.create_task(journal.buy_until(done)) for _ in range(CLIENTS)]
    for what in chance.sample(KILLS, len(KILLS)):
        await progress(journal)
        print(f"{time.monotonic():.1f} s, {len(journal.paid)} paid: the end of a process of {what}")
        await deployment.kill(what, chance)
    await progress(journal)
    done.set()
    await asyncio.gather(*clients)
    return journal


async def progress(journal: Journal) -> None:
    """Work goes on before the next kill, so that there is something to lose."""
    before = len(journal.paid)
    while len(journal.paid) < before + PROGRESS:  # noqa: ASYNC110 - the clients tell nobody
        await asyncio.sleep(0.02)


async def call(shop: Shop, method: str, path: str, body: Any = None, **query: str) -> Any:
    headers = {"api-key": shop.secret_key}
    answer = await definite(lambda: shop.client.request(method, path, json=body, headers=headers, params=query))
    assert answer.is_success, answer.text
    return answer.json()["data"]


async def let_all_arrive(deployment: Deployment, shop: Shop, receiver: Receiver) -> None:
    """Leases of the dead run out by the sandbox's clock; until then the worker leaves their work alone."""
    connection = await asyncpg.connect(deployment.postgres.url())
    while await connection.fetchval(UNDECIDED) or notified_references(receiver) != await successes_in(connection):
        await call(shop, "POST", "/sandbox/clock", {"advance": "20s"})
        await asyncio.sleep(0.5)
    await connection.close()


async def successes_in(connection: Any) -> list[str]:
    rows = await connection.fetch("SELECT reference FROM payment WHERE status = 'success'")
    return sorted(row["reference"] for row in rows)


def notified_references(receiver: Receiver) -> list[str]:
    """Each event once, however often it was sent."""
    bodies = {got.event_id: json.loads(got.body) for got in receiver.received}
    references = (body["data"]["merchantReference"] for body in bodies.values() if body["event"] == "charge.successful")
    return sorted(references)


async def check(deployment: Deployment, journal: Journal, receiver: Receiver) -> None:
    connection = await asyncpg.connect(deployment.postgres.url())
    rows = await connection.fetch("SELECT reference, pay_code, status FROM payment")
    await connection.close()
    assert len(rows) == len(journal.created)
    assert {row["reference"]: row["pay_code"] for row in rows} == journal.created
    succeeded = {row["reference"] for row in rows if row["status"] == "success"}
    assert journal.paid <= succeeded
    assert notified_references(receiver) == sorted(succeeded), "each success has one event"
    assert status_of(f"{deployment.base_url}/readyz") == 200
    examined = tidegate("doctor", "--books", TIDEGATE_HOME=str(deployment.home))
    said, _ = await asyncio.to_thread(examined.communicate, timeout=WITHIN_S)
    assert examined.returncode == 0, said
