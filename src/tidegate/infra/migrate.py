"""Forward-only migrations: numbered SQL files, each applied once, in its own transaction."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import asyncpg

from tidegate.infra import db

# An arbitrary number, the same in every process.
_LOCK_KEY = 7_236_401_115
_LOCK_TIMEOUT = "2s"
_TRIES = 5
_PAUSE_S = 1.0
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


class MigrationFailed(Exception):
    """The message says what to do."""


def migrations() -> list[Migration]:
    return sorted(_read(), key=lambda migration: migration.version)


def _read() -> Iterator[Migration]:
    for entry in files("tidegate").joinpath("migrations").iterdir():
        if match := _NAME.fullmatch(entry.name):
            yield Migration(int(match[1]), entry.name, entry.read_text(encoding="utf-8"))


def latest_version() -> int:
    return migrations()[-1].version


async def applied_version(connection: db.Tx) -> int:
    """0 for a database that was never migrated."""
    if await connection.fetchval("SELECT to_regclass('migration')") is None:
        return 0
    return int(await connection.fetchval("SELECT coalesce(max(version), 0) FROM migration"))


async def has_other_history(connection: db.Tx) -> bool:
    """Whether it was built by other files of the same numbers. Later numbers are those of a newer release."""
    rows = await connection.fetch("SELECT version, checksum FROM migration")
    applied = {row["version"]: row["checksum"] for row in rows}
    return any(applied.get(known.version, known.checksum) != known.checksum for known in migrations())


async def migrate(url: str, *, on_applied: Callable[[Migration], None] = lambda _: None) -> int:
    """Applies what is missing and returns how many. Safe to run from several processes at once."""
    connection = await db.connect(url)
    try:
        applied = 0
        for migration in migrations():
            if await _apply_with_patience(connection, migration):
                applied += 1
                on_applied(migration)
        return applied
    finally:
        await connection.close()


async def _apply_with_patience(connection: Any, migration: Migration) -> bool:
    """A migration must not queue behind a long transaction and block all traffic: it times out and tries again, as it
    does where it and a running process waited for each other."""
    for attempt in range(1, _TRIES + 1):
        try:
            return await _apply(connection, migration)
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            if attempt == _TRIES:
                raise MigrationFailed(
                    f"{migration.name}: a table stayed locked by another session; end it and run again"
                ) from None
            await asyncio.sleep(_PAUSE_S)
        except asyncpg.InsufficientPrivilegeError as error:
            denied, _, _ = str(error).partition("\n")
            raise MigrationFailed(
                f"{migration.name}: {denied}. The login of DATABASE_URL must own the database and be allowed to create "
                "roles: ALTER ROLE … CREATEROLE, or an owner made by `createuser --createrole`"
            ) from None
    raise AssertionError("unreachable")  # pragma: no cover


async def _apply(connection: Any, migration: Migration) -> bool:
    async with connection.transaction():
        # The lock ends with the transaction, so it also works through a transaction pooler.
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK_KEY)
        await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        checksum = await _applied_checksum(connection, migration)
        if checksum is not None:
            if checksum != migration.checksum:
                raise MigrationFailed(
                    f"{migration.name} differs from the file that this database was built with: "
                    "put the change into a new migration, or begin with an empty database"
                )
            return False
        await connection.execute(migration.sql)
        await connection.execute(
            "INSERT INTO migration (version, name, checksum) VALUES ($1, $2, $3)",
            migration.version,
            migration.name,
            migration.checksum,
        )
        return True


async def _applied_checksum(connection: Any, migration: Migration) -> str | None:
    if await applied_version(connection) == 0:
        return None
    checksum: str | None = await connection.fetchval(
        "SELECT checksum FROM migration WHERE version = $1", migration.version
    )
    return checksum
