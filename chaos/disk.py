"""A small disk for PostgreSQL, so that it can be full. Only root on Linux can mount one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Sparse: it takes as much of the machine's disk as is written.
SIZE = 16 * 1024**3
_FILLER = "filler"


class Disk:
    def __init__(self, folder: Path) -> None:
        self._filler = folder / _FILLER

    def fill(self) -> None:
        """To the last byte."""
        with self._filler.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(self._filler.parent).free)
            while True:
                file.write(bytes(4096))
                file.flush()

    def clear(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextmanager
def mounted(folder: Path, image: Path) -> Iterator[Disk | None]:
    """None where it cannot be mounted: PostgreSQL is then on the machine's own disk."""
    with image.open("wb") as file:
        file.truncate(SIZE)
    try:
        # Nothing is kept back for root, who fills it.
        is_mounted = _does("mkfs.ext4", "-q", "-m", "0", str(image)) and _does("mount", "-o", "loop", image, folder)
        try:
            yield Disk(folder) if is_mounted else None
        finally:
            if is_mounted:
                _does("umount", "--lazy", folder)
    finally:
        image.unlink()


def _does(*command: str | Path) -> bool:
    program = shutil.which(str(command[0]), path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    return (
        program is not None
        and subprocess.run([program, *command[1:]], capture_output=True, check=False).returncode == 0
    )
