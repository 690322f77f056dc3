"""What is asked of the database while a server answers requests. Each question is a way to another machine and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from conftest import ENCRYPTION_KEY
from serving import serving
from tidegate.core import request_id
from tidegate.settings import Settings


@asynccontextmanager
async def watched_server(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, list[str]]]:
    """A server of its own, and what it asks; the list is emptied by whoever counts."""
    said: list[str] = []
    connect = asyncpg.connect

    def note(query: Any) -> None:
        # Called in the context of who asked; the server's own rounds have no request.
        if request_id.current() is not None:
            said.append(query.query)

    async def watched(*args: Any, **options: Any) -> Any:
        connection = await connect(*args, **options)
        connection.add_query_logger(note)
        return connection

    monkeypatch.setattr(asyncpg, "connect", watched)
    async with serving(Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,))) as (url, _):
        yield url, said
