"""The command line in this process, since there are many; in a thread, since a command has an event loop of its own."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from process import ENCRYPTION_KEY
from tidegate.cli import main


class Operator:
    def __init__(self, database_url: str, home: Path, **variables: str) -> None:
        self._variables = {
            "DATABASE_URL": database_url,
            "TIDEGATE_HOME": str(home),
            "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY,
            **variables,
        }

    async def run(self, *arguments: str, columns: int = 240, typed: str = "") -> tuple[int, str]:
        variables = {**self._variables, "COLUMNS": str(columns)}
        done = await asyncio.to_thread(CliRunner().invoke, main, arguments, env=variables, input=f"{typed}\n")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    async def said(self, *arguments: str, typed: str = "") -> str:
        code, said = await self.run(*arguments, typed=typed)
        assert code == 0, said
        return said

    async def json(self, *arguments: str, typed: str = "") -> Any:
        said = await self.said(*arguments, "--json", typed=typed)
        # What was asked for stands before it.
        return json.loads(said[min(at for at in (said.find("{"), said.find("[")) if at >= 0) :])

    async def refused(self, *arguments: str, typed: str = "") -> str:
        code, said = await self.run(*arguments, typed=typed)
        assert code == 1, said
        return said
