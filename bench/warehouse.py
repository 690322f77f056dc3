"""Databases of many inflows, kept from one run to the next: loading them takes minutes.

Each size has a database of its own, which gets its name only when it is whole. So one that is there can be trusted, and
a load that was interrupted begins again.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bench.line import BenchFailed
from bench.process import REPOSITORY
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra import db as database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.infra.migrate import MigrationFailed

HOME = REPOSITORY / ".tidegate" / "bench"
SMALL_ROWS = 10_000
_NAME = re.compile(r"inflows_(\d+)")
UNFINISHED = "inflows_unfinished"
_MARK = "loaded"
# So that what is loaded into a new table is written once, not twice.
_LOADING_SETTINGS = {"wal_level": "minimal", "max_wal_senders": "0"}

T = TypeVar("T")


class Warehouse:
    def __init__(self, home: Path, postgres: EmbeddedPostgres) -> None:
        self._home = home
        self._postgres = postgres

    @property
    def postgres_pid(self) -> int | None:
        return self._postgres.pid

    def url_of(self, rows: int) -> str:
        return self._postgres.url(_name_of(rows))

    @property
    def unfinished_url(self) -> str:
        return self._postgres.url(UNFINISHED)

    def sizes(self) -> list[int]:
        """In rows, the smallest first."""
        names = self._with_server(lambda connection: connection.fetch("SELECT datname FROM pg_database"))
        matches = (_NAME.fullmatch(row["datname"]) for row in names)
        return sorted(int(match[1]) for match in matches if match)

    def begin(self) -> str:
        """An empty database with our schema."""
        self.forget(UNFINISHED)
        self._with_server(lambda connection: connection.execute(f"CREATE DATABASE {UNFINISHED}"))
        asyncio.run(deployment.prepare(self.unfinished_url, Mode.SANDBOX))
        return self.unfinished_url

    def finish(self, rows: int) -> None:
        rename = f"ALTER DATABASE {UNFINISHED} RENAME TO {_name_of(rows)}"
        self._with_server(lambda connection: connection.execute(rename))
        (self._home / _MARK).touch()

    def forget(self, name: str) -> None:
        self._with_server(lambda connection: connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))

    def forget_all(self) -> None:
        for name in (UNFINISHED, *map(_name_of, self.sizes())):
            self.forget(name)

    def free_bytes(self) -> int:
        folder = self._with_server(lambda connection: connection.fetchval("SHOW data_directory"))
        return shutil.disk_usage(folder).free

    def refuse_old_schema(self, rows: int) -> None:
        try:
            asyncio.run(deployment.prepare(self.url_of(rows), Mode.SANDBOX))
        except MigrationFailed as failure:
            raise BenchFailed(
                f"the {rows:,} inflows were loaded with another schema ({failure}): "
                "`make bench-data-clean`, then `make bench-data`"
            ) from None

    def _with_server(self, ask: Callable[[Any], Awaitable[T]]) -> T:
        return asyncio.run(_ask(self._postgres.url("postgres"), ask))


async def _ask(url: str, ask: Callable[[Any], Awaitable[T]]) -> T:
    connection = await database.connect(url)
    try:
        return await ask(connection)
    finally:
        await connection.close()


def _name_of(rows: int) -> str:
    return f"inflows_{rows}"


def is_there(home: Path = HOME) -> bool:
    """Whether anything was ever loaded, without making an empty one."""
    return (home / _MARK).exists()


@contextmanager
def open_warehouse(home: Path = HOME) -> Iterator[Warehouse]:
    home.mkdir(parents=True, exist_ok=True)
    postgres = EmbeddedPostgres(home / "postgres", durable=True)
    try:
        postgres.start()
        if asyncio.run(_ask(postgres.url("postgres"), _tune)):
            postgres.stop()
            postgres.start()
        yield Warehouse(home, postgres)
    finally:
        postgres.stop()


async def _tune(connection: Any) -> bool:
    """True when the server has to be started again."""
    if await connection.fetchval("SHOW wal_level") == _LOADING_SETTINGS["wal_level"]:
        return False
    for name, value in _LOADING_SETTINGS.items():
        await connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    return True
