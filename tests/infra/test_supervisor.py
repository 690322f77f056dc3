"""A parent and its children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from process import START_TIMEOUT_S, supervised_by
from tidegate.infra import backoff

TESTS = Path(__file__).parent.parent


def started(target: str, folder: Path) -> subprocess.Popen[str]:
    script = (
        "from tidegate.infra.supervisor import Supervisor\n"
        f"if __name__ == '__main__': Supervisor('infra.test_supervisor:{target}', {str(folder)!r}).run()"
    )
    file = folder / "parent.py"
    file.write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.Popen([sys.executable, str(file)], env=environment, text=True, stderr=subprocess.DEVNULL)


def ends_at_once(folder: str) -> None:
    (Path(folder) / f"{time.monotonic_ns()}.start").touch()
    sys.exit(1)


def runs_on(_: str) -> None:
    signal.pause()


def until(is_so: Callable[[], bool], otherwise: str) -> None:
    ends_at = time.monotonic() + START_TIMEOUT_S
    while not is_so():
        assert time.monotonic() < ends_at, otherwise
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_that_ends_at_once_is_started_again_and_again(tmp_path: Path) -> None:
    parent = started("ends_at_once", tmp_path)
    until(lambda: len(list(tmp_path.glob("*.start"))) >= 4, "it was not started four times")
    assert parent.poll() is None
    parent.terminate()
    assert parent.wait(START_TIMEOUT_S) == 0


def test_children_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = started("runs_on", tmp_path)
    [child] = supervised_by(parent)
    until(lambda: _threads_of(child) > 1, "it does not watch its parent")
    parent.kill()
    parent.wait()
    until(lambda: not is_alive(child), "it lives on without its parent")


def _threads_of(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


@pytest.mark.parametrize("failures", [1, 5, 40, 5_000])
def test_pauses_grow_and_are_bounded(failures: int) -> None:
    longest = min(3.0, 0.1 * 2 ** min(failures - 1, 30))
    for _ in range(100):
        assert longest / 2 <= backoff.pause_s(failures, first_s=0.1, most_s=3.0) <= longest
