"""No answer rests on a commit that no standby has. The standby here is pg_receivewal, which keeps the primary's WAL."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from build import Shop, make_shop, order
from conftest import postgres_bin
from database_questions import watched_server
from receiver import receiving
from tidegate.core.errors import Unavailable
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres, binaries
from waiting import until
from webhook.world import make_world

NAME = "receiver"
QUESTION = "SELECT await_standby()"


class Place:
    """A primary with its standby, and the API in front of it."""

    def __init__(self, admin: Any, receiver: subprocess.Popen[bytes], shop: Shop, said: list[str]) -> None:
        self.admin, self.receiver, self.shop, self.said = admin, receiver, shop, said

    def freeze(self) -> None:
        self.receiver.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.receiver.send_signal(signal.SIGCONT)

    async def waiting(self, words: str) -> int:
        """The process whose statement has these words and whose commit waits for the standby; 0 for none."""
        found = await self.admin.fetchval(
            "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%' || $1 || '%'", words
        )
        return int(found or 0)

    async def cancel_the_wait(self, words: str) -> None:
        """As an operator who must not: the commit is done and seen by all, and no standby has it."""
        await until(lambda: self.waiting(words))
        await self.admin.fetchval("SELECT pg_cancel_backend($1)", await self.waiting(words))


@pytest.fixture(scope="module")
async def primary() -> AsyncIterator[EmbeddedPostgres]:
    with tempfile.TemporaryDirectory(prefix="tidegate-primary-") as home:
        postgres = EmbeddedPostgres(Path(home), bin_dir=postgres_bin(), durable=False)
        postgres.start()
        await deployment.prepare(postgres.url(), Mode.SANDBOX)
        try:
            yield postgres
        finally:
            postgres.stop()


def _allow_replication(hba: Path) -> None:
    hba.write_text(hba.read_text().replace("local all", "local replication,all"))


def _start_receiver(url: str, place: Path) -> subprocess.Popen[bytes]:
    program = binaries.find(postgres_bin()).folder / "pg_receivewal"
    return subprocess.Popen([program, "--synchronous", "-D", place, "-d", f"{url}&application_name={NAME}"])


@pytest.fixture(scope="module")
async def admin(primary: EmbeddedPostgres) -> AsyncIterator[Any]:
    """Whose own changes wait for none."""
    admin = await asyncpg.connect(primary.url(), server_settings={"synchronous_commit": "local"})
    _allow_replication(Path(await admin.fetchval("SHOW hba_file")))
    await admin.execute("ALTER SYSTEM SET synchronous_commit = on")
    await admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'")
    await admin.execute("SELECT pg_reload_conf()")
    yield admin
    await admin.close()


@pytest.fixture(scope="module")
async def receiver(primary: EmbeddedPostgres, admin: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    process = _start_receiver(primary.url(), tmp_path_factory.mktemp("received"))
    await until(lambda: admin.fetchval("SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'"))
    yield process
    process.send_signal(signal.SIGCONT)
    process.terminate()
    process.wait()


@pytest.fixture
async def place(
    primary: EmbeddedPostgres, admin: Any, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    db = Database(primary.url())
    await db.open()
    async with (
        watched_server(primary.url(), monkeypatch) as (url, said),
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        shop = await make_shop(db, client)
        found = Place(admin, receiver, shop, said)

        async def is_asked() -> bool:
            await shop.verify("none")
            return QUESTION in said

        await until(is_asked)
        said.clear()
        yield found
        found.thaw()
    await db.close()


async def test_a_commit_that_no_standby_has_is_in_no_answer(place: Place) -> None:
    shop, body = place.shop, order(reference="lost")
    place.freeze()
    creating = asyncio.create_task(shop.create(body))
    await place.cancel_the_wait("create_payments")
    assert (await creating).status_code == 503
    code = await place.admin.fetchval("SELECT pay_code FROM payment WHERE reference = 'lost'")
    assert code
    asked = [
        shop.verify("lost"),
        shop.create(body),
        shop.client.get("/checkout/payments", headers=shop.verify_headers),
        shop.client.get(f"/pay/{code}"),
        shop.client.get(f"/checkout/payments/{code}"),
    ]
    answers = await asyncio.gather(*asked)
    assert [answer.status_code for answer in answers] == [503] * len(asked)
    assert all(answer.headers["retry-after"] == "1" for answer in answers)
    assert all("lost" not in answer.text for answer in answers)
    for path in ("/healthz", "/readyz"):
        assert (await shop.client.get(path)).status_code == 200
    place.thaw()
    assert (await shop.verify("lost")).json()["data"]["merchantReference"] == "lost"
    assert (await shop.create(body)).status_code == 409


async def test_a_stream_ends_rather_than_tell_it(place: Place) -> None:
    shop = place.shop
    body = order()
    code = (await shop.create(body)).json()["data"]["payCode"]
    async with shop.client.stream("GET", f"/checkout/payments/{code}/events") as stream:
        told = stream.aiter_text()
        first = await anext(told)
        assert "data:" in first
        place.freeze()
        await place.admin.execute("UPDATE payment SET version = version + 1 WHERE pay_code = $1", code)
        with pytest.raises(httpx.RemoteProtocolError):
            assert await anext(told) == ""


async def test_no_webhook_tells_of_a_commit_that_no_standby_has(primary: EmbeddedPostgres, place: Place) -> None:
    db = Database(primary.url())
    await db.open()
    async with make_world(db) as world, receiving() as receiver:
        await world.endpoint(receiver.url())
        place.freeze()
        writing = asyncio.create_task(world.event())
        await place.cancel_the_wait("INSERT INTO event")
        with pytest.raises(Unavailable):
            await writing
        walking = asyncio.create_task(world.walk())

        async def waits_or_is_done() -> bool:
            return walking.done() or await place.waiting("") != 0

        await until(waits_or_is_done)
        assert receiver.received == []
        place.thaw()
        assert len(await walking) == len(receiver.received) == 1
    await db.close()


async def test_only_what_was_read_is_asked_for(place: Place) -> None:
    shop, body = place.shop, order()
    assert (await shop.create(body)).status_code == 201
    # It has a commit of its own, which has waited.
    assert QUESTION not in place.said
    assert (await shop.verify(body["reference"])).status_code == 200
    assert place.said.count(QUESTION) == 1
