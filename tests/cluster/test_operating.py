"""What an operator does with a cluster: migrates it again, asks the doctor about it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from local_cluster.nodes import NODES, Nodes, port_of

from ledger.booking import a_few, new_business, paid, post
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.deployment.cluster import SENT_IN_TRANSACTIONS, SENT_TO_ITS_BUSINESS, WITH_OPTIONAL_ARGUMENTS
from tidegate.doctor.cluster import examine_cluster
from tidegate.doctor.commands import examine_books
from tidegate.infra.db import Database


@pytest.fixture
async def new_table(cluster: Nodes, admin: Any) -> AsyncIterator[str]:
    """As a new version brings one."""
    await admin.execute(
        "CREATE TABLE novelty (business_id text NOT NULL, id text NOT NULL, PRIMARY KEY (business_id, id))"
    )
    yield "novelty"
    await admin.execute("DROP TABLE novelty")


async def examined(db: Database) -> dict[str, tuple[bool, str]]:
    async with db.connection() as tx:
        return {found.subject: (found.is_well, found.what) async for found in examine_cluster(tx)}


async def test_migrating_again_changes_nothing(cluster: Nodes, database_url: str) -> None:
    assert await deployment.prepare(database_url, Mode.SANDBOX) == []


async def test_a_new_table_joins_the_others(new_table: str, database_url: str, db: Database) -> None:
    assert (await examined(db))["cluster tables"] == (False, new_table)
    assert (await deployment.prepare(database_url, Mode.SANDBOX))[0] == f"{new_table}: distributed by business_id"
    assert (await examined(db))["cluster tables"][0]
    assert await deployment.prepare(database_url, Mode.SANDBOX) == []


async def test_the_doctor_knows_the_nodes_and_what_each_has(cluster: Nodes, db: Database) -> None:
    found = await examined(db)
    assert all(is_well for is_well, _ in found.values()), found
    assert found["cluster balance"][1].count("shards") == NODES - 1


async def test_a_node_that_came_later_gets_what_functions_use(
    cluster: Nodes, database_url: str, admin: Any, db: Database
) -> None:
    """Citus brings tables, types and functions to it, but no sequence that only the body of a function names."""
    node = await asyncpg.connect(cluster.url(await admin.fetchval("SELECT current_database()"), 2))
    try:
        await node.execute("DROP SEQUENCE collection_serial")
    finally:
        await node.close()
    name = f"{cluster.home}:{port_of(2)}"
    assert (await examined(db))["cluster tables"] == (False, f"sequences of {name}")
    assert await deployment.prepare(database_url, Mode.SANDBOX) == [f"{name}: has the sequences too"]
    assert (await examined(db))["cluster tables"][0]
    assert await deployment.prepare(database_url, Mode.SANDBOX) == []


async def test_a_call_for_no_business_does_nothing(cluster: Nodes, db: Database, admin: Any) -> None:
    """Citus 13.2 would end its process, and with it every session."""
    names = (SENT_TO_ITS_BUSINESS | SENT_IN_TRANSACTIONS) - WITH_OPTIONAL_ARGUMENTS
    found = await admin.fetch(
        "SELECT proname, pronargs FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname = ANY ($1)",
        list(names),
    )
    assert {row["proname"] for row in found} == names
    for row in found:
        nothing = ", ".join(["NULL"] * row["pronargs"])
        async with db.connection() as tx:
            assert await tx.fetchval(f"SELECT {row['proname']}({nothing})") is None
        async with db.transaction() as tx:
            assert await tx.fetchval(f"SELECT {row['proname']}({nothing})") is None


async def test_a_database_that_has_traded_becomes_a_cluster(cluster: Nodes) -> None:
    await cluster.make_plain_databases("tidegate_grown")
    await deployment.prepare(cluster.url("tidegate_grown"), Mode.SANDBOX)
    async with opened(cluster.url("tidegate_grown")) as db:
        business_id = await new_business(db)
        await a_few(db, business_id)
        before = await sums_of(db)

    url = await cluster.join("tidegate_grown")
    assert "journal: distributed by business_id" in await deployment.prepare(url, Mode.SANDBOX)
    assert await deployment.prepare(url, Mode.SANDBOX) == []
    async with opened(url) as db:
        found = await examined(db)
        assert all(is_well for is_well, _ in found.values()), found
        assert await sums_of(db) == before
        async with db.connection() as tx:
            # Its types have to be on the node.
            assert await tx.fetchval("SELECT apply_payment_changes($1, '[]', now())", business_id) == []
        assert None not in await post(db, business_id, paid())
        findings, _ = await examine_books(db, now=SystemClock().now())
        whole = [one.is_well for one in findings if one.subject in ("journals", "ledger", "wallets", "statements")]
        assert whole == [True] * 4


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    db = Database(url)
    await db.open()
    try:
        yield db
    finally:
        await db.close()


async def sums_of(db: Database) -> Any:
    _, sums = await examine_books(db, now=SystemClock().now())
    return sums
