"""Migrations: from empty, again, from several processes at once, and what they build."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from conftest import LEDGER_TABLES, LOG_TABLES, TABLES, with_database_name
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.deployment.commands import WrongDatabase
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
    "account_number",
    "exchange_rate",
    "credit_reversal",
    "retention",
    "erasure",
    "person",
    "recovery_code",
    "passkey",
    "used_challenge",
    "sign_in_try",
    "known_device",
    "member_session",
    "one_time_link",
    "staff",
    "bank_file",
    "bank_file_part",
    "bank_statement",
    "bank_entry",
    "bank_export",
}
# Look-ups that have to find the business first.
GLOBAL_INDEXES = {
    "credential_one_hash",
    # They have the business, but last: a bank names a transaction, and no business.
    "receipt_one_per_transaction",
    "collection_one_per_transaction",
    "invitation_one_token",
    "bank_attempt_one_code",
    "bank_number_given_once",
    "bank_payout_one_end_to_end_id",
}


REAL = [migration.name for migration in migrate.migrations()]


@pytest.fixture
async def empty_url(server_url: str) -> AsyncIterator[str]:
    connection = await asyncpg.connect(server_url)
    await connection.execute("DROP DATABASE IF EXISTS tidegate_test_empty WITH (FORCE)")
    await connection.execute("CREATE DATABASE tidegate_test_empty")
    yield with_database_name(server_url, "tidegate_test_empty")
    await connection.execute("DROP DATABASE tidegate_test_empty WITH (FORCE)")
    await connection.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Migrations of a test's own, after the real ones. The second builds on the first."""
    made = tmp_path / "migrations"
    made.mkdir()
    for real in migrate.migrations():
        (made / real.name).write_text(real.sql)
    (made / "0091_second.sql").write_text("ALTER TABLE later ADD COLUMN name text;")
    (made / "0090_first.sql").write_text("CREATE TABLE later (id int);")
    (made / "README.md").write_text("no migration")
    monkeypatch.setattr(migrate, "files", lambda _package: tmp_path)
    return made


def test_the_numbers_of_migrations_have_no_gap() -> None:
    assert [m.version for m in migrate.migrations()] == list(range(1, migrate.latest_version() + 1))


async def test_migrations_are_applied_once_in_the_order_of_their_numbers(empty_url: str, folder: Path) -> None:
    seen: list[Migration] = []
    assert await migrate.migrate(empty_url, on_applied=seen.append) == len(migrate.migrations())
    assert [m.name for m in seen] == [*REAL, "0090_first.sql", "0091_second.sql"]
    assert await migrate.migrate(empty_url) == 0


async def test_a_database_gets_only_what_it_lacks(empty_url: str, folder: Path) -> None:
    await migrate.migrate(empty_url)
    (folder / "0092_third.sql").write_text("ALTER TABLE later DROP COLUMN name;")
    seen: list[Migration] = []
    await migrate.migrate(empty_url, on_applied=seen.append)
    assert [m.name for m in seen] == ["0092_third.sql"]


async def test_several_processes_at_once_apply_each_migration_once(empty_url: str, folder: Path) -> None:
    applied = await asyncio.gather(*(migrate.migrate(empty_url) for _ in range(4)))
    assert sum(applied) == len(migrate.migrations())


async def test_a_changed_migration_is_refused(empty_url: str, folder: Path) -> None:
    await migrate.migrate(empty_url)
    (folder / "0090_first.sql").write_text("CREATE TABLE later (id bigint);")
    with pytest.raises(MigrationFailed, match=r"0090_first\.sql .* new migration"):
        await migrate.migrate(empty_url)


async def test_no_process_serves_a_database_built_by_other_migrations(empty_url: str) -> None:
    await deployment.prepare(empty_url, Mode.SANDBOX)
    db = Database(empty_url)
    await db.open()
    await deployment.check(db, Mode.SANDBOX)
    connection = await asyncpg.connect(empty_url)
    await connection.execute("INSERT INTO migration (version, name, checksum) VALUES (9999, '9999_newer.sql', '')")
    await deployment.check(db, Mode.SANDBOX)
    await connection.execute("UPDATE migration SET checksum = 'another' WHERE version = 1")
    with pytest.raises(WrongDatabase, match="empty database"):
        await deployment.check(db, Mode.SANDBOX)
    await connection.close()
    await db.close()


async def test_a_failed_migration_leaves_nothing_behind(empty_url: str, folder: Path) -> None:
    (folder / "0091_second.sql").write_text("CREATE TABLE half (id int); SELECT 1 / 0;")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate.migrate(empty_url)
    connection = await asyncpg.connect(empty_url)
    assert await connection.fetchval("SELECT to_regclass('half')") is None
    assert await migrate.applied_version(connection) == 90
    await connection.close()


async def test_a_locked_table_makes_it_give_up_with_advice(
    empty_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate.migrate(empty_url)
    (folder / "0092_waits.sql").write_text("ALTER TABLE later DROP COLUMN name;")
    monkeypatch.setattr(migrate, "_LOCK_TIMEOUT", "50ms")
    monkeypatch.setattr(migrate, "_PAUSE_S", 0.01)
    holder = await asyncpg.connect(empty_url)
    async with holder.transaction():
        await holder.execute("LOCK TABLE later")
        with pytest.raises(MigrationFailed, match="stayed locked"):
            await migrate.migrate(empty_url)
    await holder.close()
    assert await migrate.migrate(empty_url) == 1


async def test_a_deadlock_with_a_running_process_makes_it_try_again(
    empty_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate.migrate(empty_url)
    (folder / "0092_waits.sql").write_text("LOCK TABLE later; LOCK TABLE other;")
    monkeypatch.setattr(migrate, "_LOCK_TIMEOUT", "60s")
    monkeypatch.setattr(migrate, "_PAUSE_S", 0.01)
    running, looking = [await asyncpg.connect(empty_url) for _ in range(2)]
    await running.execute("CREATE TABLE other (id int)")
    async with running.transaction():
        # So that the migration is the one that is ended.
        await running.execute("SET LOCAL deadlock_timeout = '1h'; SELECT FROM other")
        migrating = asyncio.create_task(migrate.migrate(empty_url))
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'other'::regclass"
        while not await looking.fetchval(waiting):
            pass
        await running.execute("SELECT FROM later")
    assert await migrating == 1
    for connection in (running, looking):
        await connection.close()


async def test_a_login_without_the_rights_is_told_which_it_needs(empty_url: str, folder: Path) -> None:
    (folder / "0090_first.sql").write_text(f"SET LOCAL ROLE {APP_ROLE}; CREATE ROLE tidegate_test_another;")
    with pytest.raises(MigrationFailed, match=r"0090_first\.sql: permission denied to create role\. .* CREATEROLE"):
        await migrate.migrate(empty_url)


async def test_every_table_and_function_says_what_it_is(admin: Any) -> None:
    silent = await admin.fetch(
        """
        SELECT relname FROM pg_class
         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND obj_description(oid, 'pg_class') IS NULL
        UNION ALL
        SELECT proname FROM pg_proc
         WHERE pronamespace = 'public'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
        """
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


async def test_every_table_is_emptied_between_tests(admin: Any) -> None:
    """What one leaves is deleted without a look at foreign keys, which would miss a table that is not."""
    rows = await admin.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    stay = {"migration", "deployment", "credential_epoch"}
    assert {row["tablename"] for row in rows} == {*LEDGER_TABLES, *LOG_TABLES, *TABLES} | stay


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
            "UPDATE deployment SET mode = 'live'",
            "INSERT INTO migration (version, name, checksum) VALUES (1000, '', '')",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await tx.execute(statement)
