"""PostgreSQL and the service, with a proxy between them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import urllib.parse
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import asyncpg

from chaos.disk import Disk, mounted
from chaos.protocol import writing
from chaos.proxy import Proxy
from chaos.service import Service
from process import ENCRYPTION_KEY, free_port, supervised_by
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra.embedded import EmbeddedPostgres, EmbeddedPostgresFailed

API, WORKER = "API", "worker"
# Of API and workers together.
KILLED_PROCESSES, KILLED_POSTGRES = "kills of API and workers", "kills of PostgreSQL"
STARTED_WITHIN_S = 120.0
WRITING_FUNCTIONS = "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND provolatile = 'v'"


class Deployment(Service):
    def __init__(
        self,
        home: Path,
        postgres: EmbeddedPostgres,
        disk: Disk | None,
        proxies: dict[str, Proxy],
        keeper: ThreadPoolExecutor,
    ) -> None:
        super().__init__(home, f"http://127.0.0.1:{free_port()}")
        # One for the API and one for the workers, which commit much more often.
        self.proxies = proxies
        self.disk = disk
        # Those that were hit, by kind.
        self.killed: Counter[str] = Counter()
        self._postgres = postgres
        # PostgreSQL ends with the thread that started it.
        self._keeper = keeper

    @property
    def url(self) -> str:
        return self._postgres.url()

    def environment_of(self, command: str) -> dict[str, str]:
        port = self.proxies[API if command == "serve" else WORKER].port
        return {
            "DATABASE_URL": f"postgresql://tidegate@127.0.0.1:{port}/tidegate?sslmode=disable",
            "PORT": self.base_url.rpartition(":")[2],
            "TIDEGATE_BASE_URL": self.base_url,
            "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY,
            "TIDEGATE_HOME": str(self.home),
            "TIDEGATE_LOG_LEVEL": "warning",
            "TIDEGATE_TRUSTED_PROXIES": "1",
        }

    @property
    def parents(self) -> list[subprocess.Popen[str]]:
        return [parent for parent in (self.api, *self.workers) if parent is not None]

    async def signal_child(self, parent: subprocess.Popen[str], chance: random.Random, signum: signal.Signals) -> int:
        children = await asyncio.to_thread(supervised_by, parent)
        pid = chance.choice(sorted(children))
        with suppress(ProcessLookupError):
            os.kill(pid, signum)
            self.killed[KILLED_PROCESSES] += signum == signal.SIGKILL
        return pid

    async def kill_postgres(self) -> None:
        if (pid := self._postgres.pid) is not None:
            os.kill(pid, signal.SIGKILL)
            self.killed[KILLED_POSTGRES] += 1
        await self.start_postgres()

    async def start_postgres(self) -> None:
        """Unless it runs. On a full disk it cannot start: then as soon as it can."""
        async with asyncio.timeout(STARTED_WITHIN_S):
            while True:
                try:
                    await asyncio.get_running_loop().run_in_executor(self._keeper, self._postgres.start)
                except EmbeddedPostgresFailed:
                    await asyncio.sleep(0.2)
                else:
                    return


@asynccontextmanager
async def deployed(home: Path, data: Path) -> AsyncIterator[Deployment]:
    """Durable: what is acknowledged must outlive a kill of PostgreSQL."""
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as ending:
        disk = ending.enter_context(mounted(data, data.with_suffix(".image")))
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
        made = Deployment(home, postgres, disk, proxies, keeper)
        ending.push_async_callback(made.stop_service)
        await made.start_service()
        yield made


def _socket_of(url: str) -> str:
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    return f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}"
