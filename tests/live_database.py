"""A database of live mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from conftest import with_database_name
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment


@asynccontextmanager
async def live_database(server_url: str, name: str) -> AsyncIterator[str]:
    """Made from nothing: a copy of the template belongs to the sandbox, and a database never changes its mode."""
    owner = await asyncpg.connect(server_url)
    await owner.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    await owner.execute(f'CREATE DATABASE "{name}"')
    url = with_database_name(server_url, name)
    await deployment.prepare(url, Mode.LIVE)
    yield url
    await owner.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    await owner.close()
