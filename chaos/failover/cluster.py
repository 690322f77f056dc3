"""Patroni, etcd, HAProxy and PgBouncer, with the files of deploy/ha.

Machines 1 and 2 have the databases, 3 a vote, 4 the service.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import signal
import ssl
import string
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from chaos.disk import Disk, mounted
from chaos.failover.clock import Clock, library
from chaos.failover.network import NETWORK, Machines

FILES = Path(__file__).resolve().parents[2] / "deploy" / "ha"
DATABASES, VOTE, SERVICE = (1, 2), 3, 4
USER = "postgres"
READY_WITHIN_S = 180.0
# More than PostgreSQL reserves.
WAL_MB_MAX = 1_000
CLOCK_STOPPED_S = 30.0
# Known only inside the namespaces.
PASSWORD = "failover"
_LOGIN = f"""
    CREATE ROLE tidegate_service LOGIN PASSWORD '{PASSWORD}';
    GRANT tidegate_app TO tidegate_service;
    ALTER ROLE tidegate_service SET role = 'tidegate_app';
    ALTER ROLE tidegate_service SET statement_timeout = '5s';
    ALTER ROLE tidegate_service SET lock_timeout = '2s';
    ALTER ROLE tidegate_service SET idle_in_transaction_session_timeout = '10s';
    ALTER ROLE tidegate_service SET jit = off;
"""
_ARCHITECTURES = {"aarch64": "arm64"}


class Cluster:
    def __init__(self, machines: Machines, home: Path, patroni: Path, postgres_bin: Path, *, has_clocks: bool) -> None:
        self._machines = machines
        self._home = home
        self._patroni = patroni
        self._postgres_bin = postgres_bin
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.clocks = self._make_clocks() if has_clocks else {}
        self.authority = home / "authority.crt"
        self.pooled_url = f"postgresql://tidegate_service:{PASSWORD}@127.0.0.1:6432/tidegate"
        self.direct_url = f"postgresql://tidegate_service:{PASSWORD}@127.0.0.1:5000/tidegate?sslmode=verify-ca"
        self.owner_url = f"postgresql://postgres:{PASSWORD}@127.0.0.1:5000/tidegate"

    @contextmanager
    def disks(self) -> Iterator[dict[int, Disk | None]]:
        """A small one for each database, where one can be mounted."""
        with ExitStack() as ending:
            made = {}
            for number in DATABASES:
                folder = self._data(number).parent
                folder.mkdir()
                made[number] = ending.enter_context(mounted(folder, folder.with_suffix(".image")))
                shutil.chown(folder, USER, USER)
            yield made

    async def start(self) -> None:
        self._make_certificates()
        for number in (*DATABASES, VOTE):
            self._start_etcd(number)
        for number in DATABASES:
            self.start_patroni(number)
        self._start_haproxy()
        await self.until(self.is_synchronous)
        await self._make_database()

    async def make_login(self) -> None:
        """After the migration, which makes the role."""
        connection = await asyncpg.connect(self.owner_url)
        await connection.execute(_LOGIN)
        await connection.close()
        self._start_pgbouncer()

    def stop(self) -> None:
        for name, process in reversed(self._running.items()):
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT if name.startswith("patroni") else signal.SIGTERM)
        for process in self._running.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        for number in DATABASES:
            for pid in self.postgres_pids(number):
                _send(pid, signal.SIGKILL)

    def start_patroni(self, number: int) -> None:
        clock = self.clocks.get(number)
        programs = clock.programs(self._postgres_bin) if clock else self._postgres_bin
        configuration = self._write(
            "patroni.yml", number, NAME=f"pg{number}", DATA=str(self._data(number)),
            **self._certificate(number), ETCD_HOSTS=self._etcd_hosts,
            NETWORK=NETWORK, POSTGRES_BIN=str(programs), SOCKETS=str(self._folder(number)),
            SUPERUSER_PASSWORD=PASSWORD, REPLICATION_PASSWORD=PASSWORD, REWIND_PASSWORD=PASSWORD,
        )  # fmt: skip
        self._start(f"patroni-{number}", number, [str(self._patroni), str(configuration)])

    def _make_clocks(self) -> dict[int, Clock]:
        """Where there is a library for it."""
        found = library()
        return {number: Clock(found, self._folder(number)) for number in DATABASES} if found else {}

    async def stop_clock(self, number: int) -> None:
        """For longer than Patroni's ttl."""
        self.clocks[number].stop()
        await asyncio.sleep(CLOCK_STOPPED_S)

    def lead_by_vote(self) -> None:
        """As the timer on the third machine does."""
        script = [str(FILES / "etcd-leader.sh")]
        with (self._home / "etcd-leader.log").open("ab") as log:
            files = self._certificate(VOTE)
            environment = {"ETCD_HOSTS": self._etcd_hosts, "ETCDCTL_CACERT": files["AUTHORITY"]}
            environment |= {"ETCDCTL_CERT": files["CERTIFICATE"], "ETCDCTL_KEY": files["KEY"]}
            run = self._machines.start(VOTE, ["sh", *script], user=USER, log=log, env=environment)
            if run.wait(READY_WITHIN_S):
                raise SystemExit(f"etcd is not led by the third machine; {log.name} says why")

    @property
    def _etcd_hosts(self) -> str:
        return ",".join(f"{self._machines.address(one)}:2379" for one in (*DATABASES, VOTE))

    async def leader(self) -> int | None:
        for number in DATABASES:
            answer = await self._ask(number, "/primary")
            if answer is not None and answer.status_code == 200:
                return number
        return None

    async def is_replica(self, number: int) -> bool:
        """It runs, and does not lead."""
        answer = await self._ask(number, "/patroni")
        return answer is not None and (answer.json().get("role"), answer.json().get("state")) == ("replica", "running")

    async def is_synchronous(self) -> bool:
        """A primary, and a standby that every commit waits for; as the primary itself says."""
        leader = await self.leader()
        answer = await self._ask(leader, "/cluster") if leader else None
        if answer is None or answer.status_code != 200:
            return False
        states = sorted((one["role"], one["state"]) for one in answer.json()["members"])
        return states == [("leader", "running"), ("sync_standby", "streaming")] and await self._has_standby()

    async def _has_standby(self) -> bool:
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
            connection = await asyncpg.connect(self.owner_url.replace("/tidegate", "/postgres"), timeout=3)
            try:
                count = await connection.fetchval("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
                return bool(count == 1)
            finally:
                connection.terminate()
        return False

    async def switch_over(self, leader: int) -> None:
        other = next(number for number in DATABASES if number != leader)
        body = {"leader": f"pg{leader}", "candidate": f"pg{other}"}
        async with httpx.AsyncClient(timeout=60, verify=self._trusted(leader)) as client:
            answer = await client.post(f"https://{self._machines.address(leader)}:8008/switchover", json=body)
            answer.raise_for_status()

    def postgres_pids(self, number: int) -> list[int]:
        """The postmaster and its children."""
        try:
            first = int((self._data(number) / "postmaster.pid").read_text().splitlines()[0])
            children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        except (OSError, ValueError, IndexError):
            return []
        return [first, *map(int, children)]

    def kill_postgres(self, number: int) -> None:
        for pid in self.postgres_pids(number)[:1]:
            _send(pid, signal.SIGKILL)

    def kill_machine(self, number: int) -> None:
        self._running[f"patroni-{number}"].kill()
        self._running.pop(f"patroni-{number}").wait()
        self.kill_postgres(number)

    def kill_session(self, number: int) -> None:
        """One of the service's; PostgreSQL ends all others, since it may have left anything in shared memory."""
        sessions = (pid for pid in self.postgres_pids(number) if b"tidegate_service" in _command(pid))
        _send(next(sessions), signal.SIGKILL)

    def turn_off(self, number: int) -> None:
        """Without its power: its network does not even say that it is gone."""
        self._machines.cut(number)
        self.kill_machine(number)
        self._running[f"etcd-{number}"].kill()
        self._running.pop(f"etcd-{number}").wait()

    def turn_on(self, number: int) -> None:
        self._machines.heal(number)
        self._start_etcd(number)
        self.start_patroni(number)

    async def fill_disk(self, number: int, disk: Disk) -> None:
        """And then with WAL what PostgreSQL had reserved, until it ends itself."""
        await asyncio.to_thread(disk.fill)
        url = f"postgresql://postgres:{PASSWORD}@{self._machines.address(number)}/postgres"
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
            connection = await asyncpg.connect(url, timeout=10)
            for _ in range(WAL_MB_MAX):
                await connection.execute("SELECT pg_logical_emit_message(false, '', repeat('.', 1000000))", timeout=10)

    def freeze(self, number: int, signum: signal.Signals) -> None:
        for pid in (self._running[f"patroni-{number}"].pid, *self.postgres_pids(number)):
            _send(pid, signum)

    async def until(self, is_so: Callable[[], Awaitable[Any]], within_s: float = READY_WITHIN_S) -> None:
        async with asyncio.timeout(within_s):
            while not await is_so():
                ended = [name for name, process in self._running.items() if process.poll() is not None]
                if ended:
                    raise SystemExit(f"{', '.join(ended)} ended; the logs in {self._home} say why")
                await asyncio.sleep(0.2)

    async def _ask(self, number: int, path: str) -> httpx.Response | None:
        with suppress(httpx.TransportError):
            async with httpx.AsyncClient(timeout=2, verify=self._trusted()) as client:
                return await client.get(f"https://{self._machines.address(number)}:8008{path}")
        return None

    async def _make_database(self) -> None:
        async def make() -> bool:
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
                connection = await asyncpg.connect(self.owner_url.replace("/tidegate", "/postgres"), timeout=3)
                await connection.execute("CREATE DATABASE tidegate")
                await connection.close()
                return True
            return False

        await self.until(make)

    def _make_certificates(self) -> None:
        machines = [f"m{number}={self._machines.address(number)}" for number in (*DATABASES, VOTE)]
        subprocess.run(["sh", FILES / "certificate.sh", self._home, *machines], check=True)
        self.authority.chmod(0o644)
        for file in self._home.glob("m?.*"):
            shutil.chown(file, USER, USER)

    def _certificate(self, number: int) -> dict[str, str]:
        """As deploy/ha/machine.env names the files."""
        own = self._home / f"m{number}"
        return {"AUTHORITY": str(self.authority), "CERTIFICATE": f"{own}.crt", "KEY": f"{own}.key"}

    def _trusted(self, number: int | None = None) -> ssl.SSLContext:
        """With the certificate of that machine, which may change who leads."""
        context = ssl.create_default_context(cafile=str(self.authority))
        if number:
            context.load_cert_chain(f"{self._home}/m{number}.crt", f"{self._home}/m{number}.key")
        return context

    def _start_etcd(self, number: int) -> None:
        address = self._machines.address
        cluster = ",".join(f"e{one}=https://{address(one)}:2380" for one in (*DATABASES, VOTE))
        data = self._folder(number) / "etcd"
        path = self._write(
            "etcd.env", number, NAME=f"e{number}", ETCD_DATA=str(data), CLUSTER=cluster, **self._certificate(number)
        )
        lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
        env = dict(line.split("=", 1) for line in lines)
        machine = platform.machine()
        env["ETCD_UNSUPPORTED_ARCH"] = _ARCHITECTURES.get(machine, machine)
        self._start(f"etcd-{number}", number, ["etcd"], env)

    def _start_haproxy(self) -> None:
        first, second = (self._machines.address(number) for number in DATABASES)
        path = self._write("haproxy.cfg", SERVICE, FIRST=first, SECOND=second, AUTHORITY=str(self.authority))
        # It is not started as root here, and so cannot become another user.
        path.write_text(re.sub(r"^  (user|group) .*\n", "", path.read_text(), flags=re.MULTILINE))
        self._start("haproxy", SERVICE, ["haproxy", "-db", "-f", str(path)])

    def _start_pgbouncer(self) -> None:
        users = self._folder(SERVICE) / "users"
        users.write_text(f'"tidegate_service" "{PASSWORD}"\n')
        path = self._write("pgbouncer.ini", SERVICE, USERS=str(users), AUTHORITY=str(self.authority))
        said = subprocess.run(["pgbouncer", "--version"], capture_output=True, text=True, check=True).stdout
        if tuple(map(int, said.split()[1].split(".")[:2])) < (1, 21):
            path.write_text(path.read_text().replace("max_prepared_statements", ";max_prepared_statements"))
        self._start("pgbouncer", SERVICE, ["pgbouncer", "-q", str(path)])

    def _write(self, name: str, number: int, **values: str) -> Path:
        path = self._folder(number) / name
        text = string.Template((FILES / name).read_text()).safe_substitute(
            ADDRESS=self._machines.address(number), **values
        )
        path.write_text(text)
        shutil.chown(path, USER, USER)
        path.chmod(0o600)
        return path

    def _data(self, number: int) -> Path:
        return self._folder(number) / "disk" / "data"

    def _folder(self, number: int) -> Path:
        folder = self._home / str(number)
        if not folder.exists():
            folder.mkdir(mode=0o700)
            shutil.chown(folder, USER, USER)
        return folder

    def _start(self, name: str, number: int, argv: list[str], env: dict[str, str] | None = None) -> None:
        with (self._home / f"{name}.log").open("ab") as log:
            home = {"HOME": str(self._folder(number))}
            self._running[name] = self._machines.start(number, argv, user=USER, log=log, env=home | (env or {}))


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _send(pid: int, signum: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signum)
