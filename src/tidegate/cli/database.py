"""The database of a command: that of DATABASE_URL, or the embedded one."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tidegate.cli.console import err, fail
from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.deployment import commands as deployment
from tidegate.infra import db as database
from tidegate.infra.db import Database
from tidegate.infra.embedded import EmbeddedPostgres, EmbeddedPostgresFailed
from tidegate.infra.supervisor import LOOK_EVERY_S
from tidegate.infra.vault import key_kept_in
from tidegate.settings import Settings

T = TypeVar("T")
KEY_FILE = "encryption-key"
EMBEDDED_PREPARED_WITHIN_S = 60.0


@contextmanager
def with_database(
    settings: Settings, *, may_create: bool = False
) -> Iterator[tuple[Settings, EmbeddedPostgres | None]]:
    """Settings with a working DATABASE_URL. The embedded PostgreSQL is started unless another process runs it.

    Created only for a command that asks for it: any other, run in the wrong folder, would report on an empty database.
    """
    if settings.database_url is not None:
        yield settings, None
        return
    postgres = EmbeddedPostgres(settings.home, bin_dir=settings.postgres_bin)
    if not may_create and not postgres.has_data():
        fail(
            f"There is no sandbox here: {settings.home} holds no database. Start one with `make run`, or set "
            "TIDEGATE_HOME to the folder of another sandbox, or DATABASE_URL to a PostgreSQL of your own."
        )
    postgres.start()
    try:
        yield replace(settings, database_url=postgres.url()), postgres
    finally:
        postgres.stop()


def with_encryption_key(settings: Settings) -> Settings:
    """The sandbox generates and stores its own; live mode does not start without one."""
    if settings.encryption_keys:
        return settings
    return replace(settings, encryption_keys=(key_kept_in(settings.home / KEY_FILE),))


def known_encryption_keys(settings: Settings) -> tuple[bytes, ...]:
    """Those there are; none is generated."""
    path = settings.home / KEY_FILE
    return settings.encryption_keys or ((key_kept_in(path),) if path.exists() else ())


def prepare(settings: Settings) -> list[str]:
    """Says what was done."""
    return run_async(_prepare(settings))


async def _prepare(settings: Settings) -> list[str]:
    try:
        return await deployment.prepare(settings.direct_url or settings.database_url or "", settings.mode)
    except database.AWAY as error:
        where = urlsplit(settings.database_url or "").hostname or "the local socket"
        raise Unavailable(f"the database at {where} cannot be reached: {error}") from None


def prepare_embedded(settings: Settings, postgres: EmbeddedPostgres | None) -> None:
    """Where there is an embedded PostgreSQL. One that ends meanwhile is started again, as later while its processes
    run."""
    ends_at = monotonic_s() + EMBEDDED_PREPARED_WITHIN_S
    while postgres is not None:
        try:
            prepare(settings)
        except Unavailable:
            if monotonic_s() > ends_at:
                raise
            mend(postgres)
            time.sleep(LOOK_EVERY_S)
        else:
            return


def check(settings: Settings) -> None:
    """Reports, before any process starts, why this database cannot be served. A database that is away is not an error:
    the processes wait for it."""
    with suppress(Unavailable):
        run_async(_on_database(settings, lambda db: deployment.check(db, settings.mode)))


def mend(postgres: EmbeddedPostgres | None) -> None:
    """Restarts the embedded PostgreSQL after a crash. On the main thread: the server ends with its thread."""
    if postgres is not None and not postgres.is_running():
        err.print("[yellow]PostgreSQL has stopped; starting it again.[/]")
        with suppress(EmbeddedPostgresFailed):
            postgres.start()


def run_on_database(settings: Settings, command: Callable[[Database], Awaitable[T]]) -> T:
    """Opens the database for one command. The embedded one is migrated first."""
    with with_database(settings) as (ready, postgres):
        prepare_embedded(ready, postgres)
        return run_async(_on_database(ready.without_pooler, command))


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Like asyncio.run, but SIGTERM cancels as Ctrl-C does: an exception thrown by a signal handler into the C code of
    the database driver can crash the process."""
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(work)  # Only the main thread handles signals.
    before = signal.getsignal(signal.SIGTERM)
    try:
        return asyncio.run(_cancelled_by_sigterm(work))
    except asyncio.CancelledError:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
    signal.raise_signal(signal.SIGTERM)
    raise SystemExit


async def _cancelled_by_sigterm(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


async def _on_database(settings: Settings, command: Callable[[Database], Awaitable[T]]) -> T:
    db = Database(settings.database_url or "", connections_max=2, is_pooled=settings.is_pooled)
    try:
        await db.open()
    except database.AWAY as error:
        raise Unavailable(f"the database cannot be reached: {error}") from None
    try:
        return await command(db)
    finally:
        await db.close()
