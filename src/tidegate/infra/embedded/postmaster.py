"""Reads postmaster.pid, and checks that its process is a running PostgreSQL."""

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from tidegate.infra.embedded.os_account import current_account


@dataclass(frozen=True)
class Postmaster:
    """The contents of postmaster.pid, which a killed server leaves behind."""

    pid: int
    port: str
    sockets: Path
    status: str

    def answers(self) -> bool:
        if self.status not in ("ready", "standby"):
            return False
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self.sockets / f".s.PGSQL.{self.port}"))
            except OSError:
                return False
        return True


def find_postmaster(data: Path) -> Postmaster | None:
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        # The server writes the last line, its status, later than the others.
        pid, port, sockets, status = lines[0], lines[3], lines[4], "".join(lines[7:8])
        return Postmaster(int(pid), port, Path(sockets), status.strip())
    except (OSError, ValueError, IndexError):
        return None


def is_alive(pid: int) -> bool:
    """A process that has ended counts as alive until its parent has waited for it, as PostgreSQL counts it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def is_postgres(pid: int) -> bool:
    if sys.platform == "linux":
        try:
            # Readable by every account, and empty for a process that has ended.
            command = Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0].decode(errors="replace")
        except OSError:
            return False
    else:
        command = current_account().run(["ps", "-o", "comm=", "-p", str(pid)])[1]
    return Path(command).name in ("postgres", "postmaster")
