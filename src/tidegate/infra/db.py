"""Connections to PostgreSQL, and what its failures mean to a caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

import asyncpg

from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Unavailable

POOL_WAIT_S = 1.0
CONNECT_TIMEOUT_S = 3.0
RETRY_AFTER_S = 1
# One ring for all the news of this while: more would only keep the listeners from their work.
RING_EVERY_S = 0.02
LISTEN_AGAIN_S = 1.0
# Migrations give this role just what the running service needs; every connection of the service drops to it.
APP_ROLE = "tidegate_app"

Row = Mapping[str, Any]


class Tx(Protocol):
    """An open connection, inside a transaction unless a single statement is all that is run on it."""

    async def execute(self, query: str, *args: Any) -> str: ...
    async def fetch(self, query: str, *args: Any) -> list[Row]: ...
    async def fetchrow(self, query: str, *args: Any) -> Row | None: ...
    async def fetchval(self, query: str, *args: Any) -> Any: ...
    def cursor(self, query: str, *args: Any, prefetch: int | None = None) -> AsyncIterable[Row]: ...


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    def get_reset_query(self) -> str:
        """Nothing here sets session state, so giving a connection back needs no round trip."""
        return ""


# "Not now" in PostgreSQL's words: down, starting, full, out of time or of connections, or read-only.
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection whose server died at a bad moment
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
    asyncpg.ReadOnlySQLTransactionError,
)


# Anything else PostgreSQL says no with: a missing table, role or right.
REFUSED = (asyncpg.PostgresError,)


class Database:
    def __init__(self, url: str, *, connections_max: int = 10, statement_timeout_ms: int = 5_000) -> None:
        self.url = url
        self._connections_max = connections_max
        self._session = {
            "application_name": "tidegate",
            "role": APP_ROLE,
            "timezone": "UTC",
            "statement_timeout": str(statement_timeout_ms),
            "lock_timeout": "2000",
            "idle_in_transaction_session_timeout": "10000",
        }
        self._pool: Any = None
        self._rung_at: dict[str, float] = {}
        self._ringing: dict[str, asyncio.Task[None]] = {}

    async def open(self) -> None:
        self._pool = await asyncpg.create_pool(
            self.url,
            min_size=1,
            max_size=self._connections_max,
            connection_class=_Connection,
            server_settings=self._session,
            timeout=CONNECT_TIMEOUT_S,
            max_inactive_connection_lifetime=0,
        )

    async def close(self) -> None:
        for ringing in list(self._ringing.values()):
            ringing.cancel()
        if self._pool is not None:
            await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Tx]:
        """For one statement, which commits by itself."""
        try:
            async with self._pool.acquire(timeout=POOL_WAIT_S) as connection:
                yield connection
        except AWAY as error:
            raise _unavailable() from error

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        try:
            async with self._pool.acquire(timeout=POOL_WAIT_S) as connection, connection.transaction():
                yield connection
        except AWAY as error:
            raise _unavailable() from error

    def ring(self, channel: str) -> None:
        """Tells whoever listens that there is news, which must be committed already.

        Not in the transaction of the news: a NOTIFY makes all commits of the server wait for one another. Nothing is
        lost when a ring is, since listeners also look by themselves now and then.
        """
        if channel not in self._ringing:
            self._ringing[channel] = asyncio.get_running_loop().create_task(self._ring(channel))

    async def _ring(self, channel: str) -> None:
        await asyncio.sleep(max(self._rung_at.get(channel, 0.0) + RING_EVERY_S - monotonic_s(), 0))
        # What is committed from here on rings again.
        del self._ringing[channel]
        self._rung_at[channel] = monotonic_s()
        with suppress(Unavailable):
            async with self.connection() as tx:
                await tx.execute(f"NOTIFY {channel}")

    async def listen(self, channel: str, wake: Callable[[], None]) -> None:
        """Until cancelled. On a connection of its own, since a listener needs one that nobody shares."""
        while True:
            with suppress(*AWAY, *REFUSED):  # A pooler may not know LISTEN at all.
                await self._listen(channel, wake)
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def _listen(self, channel: str, wake: Callable[[], None]) -> None:
        connection = await asyncpg.connect(self.url, server_settings=self._session, timeout=CONNECT_TIMEOUT_S)
        is_lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: is_lost.set())
            await connection.add_listener(channel, lambda *_: wake())
            wake()  # There may have been news while nobody listened.
            await is_lost.wait()
        finally:
            connection.terminate()


class StaleChange(Exception):
    """What was decided on is not what is there any more; nothing was written. Read, decide and write again."""


@contextmanager
def naming(refusals: Mapping[str, type[Exception]]) -> Iterator[None]:
    """Turns a broken constraint, or an SQLSTATE of our own, into the error of that name."""
    try:
        yield
    except asyncpg.PostgresError as error:
        name = getattr(error, "constraint_name", None) or error.sqlstate
        if name in refusals:
            raise refusals[name] from None
        raise


def _unavailable() -> Unavailable:
    return Unavailable("the database is busy or away; try again", retry_after_s=RETRY_AFTER_S)


async def connect(url: str) -> Any:
    """A connection outside the pool, with the rights of the URL's own user: for migrations and checks."""
    async with asyncio.timeout(CONNECT_TIMEOUT_S):
        return await asyncpg.connect(url, server_settings={"application_name": "tidegate", "timezone": "UTC"})
