"""A restored copy of a PostgreSQL database, served to this process only and removed afterwards.

It never touches the original: no network, no archive, no standby, a socket in a folder of its own.
"""

import contextlib
import shlex
import shutil
import subprocess
import tempfile
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tidegate.infra.embedded import binaries, config
from tidegate.infra.embedded import os_account as accounts
from tidegate.infra.embedded.os_account import EmbeddedPostgresFailed
from tidegate.infra.embedded.server import LOG_TAIL_BYTES, STOP_SIGNALS

# On the command line, over what the copy's own files say.
SETTINGS = {
    "listen_addresses": "",
    "archive_mode": "off",
    "synchronous_standby_names": "",
    "primary_conninfo": "",
    "recovery_target_action": "promote",
    # Refuses connections until the copy is complete, and needs no other setting of the original.
    "hot_standby": "off",
    "shared_preload_libraries": "",
    "ssl": "off",
    "logging_collector": "off",
    # Nothing of it is kept.
    "fsync": "off",
}
PLACE = "{place}"


@dataclass(frozen=True)
class Replay:
    """WAL that was archived as files, and up to which moment it is replayed over the backup; None: all of it."""

    archive: Path
    until: datetime | None

    def settings(self) -> dict[str, str]:
        archive = shlex.quote(str(self.archive.resolve())).replace("%", "%%")
        target = {} if self.until is None else {"recovery_target_time": self.until.isoformat(" ")}
        return {"restore_command": f'cp {archive}/%f "%p"', **target}


@dataclass(frozen=True)
class RestoredPostgres:
    _process: subprocess.Popen[bytes]
    _sockets: Path
    _log: Path

    def url(self, *, user: str, database: str) -> str:
        quoted = (urllib.parse.quote(text, safe="") for text in (user, database))
        return "postgresql://{}@/{}?host={}&port={}".format(*quoted, self._sockets, config.PORT)

    def failure(self) -> str | None:
        """Why it has ended."""
        if self._process.poll() is None:
            return None
        return f"PostgreSQL does not start from this backup:\n{_tail(self._log)}"


@contextlib.contextmanager
def restored(
    command: Sequence[str], *, bin_dir: Path | None, timeout_s: float, replay: Replay | None = None
) -> Iterator[RestoredPostgres]:
    """`command` fills the folder that stands for `{place}` in it; it may be read before PostgreSQL is ready."""
    found = binaries.find(bin_dir)
    account = accounts.server_account(Path(tempfile.gettempdir()))
    # Directly below the folder for temporary files: the account can enter no folder of another one.
    place = Path(tempfile.mkdtemp(prefix="tidegate-restored-"))
    try:
        data, run = place / "data", place / "run"
        for folder in (place, data, run):
            accounts.claim_folder(folder, account)
        _restore([word.replace(PLACE, str(data)) for word in command], account, run / "restore.log", timeout_s)
        _check_version(data, found)
        reachable = binaries.reachable(found, account)
        more = replay.settings() if replay else {}
        if replay:
            accounts.write_private(data / "recovery.signal", "", account)
        with (run / "postgres.log").open("wb") as log:
            process = account.spawn(_server_command(reachable.folder, data, run, account, more), output=log)
        try:
            yield RestoredPostgres(process, run, run / "postgres.log")
        finally:
            _stop(process)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _restore(command: list[str], account: accounts.SystemAccount, log: Path, timeout_s: float) -> None:
    with log.open("wb") as output:
        try:
            process = account.spawn(command, output=output)
        except OSError as error:
            raise EmbeddedPostgresFailed(f"{command[0]} cannot be run: {error.strerror}") from error
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise EmbeddedPostgresFailed(f"The restore took longer than {timeout_s / 60:.0f} minutes.") from None
    if code:
        raise EmbeddedPostgresFailed(f"The restore failed with {code}:\n{_tail(log)}")


def _check_version(data: Path, found: binaries.Binaries) -> None:
    try:
        major = (data / "PG_VERSION").read_text().strip()
    except OSError:
        raise EmbeddedPostgresFailed(
            "What was restored is no data folder of PostgreSQL: it has no file PG_VERSION."
        ) from None
    if major != str(found.major):
        raise EmbeddedPostgresFailed(
            f"The backup is of PostgreSQL {major}, and the programs in {found.folder} are of {found.major}: set "
            f"TIDEGATE_POSTGRES_BIN, such as /usr/lib/postgresql/{major}/bin."
        )


def _server_command(
    programs: Path, data: Path, run: Path, account: accounts.SystemAccount, more: dict[str, str]
) -> list[str | Path]:
    # A lock of the original's running server is copied with its files.
    (data / "postmaster.pid").unlink(missing_ok=True)
    files = {
        "config_file": run / "postgresql.conf",
        "hba_file": run / "pg_hba.conf",
        "ident_file": run / "pg_ident.conf",
    }
    accounts.write_private(files["config_file"], "", account)
    # Only this account may enter the folder of the socket.
    accounts.write_private(files["hba_file"], "local all all trust\n", account)
    accounts.write_private(files["ident_file"], "", account)
    settings = {**SETTINGS, **more, "unix_socket_directories": str(run), "port": str(config.PORT)}
    options = [f"{name}={value}" for name, value in {**files, **settings}.items()]
    return [programs / "postgres", "-D", data, *(word for option in options for word in ("-c", option))]


def _stop(process: subprocess.Popen[bytes]) -> None:
    for signum, timeout_s in STOP_SIGNALS:
        process.send_signal(signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout_s)
            return


def _tail(log: Path) -> str:
    return log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace").strip()
