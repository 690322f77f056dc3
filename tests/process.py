"""The product as its own processes, for tests that kill them."""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from click.testing import CliRunner

from tidegate.cli.main import main

# A limit, not a measure: on a busy machine a start takes many times as long as on a quiet one.
START_TIMEOUT_S = 180.0
PORTS_FROM, PORTS_TO, PORTS_OF_ONE = 16_000, 32_000, 200
_LOCKS: list[IO[bytes]] = []
ENCRYPTION_KEY = "b25seSBmb3IgdGVzdHMsIGFuZCBmb3Igbm8gb3RoZXI="


def free_port() -> int:
    """Of this process alone: otherwise another test, or another run of them on this machine, could answer in place
    of a server that is yet to start."""
    while True:
        port = next(_own_ports())
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@cache
def _own_ports() -> Iterator[int]:
    """A share that is locked until this process ends, below the ports that the system itself gives out."""
    folder = Path(tempfile.gettempdir()) / f"tidegate-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    begins = list(range(PORTS_FROM, PORTS_TO, PORTS_OF_ONE))
    random.SystemRandom().shuffle(begins)
    for begin in begins:
        lock = (folder / str(begin)).open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            _LOCKS.append(lock)
            return itertools.cycle(range(begin, begin + PORTS_OF_ONE))
    raise AssertionError("more processes run tests on this machine than there are ports for")


def run_here(*arguments: str, **environment: str) -> tuple[int, str]:
    """What `tidegate …` answers and prints, in this process: to start another costs more than most commands."""
    ours = {name: None for name in os.environ if name.startswith("TIDEGATE_") or name in ("DATABASE_URL", "PORT")}
    done = CliRunner().invoke(main, arguments, env={**ours, **_environment(environment)})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def run_apart(*arguments: str, **environment: str) -> tuple[int, str]:
    """The same, in a process of its own."""
    process = tidegate(*arguments, **environment)
    said, _ = process.communicate(timeout=START_TIMEOUT_S)
    return process.returncode, said


def _environment(given: dict[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TIDEGATE_POSTGRES_BIN") if name in os.environ}
    return {**inherited, "TIDEGATE_LOG_LEVEL": "error", "TIDEGATE_ENCRYPTION_KEY": ENCRYPTION_KEY, **given}


def tidegate(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """`tidegate …` in a process group of its own, with nothing of ours in its environment but what is given."""
    return subprocess.Popen(
        [sys.executable, "-m", "tidegate", *arguments],
        env=_environment(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@contextmanager
def api(database_url: str, *, workers: int = 1, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`tidegate serve`, ready to answer; its base address and its process."""
    with api_process(database_url, workers=workers, **environment) as (base_url, process):
        wait_until_ready(base_url, process)
        yield base_url, process


@contextmanager
def api_process(
    database_url: str, *, workers: int = 1, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`tidegate serve`, whether or not it is ready yet."""
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    environment |= {"PORT": str(port), "DATABASE_URL": database_url, "TIDEGATE_BASE_URL": base_url}
    process = tidegate("serve", "--workers", str(workers), **environment)
    try:
        yield base_url, process
    finally:
        stop(process)


def wait_until_ready(base_url: str, process: subprocess.Popen[str]) -> None:
    ends_at = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < ends_at:
        if process.poll() is not None:
            raise AssertionError(f"it ended with {process.returncode}: {process.communicate()[0]}")
        if status_of(f"{base_url}/readyz") == 200:
            return
        time.sleep(0.05)
    raise AssertionError("not ready in time")


def status_of(url: str) -> int | None:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def stop(process: subprocess.Popen[str], *, timeout_s: float = 120.0) -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None and not process.stdout.closed:
        # Shown by pytest next to the failure, when there is one.
        sys.stdout.write(process.stdout.read())
        process.stdout.close()
    return process.returncode


def supervised_by(parent: subprocess.Popen[str], *, within_s: float = START_TIMEOUT_S) -> list[int]:
    """The processes that it keeps running; waits until there is one, since a killed one is replaced a moment later."""
    ends_at = time.monotonic() + within_s
    while time.monotonic() < ends_at:
        assert parent.poll() is None, f"the parent ended with {parent.returncode}"
        # The resource tracker of multiprocessing is a child too.
        if found := [pid for pid in children_of(parent.pid) if b"spawn_main" in _command_of(pid)]:
            return found
        time.sleep(0.02)
    raise AssertionError("no child was started again in time")


def _command_of(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def children_of(pid: int) -> list[int]:
    """The processes that a process started, on Linux."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found
