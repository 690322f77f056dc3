"""The clock of a database machine, which can be stopped: libfaketime in PostgreSQL.

etcd keeps the true time, since Go does not ask the C library, and so does Patroni, whose sleeps libfaketime breaks.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

LIBRARIES = "usr/lib/*/faketime/libfaketime.so.1"
PROGRAM = "postgres"
_RUNNING = "+0"


class Clock:
    def __init__(self, library: Path, folder: Path) -> None:
        self._library = library
        self._folder = folder
        self._file = folder / "clock"
        self.go_on()

    def stop(self) -> None:
        """A time without a sign stands still."""
        self._file.write_text(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}\n", encoding="ascii")

    def go_on(self) -> None:
        self._file.write_text(f"{_RUNNING}\n", encoding="ascii")

    def programs(self, postgres_bin: Path) -> Path:
        """PostgreSQL's programs in a folder in which the server goes by this clock."""
        folder = self._folder / "bin"
        if not folder.exists():
            folder.mkdir(mode=0o755)
            for program in postgres_bin.iterdir():
                (folder / program.name).symlink_to(program)
            (folder / PROGRAM).unlink()
            (folder / PROGRAM).write_text(self._script(postgres_bin), encoding="utf-8")
            (folder / PROGRAM).chmod(0o755)
        return folder

    def _script(self, postgres_bin: Path) -> str:
        # The file is read again a second after it was read; waits end all the same.
        given = f"LD_PRELOAD={self._library} FAKETIME_TIMESTAMP_FILE={self._file} FAKETIME_CACHE_DURATION=1"
        given += " FAKETIME_DONT_FAKE_MONOTONIC=1 TZ=UTC"
        return f'#!/bin/sh\n{given} exec {postgres_bin / PROGRAM} "$@"\n'


def library() -> Path | None:
    """Of the system's package faketime."""
    return next(iter(sorted(Path("/").glob(LIBRARIES))), None)
