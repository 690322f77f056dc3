"""Three PostgreSQL servers with Citus on one machine: a cluster for tests, and for `make cluster`.

python -m local_cluster.nodes [FOLDER]      starts them, makes a cluster of them and prints its DATABASE_URL
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncpg

from tidegate.infra.embedded import os_account as accounts

NODES = 3
ROLE = "tidegate"
START_TIMEOUT_S = 30.0
# Of a plain server; besides, what Citus needs: two-phase commits, and logical replication to move shards.
SETTINGS = """
shared_preload_libraries = 'citus'
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 300
max_prepared_transactions = 300
max_locks_per_transaction = 256
wal_level = logical
max_wal_senders = 20
max_replication_slots = 20
citus.shard_count = {shards}
citus.node_conninfo = 'sslmode=disable'
citus.local_hostname = '{home}'
"""
NOT_DURABLE = """
fsync = off
synchronous_commit = off
full_page_writes = off
"""
HOW_TO_GET = (
    "No PostgreSQL with Citus was found. Install one (https://docs.citusdata.com, or build the extension from "
    "https://github.com/citusdata/citus for a PostgreSQL that it supports), then set TIDEGATE_CITUS_BIN to the bin/ "
    "folder of that PostgreSQL."
)

DOES_NOT_FIT = (
    "This build of Citus does not fit PostgreSQL {version}: take one that was built for its minor version, or set "
    "TIDEGATE_CITUS_BIN to the bin/ folder of the PostgreSQL that it was built for."
)


class NoCitus(Exception):
    pass


class NotStarted(Exception):
    """A server has ended, or does not answer. In its own words."""


def find_bin() -> Path:
    """TIDEGATE_CITUS_BIN, or a PostgreSQL of the system that has Citus."""
    given = os.environ.get("TIDEGATE_CITUS_BIN")
    for folder in [Path(given)] if given else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        program = folder / "pg_config"
        if program.exists():
            shared = subprocess.run([program, "--sharedir"], capture_output=True, text=True, check=True).stdout.strip()
            if (Path(shared) / "extension" / "citus.control").exists():
                return folder
    raise NoCitus(HOW_TO_GET)


class Nodes:
    """The first is the coordinator. In a folder that only their account may enter, so every connection is trusted."""

    def __init__(self, home: Path, bin_dir: Path, *, shards: int = 32, durable: bool = True) -> None:
        self.home, self.bin_dir = home, bin_dir
        self._settings = SETTINGS.format(shards=shards, home=home) + ("" if durable else NOT_DURABLE)
        self._account = accounts.server_account(home)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def pids(self) -> dict[int, int]:
        """By the number of the node."""
        return {number: process.pid for number, process in self._processes.items()}

    @property
    def pid(self) -> int | None:
        """Of the coordinator."""
        return self.pids.get(0)

    def start(self) -> None:
        accounts.make_place(self.home, self._account)
        for number in range(NODES):
            self.start_node(number)

    def start_node(self, number: int) -> None:
        data = self.home / f"node{number}"
        if not data.exists():
            options = [f"--username={ROLE}", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
            code, printed = self._account.run([self.bin_dir / "initdb", "-D", data, *options])
            if code != 0:
                raise NotStarted(printed)
            accounts.write_private(data / "postgresql.conf", self._settings, self._account)
        command: list[str | Path] = [
            self.bin_dir / "postgres",
            "-D",
            data,
            "-p",
            str(port_of(number)),
            "-c",
            f"unix_socket_directories={self.home}",
        ]
        with open(self.home / f"node{number}.log", "ab") as log:
            self._processes[number] = self._account.spawn(command, output=log, end_signal=signal.SIGINT)
        self._await_ready(number)

    def kill_node(self, number: int) -> None:
        """As a machine that loses power."""
        process = self._processes.pop(number)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGINT)
        for process in self._processes.values():
            process.wait(30)
        self._processes.clear()

    def url(self, database: str = "tidegate", number: int = 0) -> str:
        return f"postgresql://{ROLE}@/{database}?host={self.home}&port={port_of(number)}"

    async def make_database(self, name: str) -> str:
        """On every node, joined to one cluster."""
        await self.make_plain_databases(name)
        return await self.join(name)

    async def make_plain_databases(self, name: str) -> None:
        for number in range(NODES):
            admin = await asyncpg.connect(self.url("postgres", number))
            await admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            await admin.execute(f'CREATE DATABASE "{name}"')
            await admin.close()

    async def join(self, name: str) -> str:
        """The databases of this name become one cluster."""
        for number in range(NODES):
            node = await asyncpg.connect(self.url(name, number))
            await node.execute("CREATE EXTENSION citus")
            await node.close()
        coordinator = await asyncpg.connect(self.url(name))
        await coordinator.execute("SELECT citus_set_coordinator_host($1, $2)", str(self.home), port_of(0))
        for number in range(1, NODES):
            await coordinator.execute("SELECT citus_add_node($1, $2)", str(self.home), port_of(number))
        await coordinator.close()
        return self.url(name)

    async def is_joined(self, name: str) -> bool:
        """False also for what a start that was cut off has left."""
        try:
            coordinator = await asyncpg.connect(self.url(name))
        except asyncpg.InvalidCatalogNameError:
            return False
        try:
            joined: int = await coordinator.fetchval("SELECT count(*) FROM pg_dist_node")
        except asyncpg.UndefinedTableError:
            joined = 0
        finally:
            await coordinator.close()
        return joined == NODES

    def _await_ready(self, number: int) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while subprocess.run(
            [self.bin_dir / "pg_isready", "-q", "-d", self.url("postgres", number)], check=False
        ).returncode:
            if self._processes[number].poll() is not None:
                raise NotStarted(self._why_not(number))
            if time.monotonic() > deadline:
                raise NotStarted(self._log(number))
            time.sleep(0.05)

    def _log(self, number: int) -> str:
        return (self.home / f"node{number}.log").read_text()[-2000:]

    def _why_not(self, number: int) -> str:
        """What the server said last, and what it means where Citus cannot be loaded."""
        log = self._log(number)
        fatal = [line.partition("FATAL:")[2].strip() for line in log.splitlines() if "FATAL:" in line]
        if not fatal:
            return log
        if "could not load library" not in fatal[-1]:
            return fatal[-1]
        version = subprocess.run([self.bin_dir / "postgres", "--version"], capture_output=True, text=True, check=True)
        named = version.stdout.strip().removeprefix("postgres (PostgreSQL) ")
        return f"{fatal[-1]}\n{DOES_NOT_FIT.format(version=named)}"


def port_of(number: int) -> int:
    return 5432 + number


def main() -> None:
    """With a folder: the nodes in it, and the sandbox on them. Without one: whether there is Citus."""
    try:
        folder = find_bin()
    except NoCitus as missing:
        sys.exit(str(missing))
    if len(sys.argv) == 1:
        return
    home = Path(sys.argv[1]).resolve()
    nodes = Nodes(home, folder)
    try:
        nodes.start()
        if not asyncio.run(nodes.is_joined("tidegate")):
            asyncio.run(nodes.make_database("tidegate"))
        url = nodes.url("tidegate")
        print(f"{NODES} nodes run. DATABASE_URL={url}", flush=True)
        subprocess.run([sys.executable, "-m", "tidegate", "dev"], env={**os.environ, "DATABASE_URL": url}, check=False)
    except NotStarted as why:
        sys.exit(str(why))
    except KeyboardInterrupt:
        pass
    finally:
        nodes.stop()


if __name__ == "__main__":
    main()
