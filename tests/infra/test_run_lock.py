"""One running sandbox in a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.core.errors import Unavailable
from tidegate.infra.run_lock import FILE_NAME, AlreadyRunning, run_lock

HOLD = """
import sys, time
from pathlib import Path
from tidegate.infra.run_lock import run_lock
with run_lock(Path(sys.argv[1])) as lock:
    lock.note_address("http://localhost:8081")
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_is_refused_while_another_process_holds_it_and_free_once_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(AlreadyRunning, match=f"http://localhost:8081, as process {holder.pid},"):
                run_lock(tmp_path).__enter__()
        finally:
            holder.kill()
    with run_lock(tmp_path) as lock:
        lock.note_address("http://localhost:9")
    assert "8081" not in (tmp_path / FILE_NAME).read_text()


def test_one_that_has_no_address_yet_is_starting(tmp_path: Path) -> None:
    with run_lock(tmp_path), pytest.raises(AlreadyRunning, match="is starting"):
        run_lock(tmp_path).__enter__()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="TIDEGATE_HOME"):
        run_lock(tmp_path / "file").__enter__()
