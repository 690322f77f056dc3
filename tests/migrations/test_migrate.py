"""Migrations: from empty, again, from several processes at once, and what they build."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from conftest import with_database_name
from tidegate.infra import migrate
from tidegate.infra.db import APP_ROLE, Database
from tidegate.infra.migrate import Migration, MigrationFailed

# Tables whose first key column is not the business: the business itself, and what belongs to no business (yet).
GLOBAL_TABLES = {
    "business",
    "migration",
    "credential_epoch",
    "deployment",
    "notification",
    "exchange_rate",
    "credit_reversal",
}
# Look-ups that have to find the business first.
GLOBAL_INDEXES = {"credential_one_hash", "attempt_one_open_account", "virtual_account_one_open_number"}


@pytest.fixture
async def empty_url(server_url: str) -> AsyncIterator[str]:
    connection = await asyncpg.connect(server_url)
    await connection.execute("DROP DATABASE IF EXISTS tidegate_test_empty WITH (FORCE)")
    await connection.execute("CREATE DATABASE tidegate_test_empty")
    yield with_database_name(server_url, "tidegate_test_empty")
    await connection.execute("DROP DATABASE tidegate_test_empty WITH (FORCE)")
    await connection.close()


async def test_a_second_run_does_nothing(empty_url: str) -> None:
    seen: list[Migration] = []
    assert await migrate.migrate(empty_url, on_applied=seen.append) == len(migrate.migrations())
    assert [m.version for m in seen] == list(range(1, migrate.latest_version() + 1))
    assert await migrate.migrate(empty_url) == 0


async def test_several_processes_at_once_apply_each_migration_once(empty_url: str) -> None:
    applied = await asyncio.gather(*(migrate.migrate(empty_url) for _ in range(4)))
    assert sum(applied) == len(migrate.migrations())


async def test_a_changed_migration_is_refused(empty_url: str) -> None:
    await migrate.migrate(empty_url)
    connection = await asyncpg.connect(empty_url)
    await connection.execute("UPDATE migration SET checksum = 'other' WHERE version = 1")
    await connection.close()
    with pytest.raises(MigrationFailed, match="new migration"):
        await migrate.migrate(empty_url)


async def test_a_failed_migration_leaves_nothing_behind(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration(99, "0099_broken.sql", "CREATE TABLE half (id int); SELECT 1 / 0;")
    monkeypatch.setattr(migrate, "migrations", lambda: [*REAL, broken])
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate.migrate(empty_url)
    connection = await asyncpg.connect(empty_url)
    assert await connection.fetchval("SELECT to_regclass('half')") is None
    assert await migrate.applied_version(connection) == REAL[-1].version
    await connection.close()


REAL = migrate.migrations()


async def test_a_locked_table_makes_it_give_up_with_advice(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await migrate.migrate(empty_url)
    waiting = Migration(99, "0099_waits.sql", "ALTER TABLE payment ADD COLUMN later text;")
    monkeypatch.setattr(migrate, "migrations", lambda: [*REAL, waiting])
    monkeypatch.setattr(migrate, "_LOCK_TIMEOUT", "50ms")
    monkeypatch.setattr(migrate, "_PAUSE_S", 0.01)
    holder = await asyncpg.connect(empty_url)
    async with holder.transaction():
        await holder.execute("LOCK TABLE payment")
        with pytest.raises(MigrationFailed, match="stayed locked"):
            await migrate.migrate(empty_url)
    await holder.close()
    assert await migrate.migrate(empty_url) == 1


async def test_every_table_says_what_it_holds(admin: Any) -> None:
    silent = await admin.fetch(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "AND obj_description(oid, 'pg_class') IS NULL"
    )
    assert silent == []


async def test_the_business_leads_every_unique_key(admin: Any) -> None:
    rows = await admin.fetch(
        """
        SELECT t.relname AS table, i.relname AS index, a.attname AS leads
          FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
          JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0]
         WHERE t.relnamespace = 'public'::regnamespace AND x.indisunique
        """
    )
    others = [r for r in rows if r["leads"] != "business_id"]
    assert {r["index"] for r in others if r["table"] not in GLOBAL_TABLES} == GLOBAL_INDEXES


async def test_every_constraint_is_named_for_its_rule(admin: Any) -> None:
    rows = await admin.fetch(
        "SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'"
    )
    generated = [r["conname"] for r in rows if r["conname"].endswith(("_pkey", "_key", "_fkey", "_check"))]
    assert generated == []


async def test_the_running_service_cannot_change_the_schema(open_db: Database) -> None:
    async with open_db.connection() as tx:
        assert await tx.fetchval("SELECT current_user") == APP_ROLE
        for statement in (
            "CREATE TABLE mine (id int)",
            "ALTER TABLE payment ADD COLUMN mine int",
            "DELETE FROM payment",
            "TRUNCATE payment",
            "UPDATE credential_epoch SET epoch = 0",
            "INSERT INTO migration (version, name, checksum) VALUES (1000, '', '')",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await tx.execute(statement)
