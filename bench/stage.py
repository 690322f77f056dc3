"""What every line needs: a durable PostgreSQL, businesses in it, and the API as a process of its own."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import pgbench, process, traffic
from bench.line import Sample
from bench.process import Server
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


@dataclass(frozen=True)
class Options:
    workers: int
    connections: int
    log_level: str
    # Payments that are there already when something is measured at a fixed rate.
    stored: int
    # Whose pages are shown.
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


class Stage:
    def __init__(self, home: Path, postgres: EmbeddedPostgres, options: Options, ending: ExitStack) -> None:
        self.options = options
        self.url = postgres.url()
        self._home = home
        self._postgres = postgres
        self._ending = ending
        self.shops: list[Shop] = self.open_shops([{"name": f"Shop {number}"} for number in range(1, SHOPS + 1)])
        self.api = self.start_server(
            ["tidegate", "serve", "--workers", str(options.workers)],
            ready_path="/readyz",
            env={
                "DATABASE_URL": self.url,
                "HOST": process.HOST,
                "TIDEGATE_HOME": str(home / "service"),
                "TIDEGATE_LOG_LEVEL": options.log_level,
                # Payers are limited by address; a load generator has to be many of them.
                "TIDEGATE_TRUSTED_PROXIES": "1",
            },
        )

    def open_shops(self, settings: Sequence[dict[str, Any]]) -> list[Shop]:
        return asyncio.run(_open_shops(self.url, settings))

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        """What `tidegate worker` does, as long as it is needed."""
        env = {"DATABASE_URL": self.url, "TIDEGATE_HOME": str(self._home / "service"), "TIDEGATE_LOG_LEVEL": "warning"}
        started = process.start(["tidegate", "worker"], log=self._home / "worker.log", env=env)
        try:
            yield started
        finally:
            process.stop(started)

    def start_server(self, module: Sequence[str], *, ready_path: str, env: Mapping[str, str]) -> Server:
        """It runs until the end of the benchmark."""
        log = self._home / f"{module[0]}.log"
        server = process.start_server(module, ready_path=ready_path, log=log, env=env)
        self._ending.callback(server.stop)
        return server

    def send(
        self,
        server: Server,
        requests: Sequence[str],
        *,
        expected_status: int,
        seconds: float,
        is_each_once: bool = False,
    ) -> Sample:
        return traffic.send(
            server,
            requests,
            expected_status=expected_status,
            connections=self.options.connections,
            seconds=seconds,
            watched={"server": server.process.pid, **self.watched()},
            is_each_once=is_each_once,
        )

    def pgbench(
        self,
        scripts: Sequence[str],
        *,
        variables: Mapping[str, str],
        seconds: float,
        clients: int | None = None,
        per_second: float | None = None,
    ) -> Sample:
        """With as many clients as ours has, and as fast as it can, unless told otherwise."""
        paths = [self._home / f"script-{number}.sql" for number in range(len(scripts))]
        for path, text in zip(paths, scripts, strict=True):
            path.write_text(text, encoding="utf-8")
        return pgbench.run(
            self._postgres.bin_dir / "pgbench",
            self.url,
            paths,
            variables=variables,
            clients=clients or self.options.connections,
            seconds=seconds,
            watched=self.watched(),
            per_second=per_second,
        )

    def fetchrow(self, query: str, *args: Any) -> dict[str, Any]:
        """With every right, to look behind the scenes; raises when there is no row."""
        return asyncio.run(_fetchrow(self.url, query, *args))

    def execute(self, query: str) -> None:
        asyncio.run(_execute(self.url, query))

    def watched(self, **others: int) -> dict[str, int]:
        """Processes by their names: PostgreSQL's and those given."""
        pid = self._postgres.pid
        return others if pid is None else {"postgres": pid, **others}


@contextmanager
def open_stage(options: Options) -> Iterator[Stage]:
    # Directly below the system's temporary folder: PostgreSQL's account must be able to enter it.
    home = Path(tempfile.mkdtemp(prefix="tidegate-bench-"))
    # Two folders, since PostgreSQL makes its own unreadable for us unless we are root.
    own = Path(tempfile.mkdtemp(prefix="tidegate-bench-logs-"))
    with ExitStack() as ending:
        ending.callback(shutil.rmtree, home, ignore_errors=True)
        ending.callback(shutil.rmtree, own, ignore_errors=True)
        postgres = EmbeddedPostgres(home, durable=True)
        ending.callback(postgres.stop)
        postgres.start()
        asyncio.run(deployment.prepare(postgres.url(), Mode.SANDBOX))
        yield Stage(own, postgres, options, ending)


async def _open_shops(url: str, settings: Sequence[dict[str, Any]]) -> list[Shop]:
    db = Database(url, connections_max=2)
    await db.open()
    try:
        return [await _open_shop(db, of_one) for of_one in settings]
    finally:
        await db.close()


async def _open_shop(db: Database, settings: dict[str, Any]) -> Shop:
    now = SystemClock().now()
    name = settings["name"]
    new = await merchants.create(db, name=name, email="shop@example.com", mode=Mode.SANDBOX, now=now)
    changes = {**settings, "rate_per_second": RATE, "rate_burst": RATE}
    await merchants.change(db, new.business.id, changes, now=now)
    return Shop(new.business.id, new.business.code, new.secret_key, new.public_key)


async def _fetchrow(url: str, query: str, *args: Any) -> dict[str, Any]:
    connection = await database.connect(url)
    try:
        row = await connection.fetchrow(query, *args)
        return dict(row)
    finally:
        await connection.close()


async def _execute(url: str, query: str) -> None:
    connection = await database.connect(url)
    try:
        await connection.execute(query)
    finally:
        await connection.close()
