"""`tidegate dev`, as a developer meets it: start, paste, see it work, stop, start again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from process import START_TIMEOUT_S, free_port, status_of, stop, supervised_by, tidegate, wait_until_ready

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the printed lines are for curl")


class Sandbox:
    """A running `tidegate dev` and what it has printed so far."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.base_url = f"http://localhost:{port}"
        self.process = tidegate("dev", "--port", str(port), TIDEGATE_HOME=str(home))
        self.printed = self._read_greeting()
        wait_until_ready(self.base_url, self.process)

    def _read_greeting(self) -> str:
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        return "".join(lines)

    def pasted(self, *, after: str) -> str:
        """The lines printed below a heading, as one would copy them."""
        return self.printed.split(after)[1].split("\n\n")[1]

    def paste(self, script: str) -> dict[str, object]:
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return answer


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tidegate-dev-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def sandboxes(home: Path) -> Iterator[list[Sandbox]]:
    started: list[Sandbox] = []
    yield started
    for one in started:
        stop(one.process)


@pytest.fixture
def sandbox(home: Path, sandboxes: list[Sandbox]) -> Sandbox:
    """The one that runs; a start takes seconds."""
    if not sandboxes or sandboxes[-1].process.poll() is not None:
        sandboxes.append(Sandbox(home, free_port()))
    return sandboxes[-1]


def test_the_printed_lines_work_when_pasted(sandbox: Sandbox) -> None:
    create = sandbox.pasted(after="Create a payment")
    verify = sandbox.pasted(after="Verify it")
    created = sandbox.paste(create)
    assert created["status"] is True
    found = sandbox.paste(f"{create} > /dev/null\n{verify}")
    assert found["data"]["status"] == "initiated"  # type: ignore[index]


def test_a_busy_port_is_said_in_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = tidegate("dev", "--port", str(taken.getsockname()[1]), TIDEGATE_HOME=str(tmp_path))
        said, _ = process.communicate(timeout=START_TIMEOUT_S)
    assert process.returncode == 1
    assert "is in use" in said
    assert "PORT=9000" in said
    assert "Traceback" not in said


def test_a_second_run_in_the_same_folder_is_refused_and_changes_nothing(sandbox: Sandbox, home: Path) -> None:
    before = (home / "sandbox.json").read_bytes()
    for port in (str(free_port()), sandbox.base_url.rpartition(":")[2]):
        process = tidegate("dev", "--port", port, TIDEGATE_HOME=str(home))
        said, _ = process.communicate(timeout=START_TIMEOUT_S)
        assert process.returncode == 1, said
        for words in (f"running at {sandbox.base_url}", f"process {sandbox.process.pid}", "Ctrl-C", "TIDEGATE_HOME"):
            assert words in said
        assert "Traceback" not in said
    assert (home / "sandbox.json").read_bytes() == before
    assert status_of(f"{sandbox.base_url}/readyz") == 200


def test_api_and_worker_are_started_again_when_they_die(sandbox: Sandbox) -> None:
    [child] = supervised_by(sandbox.process)
    os.kill(child, signal.SIGKILL)
    assert sandbox.paste(sandbox.pasted(after="Create a payment"))["status"] is True
    assert supervised_by(sandbox.process) != [child]


def test_postgresql_is_started_again_when_it_dies(sandbox: Sandbox, home: Path) -> None:
    pid_file = next(home.glob("postgres-*/postmaster.pid"))
    os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
    ends_at = time.monotonic() + START_TIMEOUT_S
    seen_away = False
    while time.monotonic() < ends_at:
        status = status_of(f"{sandbox.base_url}/readyz")
        seen_away = seen_away or status == 503
        if seen_away and status == 200:
            break
        time.sleep(0.05)
    assert seen_away
    assert sandbox.paste(sandbox.pasted(after="Create a payment"))["status"] is True


def test_the_keys_stay_the_same_over_a_restart(sandbox: Sandbox, sandboxes: list[Sandbox], home: Path) -> None:
    file = home / "sandbox.json"
    before = json.loads(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    assert set(before) >= {"baseUrl", "checkoutUrl", "businessId", "secretKey", "publicKey"}
    assert stop(sandbox.process) == 0
    sandboxes.append(Sandbox(home, free_port()))
    after = json.loads(file.read_text())
    names = ("businessId", "secretKey", "publicKey")
    assert [after[name] for name in names] == [before[name] for name in names]
    assert after["baseUrl"] == sandboxes[-1].base_url


def test_a_killed_run_does_not_block_the_next(sandbox: Sandbox, sandboxes: list[Sandbox], home: Path) -> None:
    sandbox.process.kill()
    stop(sandbox.process)
    sandboxes.append(Sandbox(home, free_port()))
    assert json.loads((home / "sandbox.json").read_text())["baseUrl"] == sandboxes[-1].base_url
