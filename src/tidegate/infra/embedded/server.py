"""An embedded PostgreSQL server for sandboxes and tests: nothing to install, nothing to configure.

home/                       0700, owned by the account that runs the server
    start.lock              held while a process starts the server
    server.lock             held by every process of a running server
    postgres-18/            the data, one folder per major version
    postgres-18.conf, .hba, .ident    written again at every start
    postgres-18.log
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tidegate.infra.embedded import binaries, config
from tidegate.infra.embedded import os_account as accounts
from tidegate.infra.embedded.os_account import EmbeddedPostgresFailed
from tidegate.infra.embedded.postmaster import find_postmaster, is_alive, is_postgres

DATABASE = "tidegate"
START_TIMEOUT_S = 30.0
# Another process may be creating and starting the cluster; each step has its own limit.
START_LOCK_TIMEOUT_S = accounts.PROGRAM_TIMEOUT_S + START_TIMEOUT_S
START_ATTEMPTS = 3
POLL_S = 0.02
LOG_BYTES_MAX = 10 * 1024 * 1024
LOG_TAIL_BYTES = 4096
# Fast shutdown with a checkpoint; then immediate shutdown, followed by recovery at the next start; then kill.
STOP_SIGNALS = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
# PostgreSQL 17 has a built-in Unicode locale; before, the system has it under this name, or there is none.
LOCALES_BEFORE_17 = (("--locale=C", "--lc-ctype=C.UTF-8"), ("--locale=C",))
LOCALES = (("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),)
INITDB_OPTIONS = (
    f"--username={config.ROLE}",
    "--data-checksums",
    "--encoding=UTF8",
    "--auth-local=peer",
    "--auth-host=reject",
)


class EmbeddedPostgres:
    """An embedded PostgreSQL server, in a folder of its own.

    Call start() from the main thread: on Linux the server stops with the thread that started it, even if that
    is killed. Elsewhere it stops at stop() or at the normal end of the interpreter.
    """

    def __init__(self, home: Path, *, bin_dir: Path | None = None, durable: bool = True) -> None:
        self._asked_home = home.expanduser().resolve()
        self._binaries = binaries.find(bin_dir)
        self.bin_dir = self._binaries.folder
        self._account = accounts.server_account(self._asked_home)
        self._durable = durable
        self._process: subprocess.Popen[bytes] | None = None
        self._parent_pid = os.getpid()
        self._use(accounts.place_for(self._asked_home, self._account))

    def _use(self, home: Path) -> None:
        self._home = home
        self._data = home / f"postgres-{self._binaries.major}"
        self._log = self._data.with_suffix(".log")

    def start(self) -> bool:
        """Return True when this call started the server, False when it was running."""
        try:
            self._use(accounts.make_place(self._asked_home, self._account))
            self._binaries = binaries.reachable(self._binaries, self._account)
            self.bin_dir = self._binaries.folder
            with self._start_lock():
                return self._find_or_launch_with_database()
        except OSError as error:
            raise EmbeddedPostgresFailed(
                f"The embedded PostgreSQL cannot work in {self._home}: {error}. "
                "Choose another folder, or set DATABASE_URL to a server of your own."
            ) from error

    def stop(self) -> None:
        """Stop the server if this object started it, and wait for its end."""
        # A forked child inherits this object and its exit handlers, but must not stop the server.
        if self._process is None or self._parent_pid != os.getpid():
            return
        atexit.unregister(self.stop)
        process, self._process = self._process, None
        for signum, timeout_s in STOP_SIGNALS:
            process.send_signal(signum)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout_s)
                return

    def has_data(self) -> bool:
        """Whether a server was ever started here; otherwise start() creates one."""
        return (self._data / "PG_VERSION").exists()

    def is_running(self) -> bool:
        return self.pid is not None

    @property
    def pid(self) -> int | None:
        found = find_postmaster(self._data)
        return found.pid if found is not None and found.answers() else None

    def url(self, database: str = DATABASE) -> str:
        found = find_postmaster(self._data)
        # A server of another process uses the socket folder that the process chose.
        sockets, port = (
            (found.sockets, found.port)
            if found is not None and found.answers()
            else (config.socket_folder(self._data, self._account), config.PORT)
        )
        host = urllib.parse.quote(str(sockets))
        return f"postgresql://{config.ROLE}@/{urllib.parse.quote(database, safe='')}?host={host}&port={port}"

    @contextlib.contextmanager
    def _start_lock(self) -> Iterator[None]:
        with self._open_own("start.lock") as lock:
            deadline = time.monotonic() + START_LOCK_TIMEOUT_S
            while not _try_lock(lock):
                if time.monotonic() > deadline:
                    raise EmbeddedPostgresFailed(
                        f"Another process has been starting PostgreSQL in {self._home} for too long. "
                        "End that process and try again."
                    )
                time.sleep(POLL_S)
            yield

    def _open_own(self, name: str) -> IO[bytes]:
        # Root opens this in a folder of another account, which could have placed a link there.
        descriptor = os.open(self._home / name, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        if self._account.is_borrowed:
            os.fchown(descriptor, self._account.uid, self._account.gid)
        return open(descriptor, "ab")

    def _find_or_launch_with_database(self) -> bool:
        for _ in range(START_ATTEMPTS):
            started = self._find_or_launch()
            failure = self._ensure_database()
            if not failure:
                return started
            # The server may be shutting down; check again.
            time.sleep(POLL_S)
        raise EmbeddedPostgresFailed(f"{failure}\n{self._log_tail()}")

    def _find_or_launch(self) -> bool:
        with self._open_own("server.lock") as lock:
            deadline = time.monotonic() + START_TIMEOUT_S
            while not self.is_running():
                # Every process of a server holds this lock, so when it is free, all have ended: after a
                # kill -9 of the first process, the others may write to the data for a moment.
                if _try_lock(lock):
                    self._launch(lock.fileno())
                    return True
                if time.monotonic() > deadline:
                    raise EmbeddedPostgresFailed(
                        f"Processes of an earlier PostgreSQL still use {self._data}, and it does not answer. "
                        f"End them and try again.\n{self._log_tail()}"
                    )
                time.sleep(POLL_S)
        return False

    def _launch(self, lock: int) -> None:
        if self._process is not None:
            # The lock is free, so it has ended; without wait() its process id looks alive.
            self._process.wait()
        if not (self._data / "PG_VERSION").exists():
            self._initialise(lock)
        self._forget_dead_server()
        settings = self._write_settings()
        with self._open_own(self._log.name) as log:
            if log.tell() > LOG_BYTES_MAX:
                log.truncate(0)
            process = self._account.spawn(
                [self.bin_dir / "postgres", "-D", self._data, "-c", f"config_file={settings}"],
                output=log,
                end_signal=signal.SIGINT,
                inherited_fds=(lock,),
            )
        self._process, self._parent_pid = process, os.getpid()
        atexit.register(self.stop)
        try:
            self._await_ready(process)
        except BaseException:
            self.stop()
            raise

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.pid != process.pid:
            if process.poll() is not None:
                raise EmbeddedPostgresFailed(
                    f"PostgreSQL ended while starting. Its log, {self._log}, may say why:\n{self._log_tail()}"
                )
            if time.monotonic() > deadline:
                raise EmbeddedPostgresFailed(
                    f"PostgreSQL was not ready within {START_TIMEOUT_S:.0f} s. Its log, {self._log}, "
                    f"may say why:\n{self._log_tail()}"
                )
            time.sleep(POLL_S)

    def _initialise(self, lock: int) -> None:
        """Create the data folder under another name and rename it, so that it is complete or absent."""
        fresh = self._data.with_name(self._data.name + ".new")
        command: list[str | Path] = [self.bin_dir / "initdb", "-D", fresh, *INITDB_OPTIONS]
        for locale in LOCALES if self._binaries.major >= 17 else LOCALES_BEFORE_17:
            shutil.rmtree(fresh, ignore_errors=True)
            options = locale if self._durable else (*locale, "--no-sync")
            code, printed = self._account.run([*command, *options], inherited_fds=(lock,))
            if code == 0:
                break
        else:
            raise EmbeddedPostgresFailed(f"initdb could not make {self._data}:\n{printed}")
        try:
            fresh.rename(self._data)
        except OSError as error:
            raise EmbeddedPostgresFailed(
                f"{self._data} is in the way and holds no PostgreSQL data. Remove it and try again."
            ) from error

    def _forget_dead_server(self) -> None:
        """Remove the postmaster.pid of a killed server when its process id belongs to another process.

        PostgreSQL takes any live process of that id for its predecessor and refuses to start; process ids
        repeat after every restart of a container. This process holds the server's lock, so the server is gone.
        """
        found = find_postmaster(self._data)
        if found is None or not is_alive(found.pid) or is_postgres(found.pid):
            return
        sockets = config.socket_folder(self._data, self._account)
        (sockets / f".s.PGSQL.{config.PORT}.lock").unlink(missing_ok=True)
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _write_settings(self) -> Path:
        sockets = config.socket_folder(self._data, self._account)
        if sockets != self._data:
            accounts.claim_folder(sockets, self._account)
        main, hba, ident = (self._data.with_suffix(suffix) for suffix in (".conf", ".hba", ".ident"))
        text = config.settings_text(
            data=self._data,
            sockets=sockets,
            hba=hba,
            ident=ident,
            durable=self._durable,
            wal_compression=binaries.wal_compression(self._binaries),
        )
        accounts.write_private(main, text, self._account)
        accounts.write_private(hba, config.hba_text(), self._account)
        accounts.write_private(ident, config.ident_text(self._account), self._account)
        return main

    def _ensure_database(self) -> str:
        """Return an empty text, or the error."""
        url = self.url("postgres")
        code, printed = self._account.run([self.bin_dir / "psql", "-XAtl", f"--dbname={url}"])
        if code == 0 and DATABASE not in (line.partition("|")[0] for line in printed.splitlines()):
            code, printed = self._account.run([self.bin_dir / "createdb", f"--maintenance-db={url}", DATABASE])
        return "" if code == 0 else f"PostgreSQL runs, but {printed or 'does not answer'}"

    def _log_tail(self) -> str:
        try:
            return self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
        except OSError:
            return ""


def _try_lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
