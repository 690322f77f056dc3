"""The command as a script would run it, and files to give it."""

from __future__ import annotations

import asyncio
import csv
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tidegate.cli import main

HEADER = ("transactionId", "direction", "amount", "currency", "bookedAt", "reference")


async def run(database_url: str, *arguments: str | Path, **environment: str) -> tuple[int, str]:
    """In this process, since that is quicker; in a thread, since the command has an event loop of its own."""
    ours = {name: None for name in os.environ if name.startswith("TIDEGATE_")}
    given = {**ours, "DATABASE_URL": database_url, "COLUMNS": "200", **environment}
    done = await asyncio.to_thread(
        CliRunner().invoke, main, ["reconcile", *(str(argument) for argument in arguments)], env=given
    )
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


async def reconciled(database_url: str, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code, said = await run(database_url, *arguments, "--json")
    report: dict[str, Any] = json.loads(said)
    return code, report


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADER)
        writer.writeheader()
        writer.writerows(rows)
    return path
