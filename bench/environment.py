"""What every line needs: a durable PostgreSQL, businesses in it, and the API as a process of its own."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from local_cluster.nodes import Nodes

from bench import process
from bench.process import Server
from bench.report import BenchFailed, Sample
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.deployment import commands as deployment
from tidegate.infra import db as database
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres
from tidegate.merchant import commands as merchants

# Several, since every insert takes a share of its business's row; as many for ours as for the yardstick.
SHOPS = 8
RATE = 100_000
CONNECTIONS = 32

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    rounds: int
    seconds: float
    stored: int
    businesses: int


@dataclass(frozen=True)
class Shop:
    business_id: str
    code: str
    secret_key: str
    public_key: str

    @property
    def create_headers(self) -> dict[str, str]:
        return {"api-key": self.secret_key, "x-pub-key": self.public_key}

    @property
    def verify_headers(self) -> dict[str, str]:
        return {"api-key": self.secret_key, "x-business-id": self.business_id}


class Environment:
    def __init__(self, postgres: EmbeddedPostgres | Nodes, options: Options, ending: ExitStack) -> None:
        self.options = options
        self.url = postgres.url()
        asyncio.run(deployment.prepare(self.url, Mode.SANDBOX))
        self.home = temporary_folder(ending)
        self.pgbench = postgres.bin_dir / "pgbench"
        self._postgres = postgres
        self._ending = ending
        self.shops: list[Shop] = self.open_shops([{"name": f"Shop {number}"} for number in range(1, SHOPS + 1)])
        self.settings = {
            "DATABASE_URL": self.url,
            "HOST": process.HOST,
            "TIDEGATE_HOME": str(self.home / "service"),
            "TIDEGATE_LOG_LEVEL": "warning",
            # Payers are limited by address; the load generator has to be many of them.
            "TIDEGATE_TRUSTED_PROXIES": "1",
        }
        self.api = self.start_server(["tidegate", "serve"], ready_path="/readyz", env=self.settings)

    def open_shops(self, settings: Sequence[dict[str, Any]]) -> list[Shop]:
        return asyncio.run(open_shops(self.url, settings))

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        started = process.start(["tidegate", "worker"], log=self.home / "worker.log", env=self.settings)
        try:
            yield started
        finally:
            process.stop(started)

    def start_server(self, module: Sequence[str], *, ready_path: str, env: Mapping[str, str]) -> Server:
        """It runs until the end of the benchmark."""
        server = process.start_server(module, ready_path=ready_path, log=self.home / f"{module[0]}.log", env=env)
        self._ending.callback(process.stop, server.process)
        return server

    def fetchrow(self, query: str, *args: Any) -> dict[str, Any]:
        """With every right; raises when there is no row."""
        return dict(with_connection(self.url, lambda connection: connection.fetchrow(query, *args)))

    def count(self, rows: str) -> int:
        """Of a table, or of those `WHERE …`."""
        return int(self.fetchrow(f"SELECT count(*) FROM {rows}")["count"])

    def counted(self, rows: str, run: Callable[[], Sample]) -> Sample:
        """Every success must be a row that was committed."""
        before = self.count(rows)
        sample = run()
        made = self.count(rows) - before
        if made != sample.answers:
            raise BenchFailed(f"{sample.answers} successes, but {made} new rows of {rows}")
        return sample

    def execute(self, query: str) -> None:
        with_connection(self.url, lambda connection: connection.execute(query))

    def watched(self, **others: int) -> dict[str, int]:
        """Processes by their names: PostgreSQL's and those given."""
        if isinstance(self._postgres, Nodes):
            return {**others, **{f"postgres {number}": pid for number, pid in self._postgres.pids.items()}}
        return others if (pid := self._postgres.pid) is None else {**others, "postgres": pid}


def with_connection(url: str, use: Callable[[Any], Awaitable[T]]) -> T:
    async def run() -> T:
        connection = await database.connect(url)
        try:
            return await use(connection)
        finally:
            await connection.close()

    return asyncio.run(run())


@contextmanager
def open_environment(options: Options) -> Iterator[Environment]:
    with ExitStack() as ending:
        postgres = EmbeddedPostgres(temporary_folder(ending), durable=True)
        ending.callback(postgres.stop)
        postgres.start()
        yield Environment(postgres, options, ending)


def temporary_folder(ending: ExitStack) -> Path:
    """Directly below the system's temporary folder: PostgreSQL's account must be able to enter it, and makes its own
    unreadable for us unless we are root."""
    folder = Path(tempfile.mkdtemp(prefix="tidegate-bench-"))
    ending.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


async def open_shops(url: str, settings: Sequence[dict[str, Any]]) -> list[Shop]:
    db = Database(url, connections_max=2)
    await db.open()
    try:
        return [await _open_shop(db, of_one) for of_one in settings]
    finally:
        await db.close()


async def _open_shop(db: Database, settings: dict[str, Any]) -> Shop:
    now = SystemClock().now()
    new = await merchants.create(db, name=settings["name"], email="shop@example.com", mode=Mode.SANDBOX, now=now)
    await merchants.change(db, new.business.id, {**settings, "rate_per_second": RATE, "rate_burst": RATE}, now=now)
    return Shop(new.business.id, new.business.code, new.secret_key, new.public_key)
