"""Configuration of the embedded PostgreSQL: settings, and accounts that may connect."""

import os
import re
import sys
import tempfile
from pathlib import Path

from tidegate.infra.embedded.os_account import EmbeddedPostgresFailed, SystemAccount, short_hash

ROLE = "tidegate"
# Only the name of the socket file depends on it: the server listens on no network address.
PORT = 5432
# The kernel's limit is 104 bytes or more, depending on the system.
SOCKET_PATH_BYTES_MAX = 100
# A comma or a space in the folder's name would make a list of hosts in a connection string.
PLAIN_PATH = re.compile(r"[\w./+-]+")

MEGABYTE = 1024 * 1024
SHARED_BUFFERS_MB_MIN, SHARED_BUFFERS_MB_MAX = 64, 512
MEMORY_LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")


def socket_folder(data: Path, account: SystemAccount) -> Path:
    """Return the data folder, or one with a short name for a data folder whose path is too long."""
    for folder in (data, Path(tempfile.gettempdir()) / f"tidegate-{account.uid}-{short_hash(data)}"):
        path = str(folder / f".s.PGSQL.{PORT}")
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX and PLAIN_PATH.fullmatch(path):
            return folder
    raise EmbeddedPostgresFailed(
        f"The path of the folder for temporary files, {tempfile.gettempdir()}, is too long or too unusual "
        "for a socket. Set TMPDIR to a short one, such as /tmp."
    )


def settings_text(
    *, data: Path, sockets: Path, hba: Path, ident: Path, durable: bool, wal_compression: str | None
) -> str:
    """Our settings come after those of initdb, so that ours win."""
    safe = "on" if durable else "off"
    memory_mb = _memory_mb()
    settings = {
        "hba_file": str(hba),
        "ident_file": str(ident),
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "fsync": safe,
        "synchronous_commit": safe,
        "full_page_writes": safe,
        "max_wal_size": "1GB",
        "checkpoint_timeout": "10min",
        "shared_buffers": f"{min(max(memory_mb // 8, SHARED_BUFFERS_MB_MIN), SHARED_BUFFERS_MB_MAX)}MB",
        "effective_cache_size": f"{max(memory_mb // 2, SHARED_BUFFERS_MB_MIN)}MB",
        "jit": "off",
        "autovacuum": "on",
        "deadlock_timeout": "200ms",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "off",
        "log_destination": "stderr",
        "log_min_messages": "warning",
        "log_line_prefix": "%m [%p] %q%u@%d ",
    }
    if wal_compression is not None:
        settings["wal_compression"] = wal_compression
    if sys.platform == "linux":
        # Stops a statement when its client is gone; other systems do not support it.
        settings["client_connection_check_interval"] = "1s"
    lines = [f"{name} = {_quoted(value)}" for name, value in settings.items()]
    return "\n".join([f"include {_quoted(str(data / 'postgresql.conf'))}", *lines, ""])


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _memory_mb() -> int:
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        # The limit of a container; "max" when there is none.
        allowed = int(MEMORY_LIMIT_FILE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        allowed = physical
    return min(physical, allowed) // MEGABYTE


def hba_text() -> str:
    return f"local all {ROLE} peer map={ROLE}\n"


def ident_text(account: SystemAccount) -> str:
    """The account that owns the server may connect, and root if root started it."""
    names = [account.name, "root"] if account.is_borrowed else [account.name]
    return "".join(f'{ROLE} "{name}" {ROLE}\n' for name in names)
