"""The processes: PostgreSQL, `tidegate serve` with two children, two of `tidegate worker`."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from chaos.protocol import writing
from chaos.proxy import Proxy
from process import ENCRYPTION_KEY, free_port, status_of, stop, supervised_by
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.embedded import EmbeddedPostgres

API_PROCESSES = 2
WORKERS = 2
API, WORKER = "API", "worker"
READY_WITHIN_S = 180.0
WRITING_FUNCTIONS = "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND provolatile = 'v'"

T = TypeVar("T")


class Deployment:
    def __init__(
        self, home: Path, postgres: EmbeddedPostgres, proxies: dict[str, Proxy], keeper: ThreadPoolExecutor
    ) -> None:
        self.home = home
        # One for the API and one for the workers, which commit much more often.
        self.proxies = proxies
        self._postgres = postgres
        # PostgreSQL ends with the thread that started it.
        self._keeper = keeper
        self.base_url = f"http://127.0.0.1:{free_port()}"
        self.environment = {
            "PORT": self.base_url.rpartition(":")[2],
            "TIDEGATE_BASE_URL": self.base_url,
            "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY,
            "TIDEGATE_HOME": str(home),
            "TIDEGATE_LOG_LEVEL": "warning",
            "TIDEGATE_TRUSTED_PROXIES": "1",
        }
        self.api: subprocess.Popen[str]
        self.workers: list[subprocess.Popen[str]] = []

    @property
    def url(self) -> str:
        """Without the proxy, with every right."""
        return self._postgres.url()

    def start(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        with (self.home / f"{name}.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tidegate", *arguments],
                env={**inherited, **self.environment, "DATABASE_URL": self._url_of(arguments[0])},
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def _url_of(self, command: str) -> str:
        port = self.proxies[API if command == "serve" else WORKER].port
        return f"postgresql://tidegate@127.0.0.1:{port}/tidegate?sslmode=disable"

    async def start_all(self) -> None:
        self.api = self.start("api", "serve", "--workers", str(API_PROCESSES))
        await self.until_ready()
        self.workers = [self.start(f"worker-{number}", "worker") for number in range(1, WORKERS + 1)]

    async def stop_all(self) -> None:
        for parent in [*self.workers, self.api]:
            await asyncio.to_thread(stop, parent)

    async def until_ready(self) -> None:
        async with asyncio.timeout(READY_WITHIN_S):
            while await asyncio.to_thread(status_of, f"{self.base_url}/readyz") != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    def parents_that_ended(self) -> list[str]:
        named = {"serve": self.api} | {f"worker {number}": one for number, one in enumerate(self.workers, 1)}
        return [f"{name} ended with {one.returncode}" for name, one in named.items() if one.poll() is not None]

    async def signal_child(self, parent: subprocess.Popen[str], chance: random.Random, signum: signal.Signals) -> int:
        children = await asyncio.to_thread(supervised_by, parent)
        pid = chance.choice(sorted(children))
        with suppress(ProcessLookupError):
            os.kill(pid, signum)
        return pid

    async def kill_postgres(self) -> None:
        if (pid := self._postgres.pid) is not None:
            os.kill(pid, signal.SIGKILL)
        await self._keep(self._postgres.start)

    async def doctor(self, *arguments: str) -> tuple[int, str]:
        examined = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tidegate", "doctor", *arguments,
            env={**os.environ, **self.environment, "DATABASE_URL": self.url},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await examined.communicate()
        return examined.returncode or 0, said.decode(errors="replace")

    async def fetch(self, query: str, *args: Any) -> list[Any]:
        connection = await asyncpg.connect(self.url)
        try:
            found: list[Any] = await connection.fetch(query, *args)
            return found
        finally:
            await connection.close()

    def _keep(self, work: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._keeper, work)


@asynccontextmanager
async def deployed(home: Path, data: Path) -> AsyncIterator[Deployment]:
    """Durable: what is acknowledged must outlive a kill of PostgreSQL."""
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as ending:
        keeper = ending.enter_context(ThreadPoolExecutor(1))
        postgres = EmbeddedPostgres(data, durable=True)
        ending.callback(postgres.stop)
        await loop.run_in_executor(keeper, postgres.start)
        await deployment.prepare(postgres.url(), Mode.SANDBOX)
        connection = await asyncpg.connect(postgres.url())
        functions = [row["proname"] for row in await connection.fetch(WRITING_FUNCTIONS)]
        await connection.close()
        proxies = {name: Proxy(_socket_of(postgres.url()), writing(functions)) for name in (API, WORKER)}
        for proxy in proxies.values():
            await ending.enter_async_context(proxy.listening())
        made = Deployment(home, postgres, proxies, keeper)
        ending.push_async_callback(made.stop_all)
        await made.start_all()
        yield made


def _socket_of(url: str) -> str:
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    return f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}"
