"""A folder has one running sandbox at a time. The lock ends with its process, also with a killed one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tidegate.core.errors import Unavailable

FILE_NAME = "run.lock"
_NOTE_CHARACTERS_MAX = 500


class AlreadyRunning(Unavailable):
    """Another process runs the sandbox of this folder."""


class RunLock:
    """Holds the process id and the address, for the message to a second process."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._write("a sandbox is starting")

    def note_address(self, base_url: str) -> None:
        self._write(f"a sandbox is running at {base_url}")

    def _write(self, state: str) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{state}, as process {os.getpid()}")
        self._file.flush()


@contextmanager
def run_lock(home: Path) -> Iterator[RunLock]:
    """Raises AlreadyRunning while another process holds it."""
    with _open(home) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            state = file.read(_NOTE_CHARACTERS_MAX) or "a sandbox is starting"
            raise AlreadyRunning(
                f"{state}, with the data in {home}. Stop it first, with Ctrl-C in its terminal; or set TIDEGATE_HOME "
                "to another folder, for a second sandbox with data and keys of its own."
            ) from None
        yield RunLock(file)


def _open(home: Path) -> IO[str]:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # For root, PostgreSQL's account owns the folder and could have placed a link there.
        return open(os.open(home / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+", encoding="utf-8")
    except OSError as error:
        raise Unavailable(
            f"cannot use the folder {home}: {error.strerror}; choose another with TIDEGATE_HOME"
        ) from None
