from __future__ import annotations

from datetime import UTC, datetime

import httpx
import pytest

from settable_clock import SettableClock
from tidegate.infra import migrate
from tidegate.infra.db import Database
from tidegate.infra.http.health import Health


async def test_alive_and_ready(client: httpx.AsyncClient) -> None:
    assert (await client.get("/healthz")).status_code == 200
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()["message"]) == (200, "ready")


async def test_not_ready_when_the_database_is_away(database_url: str) -> None:
    away = Database(database_url)
    await away.open()
    await away.close()
    health = Health(away, SettableClock(datetime.now(UTC)))
    answer = await health._ready(None)  # type: ignore[arg-type]
    assert answer.status_code == 503


async def test_not_ready_when_the_clocks_differ(open_db: Database) -> None:
    health = Health(open_db, SettableClock(datetime(2020, 1, 1, tzinfo=UTC)))
    answer = await health._ready(None)  # type: ignore[arg-type]
    assert answer.status_code == 503
    assert b"clock" in answer.body


async def test_not_ready_on_an_old_schema(open_db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "latest_version", lambda: 10_000)
    health = Health(open_db, SettableClock(datetime.now(UTC)))
    answer = await health._ready(None)  # type: ignore[arg-type]
    assert answer.status_code == 503
    assert b"migration" in answer.body
