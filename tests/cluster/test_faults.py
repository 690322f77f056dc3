"""A node dies between the two phases of a commit, the coordinator dies, a shard moves under a worker's lease."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from click.testing import CliRunner
from local_cluster.nodes import HOW_TO_GET, Nodes, find_bin, port_of

from build import Shop, make_shop
from cluster.moving import moving, node_of
from conftest import ENCRYPTION_KEY, check_books
from inflow import Inflows, credit
from ledger.booking import new_business
from serving import serving
from tidegate.cli import main
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Unavailable
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra import leased_work
from tidegate.infra.db import Database, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import DueRow, RoundResult, WorkKind, run_round
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from waiting import until

COORDINATOR = 0
CREDITED_MINOR = 95_00  # Of 100 euros, after the price.


@dataclass(frozen=True)
class FaultyCluster:
    """Of its own: what other tests hold open would not survive."""

    nodes: Nodes
    runtime: Runtime
    client: httpx.AsyncClient

    @property
    def url(self) -> str:
        return self.nodes.url()

    async def shop(self) -> Shop:
        return await make_shop(self.runtime.db, self.client, rate_per_second=100_000, rate_burst=100_000)

    async def ask(self, number: int, question: str, *arguments: Any) -> Any:
        """One node, past the cluster."""
        async with self.connection(number) as connection:
            return await connection.fetchval(question, *arguments)

    @asynccontextmanager
    async def connection(self, number: int = COORDINATOR) -> AsyncIterator[Any]:
        connection = await asyncpg.connect(self.nodes.url(number=number))
        try:
            yield connection
        finally:
            await connection.close()


@pytest.fixture(scope="module")
async def faulty() -> AsyncIterator[FaultyCluster]:
    if not os.environ.get("TIDEGATE_TEST_CLUSTER"):
        pytest.skip(f"make test-cluster runs it, on three nodes with Citus. {HOW_TO_GET}")
    home = Path(tempfile.mkdtemp(prefix="tidegate-faults-"))
    nodes = Nodes(home, find_bin(), shards=2)
    try:
        nodes.start()
        url = await nodes.make_database("tidegate")
        await deployment.prepare(url, Mode.SANDBOX)
        settings = Settings(database_url=url, encryption_keys=(ENCRYPTION_KEY,))
        async with serving(settings) as (base_url, _), httpx.AsyncClient(base_url=base_url, timeout=60) as client:
            runtime = Runtime.of(settings)
            async with runtime.open():
                yield FaultyCluster(nodes, runtime, client)
    finally:
        nodes.stop()
        shutil.rmtree(home, ignore_errors=True)


async def _tick() -> None:
    """The worker has nothing to do here."""


@asynccontextmanager
async def commits_wait(faulty: FaultyCluster, number: int) -> AsyncIterator[None]:
    """A commit of this node is written and not acknowledged: it waits for a standby that is not there."""
    async with faulty.connection(number) as admin:
        await admin.execute("ALTER SYSTEM SET synchronous_commit = 'on'")
        await admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'none_that_exists'")
        await admin.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            await admin.execute("ALTER SYSTEM RESET ALL")
            await admin.execute("SELECT pg_reload_conf()")


async def open_shop(faulty: FaultyCluster) -> Shop:
    """Once no session has a connection that a node has lost."""
    opened: list[Shop] = []

    async def is_open() -> bool:
        with suppress(Unavailable):
            opened.append(await faulty.shop())
        return bool(opened)

    await until(is_open)
    return opened[0]


async def notification_of_another_node(faulty: FaultyCluster, account_number: str, home: int) -> dict[str, Any]:
    """A credit whose notification is stored on another node than its business."""
    async with faulty.connection() as admin:
        while True:
            body = credit(account_number)
            port = await admin.fetchval(
                """
                SELECT nodeport FROM citus_shards
                 WHERE shardid = get_shard_id_for_distribution_column('notification', $1::text)
                """,
                body["id"],
            )
            if port != home:
                return body


async def test_a_node_that_dies_between_the_two_phases_of_a_commit_loses_nothing(faulty: FaultyCluster) -> None:
    shop = await faulty.shop()
    async with faulty.connection() as admin:
        inflows = Inflows(shop, faulty.runtime, admin, _tick)
        number = await inflows.number()
    home = await node_of(faulty.url, shop.business_id)
    first, second = (1, 2) if home == port_of(1) else (2, 1)
    body = await notification_of_another_node(faulty, number, home)

    async def is_prepared() -> bool:
        waits = await faulty.ask(first, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        return bool(waits and await faulty.ask(second, "SELECT count(*) FROM pg_prepared_xacts"))

    async with commits_wait(faulty, first):
        notified = asyncio.create_task(inflows.notify(body))
        await until(is_prepared)
        faulty.nodes.kill_node(second)
    await notified  # Whatever it says: the rail repeats what it does not know to be taken.
    faulty.nodes.start_node(second)
    assert await faulty.ask(second, "SELECT count(*) FROM pg_prepared_xacts") == 1

    async def is_resolved() -> bool:
        await faulty.ask(first, "SELECT recover_prepared_transactions()")
        return not await faulty.ask(second, "SELECT count(*) FROM pg_prepared_xacts")

    await until(is_resolved)

    async def is_taken() -> bool:
        return (await inflows.notify(body)).status_code == 200

    await until(is_taken)
    async with faulty.connection() as admin:
        assert await Inflows(shop, faulty.runtime, admin, _tick).wallet("EUR") == CREDITED_MINOR
        assert await admin.fetchval("SELECT count(*) FROM notification WHERE id = $1", body["id"]) == 1
        assert await admin.fetchval("SELECT count(*) FROM collection WHERE business_id = $1", shop.business_id) == 1
    await check_books(faulty.runtime)


async def test_the_doctor_names_a_node_that_is_down(faulty: FaultyCluster, tmp_path: Path) -> None:
    variables = {"DATABASE_URL": faulty.url, "TIDEGATE_HOME": str(tmp_path)}
    faulty.nodes.kill_node(2)
    try:
        said = await asyncio.to_thread(CliRunner().invoke, main, ["doctor", "--json"], env=variables)
    finally:
        faulty.nodes.start_node(2)
    assert said.exit_code == 1
    (found,) = json.loads(said.output)
    assert found["subject"] == "cluster nodes"
    assert found["what"] == f"{faulty.nodes.home}:{port_of(2)}"


async def test_the_first_statement_after_a_node_was_away_may_be_tried_again(faulty: FaultyCluster) -> None:
    """Citus has kept its connection to the node, and calls its loss an internal error."""
    db = Database(faulty.url, connections_max=1)
    await db.open()
    await new_business(db)  # On every node.
    faulty.nodes.kill_node(1)
    faulty.nodes.start_node(1)
    with pytest.raises(Unavailable) as refused:
        await new_business(db)
    assert isinstance(refused.value.__cause__, asyncpg.InternalServerError)
    await new_business(db)
    await db.close()


async def test_what_was_acknowledged_outlives_the_coordinator(faulty: FaultyCluster) -> None:
    shop = await open_shop(faulty)
    made: list[str] = []
    is_dead = asyncio.Event()

    async def create() -> None:
        """Until the coordinator is dead."""
        while not is_dead.is_set():
            answer = await shop.create()
            if answer.status_code == 201:
                made.append(answer.json()["data"]["reference"])
            else:
                assert answer.status_code == 503, answer.text

    creating = [asyncio.create_task(create()) for _ in range(4)]
    await until(lambda: _are_many(made))
    faulty.nodes.kill_node(COORDINATOR)
    is_dead.set()
    await asyncio.gather(*creating)
    assert (await shop.create()).status_code == 503
    faulty.nodes.start_node(COORDINATOR)

    async def is_back() -> bool:
        return (await shop.create()).status_code == 201

    await until(is_back)
    for reference in made:
        assert (await shop.verify(reference)).status_code == 200, reference


async def _are_many(made: list[str]) -> bool:
    return len(made) >= 20


async def test_a_worker_keeps_its_lease_while_the_shard_moves(cluster: Nodes, db: Database, database_url: str) -> None:
    business_id, clock = await new_business(db), SystemClock()

    async def list_due(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
        return [DueRow(business_id, "row")]

    async def rival(lease: Lease, _: datetime) -> int:
        raise AssertionError(lease)

    async def work(lease: Lease, _: datetime) -> int:
        before = await node_of(database_url, business_id)
        async with moving(database_url, business_id):
            assert await run_round(db, kind, rival, clock) == RoundResult()
        assert await node_of(database_url, business_id) != before
        assert await run_round(db, kind, rival, clock) == RoundResult()
        async with leased_work.writing(db, lease):
            pass
        return 1

    kind = WorkKind("made_up", list_due)
    assert await run_round(db, kind, work, clock) == RoundResult(done=1)
    async with db.connection() as tx:
        assert await tx.fetchval("SELECT count(*) FROM leased_work WHERE business_id = $1", business_id) == 0
