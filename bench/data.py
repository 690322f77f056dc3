"""`make bench-data`: loads many inflows straight into PostgreSQL, for what `make bench` says about growth.

Each size has a database of its own, kept from one run to the next, which gets its name only when it is whole. Only what
the listings read is made: businesses, accounts, inflows and their tally; there are no clean books here.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console

from bench import inflow_data
from bench.environment import with_connection
from bench.process import REPOSITORY
from bench.report import BenchFailed
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra import db as database
from tidegate.infra.embedded import EmbeddedPostgres

HOME = REPOSITORY / ".tidegate" / "bench"
SMALL_ROWS = 10_000
# With its indexes; measured.
BYTES_PER_ROW = 2_200
SPARE_BYTES = 2 * 1024**3
UNFINISHED = "inflows_unfinished"

console = Console()


class Databases:
    def __init__(self, postgres: EmbeddedPostgres) -> None:
        self._postgres = postgres

    def url_of(self, rows: int) -> str:
        return self._postgres.url(f"inflows_{rows}")

    def sizes(self) -> list[int]:
        """In rows, the smallest first."""
        names = self._ask(lambda connection: connection.fetch("SELECT datname FROM pg_database"))
        matches = (re.fullmatch(r"inflows_(\d+)", row["datname"]) for row in names)
        return sorted(int(match[1]) for match in matches if match)

    def load(self, rows: int) -> None:
        folder = self._ask(lambda connection: connection.fetchval("SHOW data_directory"))
        needed_gb, free_gb = (BYTES_PER_ROW * rows + SPARE_BYTES) / 1024**3, shutil.disk_usage(folder).free / 1024**3
        if free_gb < needed_gb:
            raise BenchFailed(f"{rows:,} inflows need {needed_gb:.1f} GB, and {free_gb:.1f} GB are free; load fewer")
        began = time.monotonic()
        self._ask(lambda connection: connection.execute(f"DROP DATABASE IF EXISTS {UNFINISHED} WITH (FORCE)"))
        self._ask(lambda connection: connection.execute(f"CREATE DATABASE {UNFINISHED}"))
        url = self._postgres.url(UNFINISHED)
        asyncio.run(deployment.prepare(url, Mode.SANDBOX))
        with console.status(f"{rows:,} inflows …") as status:
            asyncio.run(_load(url, rows, status.update))
        self._ask(lambda connection: connection.execute(f"ALTER DATABASE {UNFINISHED} RENAME TO inflows_{rows}"))
        console.print(f"{rows:,} inflows in {time.monotonic() - began:.0f} s.")

    def _ask(self, use: Callable[[Any], Any]) -> Any:
        return with_connection(self._postgres.url("postgres"), use)


async def _load(url: str, rows: int, note: Callable[[str], None]) -> None:
    now = SystemClock().now()
    await inflow_data.write_patterns(url, now=now)
    connection = await database.connect(url)
    async with connection.transaction():
        async for step in inflow_data.load(connection, rows, now=now):
            note(f"{rows:,} inflows: {step} …")
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


@contextmanager
def open_databases() -> Iterator[Databases]:
    HOME.mkdir(parents=True, exist_ok=True)
    # What is loaded can be loaded again, and what is asked only reads.
    postgres = EmbeddedPostgres(HOME / "postgres", durable=False)
    try:
        postgres.start()
        yield Databases(postgres)
    finally:
        postgres.stop()


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--rows", type=click.IntRange(100_000, 100_000_000), default=10_000_000, help="Inflows to load.")
def main(rows: int) -> None:
    """Load inflows for what `make bench` says about growth: so many, and 10,000 to compare them with."""
    with open_databases() as databases:
        for size in (SMALL_ROWS, rows):
            if size not in databases.sizes():
                databases.load(size)


if __name__ == "__main__":
    main()
