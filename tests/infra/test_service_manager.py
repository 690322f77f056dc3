from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from process import START_TIMEOUT_S
from tidegate.infra.service_manager import ServiceManager

TESTS = Path(__file__).parent.parent


@contextmanager
def systemd(address: str) -> Iterator[socket.socket]:
    """The end that systemd reads."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as reader:
        reader.bind(address)
        reader.settimeout(START_TIMEOUT_S)
        yield reader


def test_without_a_service_manager_nothing_happens() -> None:
    manager = ServiceManager({})
    manager.ready()
    manager.alive()
    manager.stopping()


def test_a_service_manager_that_is_gone_does_not_end_the_service(tmp_path: Path) -> None:
    ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready()


@pytest.mark.parametrize(
    ("watchdog", "lines"),
    [
        ({"WATCHDOG_USEC": "2000000"}, ["READY=1", "WATCHDOG=1", "STOPPING=1"]),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": str(os.getpid())}, ["READY=1", "WATCHDOG=1", "STOPPING=1"]),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}, ["READY=1", "STOPPING=1"]),
        ({}, ["READY=1", "STOPPING=1"]),
    ],
)
def test_the_watchdog_is_answered_when_it_is_ours(watchdog: dict[str, str], lines: list[str]) -> None:
    name = f"tidegate-test-{os.getpid()}"
    with systemd(f"\0{name}") as reader:
        manager = ServiceManager({"NOTIFY_SOCKET": f"@{name}", **watchdog})
        manager.ready()
        manager.alive()
        manager.alive()  # Too soon after the first.
        manager.stopping()
        assert [reader.recv(100).decode() for _ in lines] == lines
        reader.setblocking(False)
        with pytest.raises(BlockingIOError):
            reader.recv(100)


def test_a_parent_reports_that_it_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    file = tmp_path / "parent.py"
    file.write_text(
        "from tidegate.infra.supervisor import Supervisor\n"
        "if __name__ == '__main__': Supervisor('infra.test_supervisor:runs_on', '').run()"
    )
    with systemd(str(tmp_path / "notify")) as reader:
        environment = {**os.environ, "PYTHONPATH": str(TESTS), "NOTIFY_SOCKET": str(tmp_path / "notify")}
        parent = subprocess.Popen([sys.executable, str(file)], env={**environment, "WATCHDOG_USEC": "1000000"})
        try:
            assert [reader.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        finally:
            parent.send_signal(signal.SIGTERM)
        while (line := reader.recv(100)) == b"WATCHDOG=1":
            pass
        assert line == b"STOPPING=1"
        assert parent.wait(START_TIMEOUT_S) == 0
