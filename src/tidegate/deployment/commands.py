"""Making a database ours, and refusing one that is not."""

from __future__ import annotations

from tidegate.core.ids import Mode
from tidegate.deployment import store
from tidegate.deployment.store import Deployment
from tidegate.infra import db as database
from tidegate.infra import migrate
from tidegate.infra.db import Database


class WrongDatabase(Exception):
    """The message says what to do."""


async def prepare(url: str, mode: Mode) -> list[migrate.Migration]:
    """Brings the schema up to date and settles the mode. Gives what was applied."""
    applied: list[migrate.Migration] = []
    await migrate.migrate(url, on_applied=applied.append)
    connection = await database.connect(url)
    try:
        await store.claim(connection, mode)
        _refuse_other_mode(await store.find(connection), mode)
    finally:
        await connection.close()
    return applied


async def check(db: Database, mode: Mode) -> Deployment:
    """What a process does before it serves anybody."""
    async with db.connection() as tx:
        version = await migrate.applied_version(tx)
        if version < migrate.latest_version():
            raise WrongDatabase(
                f"the database is at migration {version} and this program needs {migrate.latest_version()}: "
                "run `tidegate migrate` first"
            )
        return _refuse_other_mode(await store.find(tx), mode)


def _refuse_other_mode(found: Deployment | None, mode: Mode) -> Deployment:
    if found is None:
        raise WrongDatabase("the database has no mode yet: run `tidegate migrate` first")
    if found.mode is not mode:
        raise WrongDatabase(
            f"this database belongs to {found.mode.value} mode and can never serve {mode.value} mode: "
            "give each its own DATABASE_URL"
        )
    return found
