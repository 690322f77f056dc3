"""A synchronous standby that is away: nothing rests on a commit that no standby has."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from build import order
from conftest import postgres_bin
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Unavailable
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.deployment import commands as deployment
from tidegate.idempotency import store as kept_answers
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.infra.http.read import read
from tidegate.merchant import commands as merchants
from tidegate.payment import store
from tidegate.payment.model import Draft, draft
from tidegate.payment.wire import CreatePayment, order_from
from waiting import until

WAITING = "SELECT array_agg(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


class AwayStandby:
    def __init__(self, db: Database, admin: Any, new: Draft) -> None:
        self.db, self.admin, self.new = db, admin, new

    async def set(self, names: str) -> None:
        await self.admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        await self.admin.execute("SELECT pg_reload_conf()")
        await until(lambda: self.admin.fetchval("SELECT current_setting('synchronous_standby_names') = $1", names))
        if names:
            await until(self._does_a_commit_wait)

    async def _does_a_commit_wait(self) -> bool:
        """PostgreSQL's checkpointer decides it for all, and may read the setting later than this connection."""
        connection = await asyncpg.connect(self.db.url)
        pid = connection.get_server_pid()
        commit = asyncio.create_task(connection.execute("SELECT pg_logical_emit_message(true, 'probe', '')"))
        while not (is_waiting := pid in (await self.admin.fetchval(WAITING) or [])) and not commit.done():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if is_waiting:
            await self.admin.fetchval("SELECT pg_cancel_backend($1)", pid)
        await commit
        await connection.close()
        return is_waiting

    async def until_waiting(self) -> list[int]:
        await until(lambda: self.admin.fetchval(WAITING))
        pids: list[int] = await self.admin.fetchval(WAITING)
        return pids

    async def create(self) -> store.Inserted | None:
        async with self.db.connection() as tx:
            return await store.insert(tx, self.new)


@pytest.fixture(scope="module")
async def standby() -> AsyncIterator[AwayStandby]:
    home = Path(tempfile.mkdtemp(prefix="tidegate-standby-"))
    postgres = EmbeddedPostgres(home, bin_dir=postgres_bin(), durable=False)
    postgres.start()
    await deployment.prepare(postgres.url(), Mode.SANDBOX)
    db = Database(postgres.url())
    await db.open()
    # Its own changes wait for none.
    admin = await asyncpg.connect(postgres.url(), server_settings={"synchronous_commit": "local"})
    try:
        await admin.execute("ALTER SYSTEM SET synchronous_commit = on")
        await admin.execute("SELECT pg_reload_conf()")
        now = SystemClock().now()
        made = await merchants.create(db, name="Shop", email="s@example.com", mode=Mode.SANDBOX, now=now)
        new = draft(order_from(read(order(), CreatePayment), made.business, MethodNames()), made.business, now=now)
        yield AwayStandby(db, admin, new)
    finally:
        await admin.close()
        await db.close()
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)


async def test_a_commit_that_was_cancelled_is_unknown(standby: AwayStandby) -> None:
    await standby.set("away")
    first = asyncio.create_task(standby.create())
    [pid] = await standby.until_waiting()
    await standby.admin.fetchval("SELECT pg_cancel_backend($1)", pid)
    with pytest.raises(Unavailable):
        await first
    # Everyone can see it, and no standby has it.
    assert await standby.admin.fetchval("SELECT count(*) FROM payment") == 1
    await standby.set("")


async def test_a_kept_answer_waits_for_the_standby(standby: AwayStandby) -> None:
    business_id = standby.new.business_id
    await standby.admin.execute(
        "INSERT INTO idempotency_key (business_id, key, request_hash, status, body, created_at)"
        " VALUES ($1, 'key', '', 200, '', now())",
        business_id,
    )
    await standby.set("away")

    async def replay() -> Any:
        async with standby.db.transaction() as tx:
            return await kept_answers.find(tx, business_id, "key")

    replayed = asyncio.create_task(replay())
    await standby.until_waiting()
    await standby.set("")
    assert (await replayed)["status"] == 200


async def test_a_task_that_is_cancelled_does_not_cancel_its_commit(standby: AwayStandby) -> None:
    await standby.set("away")

    async def change() -> None:
        async with standby.db.transaction() as tx:
            await tx.fetchval("SELECT await_standby()")

    changing = asyncio.create_task(change())
    [pid] = await standby.until_waiting()
    changing.cancel()
    assert await standby.until_waiting() == [pid]
    assert not changing.done()
    await standby.set("")
    with pytest.raises(asyncio.CancelledError):
        await changing
