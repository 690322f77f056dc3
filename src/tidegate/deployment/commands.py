"""Prepares a database, and refuses the wrong one."""

from __future__ import annotations

from tidegate.core.ids import Mode
from tidegate.deployment import cluster, store
from tidegate.deployment.store import Deployment
from tidegate.infra import db as database
from tidegate.infra import migrate
from tidegate.infra.db import APP_ROLE, Database


class WrongDatabase(Exception):
    """The message says what to do."""


async def prepare(url: str, mode: Mode) -> list[str]:
    """Brings the schema up to date, on every node of a cluster, and fixes the mode. Returns what was done."""
    done: list[str] = []
    await migrate.migrate(url, on_applied=lambda migration: done.append(migration.name))
    connection = await database.connect(url)
    try:
        async with connection.transaction():
            done += await cluster.distribute(connection)
        await store.claim(connection, mode)
        _refuse_other_mode(await store.find(connection), mode)
    finally:
        await connection.close()
    return done


async def check(db: Database, mode: Mode) -> Deployment:
    """Run by every process before it serves requests."""
    async with db.connection() as tx:
        _refuse_other_rights(await store.get_session(tx))
        version = await migrate.applied_version(tx)
        if version < migrate.latest_version():
            raise WrongDatabase(
                f"the database is at migration {version} and this program needs {migrate.latest_version()}: "
                "run `tidegate migrate` first"
            )
        if await migrate.has_other_history(tx):
            raise WrongDatabase(
                "this database was built by migrations that this program does not have: begin with an empty database "
                "(for the sandbox of `make run`: `make clean`)"
            )
        return _refuse_other_mode(await store.find(tx), mode)


def _refuse_other_rights(session: store.Session) -> None:
    """Behind a pooler, these come from the login; elsewhere the service sets them itself."""
    is_as_needed = session.role == APP_ROLE and session.isolation == "read committed" and session.jit == "off"
    if not is_as_needed or session.statement_timeout == "0":
        raise WrongDatabase(
            f"the login of DATABASE_URL works as {session.role} with statement_timeout = {session.statement_timeout}, "
            f"default_transaction_isolation = '{session.isolation}' and jit = {session.jit}. "
            f"Behind a pooler these are set for the login: GRANT {APP_ROLE} TO login; "
            f"ALTER ROLE login SET role = '{APP_ROLE}'; "
            "ALTER ROLE login SET statement_timeout = '5s'; ALTER ROLE login SET lock_timeout = '2s'; "
            "ALTER ROLE login SET idle_in_transaction_session_timeout = '10s'; ALTER ROLE login SET jit = off; "
            "ALTER ROLE login SET default_transaction_isolation = 'read committed'"
        )


def _refuse_other_mode(found: Deployment | None, mode: Mode) -> Deployment:
    if found is None:
        raise WrongDatabase("the database has no mode yet: run `tidegate migrate` first")
    if found.mode is not mode:
        raise WrongDatabase(
            f"this database belongs to {found.mode.value} mode and can never serve {mode.value} mode: "
            "give each its own DATABASE_URL"
        )
    return found
