"""`tidegate …` as processes, and what a run needs to know of the service it examines."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg

from process import status_of, stop

READY_WITHIN_S = 180.0
WORKERS = 2
API_PROCESSES = 2


class Service:
    """`serve` with two children, and two of `worker`. `url` has every right, without proxies between."""

    def __init__(self, home: Path, base_url: str) -> None:
        self.home = home
        self.base_url = base_url
        self.api: subprocess.Popen[str] | None = None
        self.workers: list[subprocess.Popen[str]] = []

    @property
    def url(self) -> str:
        raise NotImplementedError

    def environment_of(self, command: str) -> dict[str, str]:
        raise NotImplementedError

    async def start_service(self) -> None:
        self.api = self._start("api", "serve", "--workers", str(API_PROCESSES))
        await self.until_ready()
        self.workers = [self._start(f"worker-{number}", "worker") for number in range(1, WORKERS + 1)]

    async def stop_service(self) -> None:
        for parent in [*self.workers, self.api]:
            if parent is not None:
                await asyncio.to_thread(stop, parent)

    async def until_ready(self) -> None:
        async with asyncio.timeout(READY_WITHIN_S):
            while await asyncio.to_thread(status_of, f"{self.base_url}/readyz") != 200:
                if ended := self.parents_that_ended():
                    raise SystemExit(f"{', '.join(ended)}; the logs in {self.home} say why")
                await asyncio.sleep(0.1)

    def parents_that_ended(self) -> list[str]:
        named = {"serve": self.api} | {f"worker {number}": one for number, one in enumerate(self.workers, 1)}
        return [f"{name} ended with {one.returncode}" for name, one in named.items() if one and one.poll() is not None]

    async def run(self, *arguments: str) -> tuple[int, str]:
        """Another command of the service, with every right."""
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tidegate", *arguments,
            env=_inherited() | self.environment_of(arguments[0]) | {"DATABASE_URL": self.url},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await running.communicate()
        return running.returncode or 0, said.decode(errors="replace")

    async def fetch(self, query: str, *args: Any) -> list[Any]:
        connection = await asyncpg.connect(self.url)
        try:
            found: list[Any] = await connection.fetch(query, *args)
            return found
        finally:
            await connection.close()

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        with (self.home / f"{name}.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tidegate", *arguments],
                env=_inherited() | self.environment_of(arguments[0]),
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )


def _inherited() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
