"""What was written before there were webhooks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from conftest import with_database_name
from tidegate.infra import migrate

NAME = "tidegate_test_before_webhooks"


@pytest.fixture
async def url(server_url: str) -> AsyncIterator[str]:
    owner = await asyncpg.connect(server_url)
    await owner.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
    await owner.execute(f"CREATE DATABASE {NAME}")
    yield with_database_name(server_url, NAME)
    await owner.execute(f"DROP DATABASE {NAME} WITH (FORCE)")
    await owner.close()


async def test_events_from_before_are_not_sent_and_new_ones_are(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    every = migrate.migrations()
    before = [migration for migration in every if migration.version < 6]
    monkeypatch.setattr(migrate, "migrations", lambda: before)
    await migrate.migrate(url)
    connection = await asyncpg.connect(url)
    write = """
        INSERT INTO event (business_id, id, type, cause, payload, created_at)
        VALUES ('000000000000000000000000', $1, 'charge.successful', $1, '{}', now())
    """
    await connection.execute(write, "evt_old")
    monkeypatch.setattr(migrate, "migrations", lambda: every)
    await migrate.migrate(url)
    await connection.execute(write, "evt_new")
    waiting = await connection.fetch("SELECT id FROM event WHERE NOT is_fanned_out")
    await connection.close()
    assert [row["id"] for row in waiting] == ["evt_new"]
