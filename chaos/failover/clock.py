"""The clock of a database machine, which can be stopped: libfaketime in PostgreSQL.

etcd keeps the true time, since Go does not ask the C library, and so does Patroni, whose sleeps libfaketime breaks.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

LIBRARIES = "/usr/lib/*/faketime/libfaketimeMT.so.1"
_RUNNING = "+0"


class Clock:
    def __init__(self, library: Path, file: Path) -> None:
        self._library = library
        self._file = file
        self.go_on()

    @property
    def command(self) -> list[str]:
        """What stands before a command that goes by this clock. Not in the environment of the one who becomes another
        user for it: the library shares memory with what it starts."""
        return [
            "env",
            f"LD_PRELOAD={self._library}",
            f"FAKETIME_TIMESTAMP_FILE={self._file}",
            # Read again this many seconds after it was read.
            "FAKETIME_CACHE_DURATION=1",
            # Waits end all the same.
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
            "FAKETIME_ONLY_CMDS=postgres",
            "TZ=UTC",
        ]

    def stop(self) -> None:
        """A time without a sign stands still."""
        self._file.write_text(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}\n", encoding="ascii")

    def go_on(self) -> None:
        self._file.write_text(f"{_RUNNING}\n", encoding="ascii")


def library() -> Path | None:
    """Of the system's package faketime."""
    root, pattern = LIBRARIES[:1], LIBRARIES[1:]
    return next(iter(sorted(Path(root).glob(pattern))), None)
