"""`make bench-data`: loads many inflows straight into PostgreSQL, for the growth lines of `make bench`.

Only what the listings read is made: businesses, accounts, inflows and their tally. There are no journals, events and
notifications behind them, so nobody should look for clean books here.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bench import inflow_patterns
from bench.inflow_patterns import Patterns
from bench.inflow_rows import Loading
from bench.line import BenchFailed
from bench.warehouse import SMALL_ROWS, Warehouse, open_warehouse
from tidegate.core.clock import SystemClock
from tidegate.infra import db as database

# Fewer would have no page that is deep.
ROWS_MIN, ROWS_MAX = 100_000, 100_000_000
# With its indexes, and what sorting them needs for a moment; measured.
BYTES_PER_ROW = 2_200
SPARE_BYTES = 2 * 1024**3
GIGABYTE = 1024**3

console = Console()
Advance = Callable[[str, int], None]


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--rows", type=click.IntRange(ROWS_MIN, ROWS_MAX), default=10_000_000, help="Inflows to load.")
@click.option("--remove", is_flag=True, help="Remove all that was loaded, and load nothing.")
def main(*, rows: int, remove: bool) -> None:
    """Load inflows for the growth lines of `make bench`: so many, and 10,000 to compare them with."""
    try:
        with open_warehouse() as warehouse:
            if remove:
                warehouse.forget_all()
                console.print("Removed.")
                return
            for size in (SMALL_ROWS, rows):
                _load_once(warehouse, size)
    except BenchFailed as failure:
        console.print(str(failure), style="red", markup=False, highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("Stopped. What was not finished is not there; the next load begins it again.")
        sys.exit(130)


def _load_once(warehouse: Warehouse, rows: int) -> None:
    if rows in warehouse.sizes():
        warehouse.refuse_old_schema(rows)
        console.print(f"{rows:,} inflows are there already.")
        return
    needed, free = BYTES_PER_ROW * rows + SPARE_BYTES, warehouse.free_bytes()
    if free < needed:
        raise BenchFailed(
            f"{rows:,} inflows need {needed / GIGABYTE:.1f} GB while they are loaded, and {free / GIGABYTE:.1f} GB are"
            " free. Make room, or load fewer: make bench-data ROWS=1000000"
        )
    began = time.monotonic()
    url = warehouse.begin()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[now]}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(f"{rows:,} inflows", total=2 * rows, now="")

        def advance(now: str, done: int) -> None:
            progress.update(task, now=now, advance=done)

        size = asyncio.run(_load(url, rows, advance))
    warehouse.finish(rows)
    took_s = time.monotonic() - began
    console.print(f"{rows:,} inflows in {took_s:.0f} s, {size / GIGABYTE:.2f} GB, {size / rows:,.0f} bytes each.")


async def _load(url: str, rows: int, advance: Advance) -> int:
    """All of it in one transaction, so that PostgreSQL may leave out its log. How large the database is."""
    now = SystemClock().now()
    advance("patterns", 0)
    patterns = await inflow_patterns.make(url, now=now)
    connection = await database.connect(url)
    try:
        async with connection.transaction():
            await _fill(connection, patterns, rows, now, advance)
        advance("vacuum", 0)
        await connection.execute("VACUUM ANALYZE")
        return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
    finally:
        await connection.close()


async def _fill(connection: Any, patterns: Patterns, rows: int, now: datetime, advance: Advance) -> None:
    loading = Loading(connection, rows=rows, now=now)
    await loading.prepare(patterns)
    advance("rows", 0)
    for batch in loading.batches():
        await loading.load(batch)
        advance("rows", len(batch))
    steps = loading.steps_after()
    for name, statement in steps:
        advance(name, 0)
        await connection.execute(statement)
        advance(name, rows // (len(steps) + 1))
    found = await connection.fetchval(
        "SELECT sum(count) FROM collection_tally WHERE account_id = '' AND day = '-infinity'"
    )
    if found != rows:
        raise BenchFailed(f"{rows:,} inflows were to be loaded, and {found:,} were counted")


if __name__ == "__main__":
    main()
