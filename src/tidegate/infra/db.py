"""Connections to PostgreSQL, and what its failures mean to a caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

import asyncpg

from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.infra.pool import Pool

# A request waits no longer for a connection or a lock: it is refused, and may be tried again.
POOL_WAIT_S = 1.0
LOCK_WAIT_MS = 2_000
CONNECT_TIMEOUT_S = 3.0
RETRY_AFTER_S = 1
# One ring for all the news of this while: more would only keep the listeners from their work.
RING_EVERY_S = 0.02
LISTEN_AGAIN_S = 1.0
# Migrations give this role just what the running service needs; every connection of the service drops to it.
APP_ROLE = "tidegate_app"

# What every pooler passes on.
_ANY_SESSION = {"application_name": "tidegate", "timezone": "UTC"}

Row = Mapping[str, Any]


class Tx(Protocol):
    """An open connection, inside a transaction unless a single statement is all that is run on it."""

    async def execute(self, query: str, *args: Any) -> str: ...
    async def fetch(self, query: str, *args: Any) -> list[Row]: ...
    async def fetchrow(self, query: str, *args: Any) -> Row | None: ...
    async def fetchval(self, query: str, *args: Any) -> Any: ...
    def cursor(self, query: str, *args: Any, prefetch: int | None = None) -> AsyncIterable[Row]: ...


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


# After these nobody knows what the connection would say next.
_BROKEN = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
)

# Anything else PostgreSQL says no with: a missing table, role or right.
REFUSED = (asyncpg.PostgresError,)


class Database:
    def __init__(
        self,
        url: str,
        *,
        connections_max: int = 10,
        statement_timeout_ms: int = 5_000,
        pool_wait_s: float | None = None,
        is_pooled: bool = False,
        direct_url: str | None = None,
    ) -> None:
        """`is_pooled`: a pooler stands between, and gives another session to each transaction. It knows neither the
        settings of a session nor prepared statements nor LISTEN; for that there may be a direct address as well.
        """
        self.url = url
        self._is_pooled = is_pooled
        self._direct_url = direct_url or (None if is_pooled else url)
        self._session = {
            **_ANY_SESSION,
            "role": APP_ROLE,
            "statement_timeout": str(statement_timeout_ms),
            "lock_timeout": str(LOCK_WAIT_MS),
            "idle_in_transaction_session_timeout": "10000",
        }
        self._connections_max = connections_max
        self._pool_wait_s = POOL_WAIT_S if pool_wait_s is None else pool_wait_s
        self._pool = self._new_pool()
        self._rung_at: dict[str, float] = {}
        self._ringing: dict[str, asyncio.Task[None]] = {}

    async def open(self) -> None:
        """Says at once when nothing can be reached there."""
        self._pool = self._new_pool()
        self._pool.give_back(await self._pool.take(), is_sound=True)

    async def close(self) -> None:
        for ringing in list(self._ringing.values()):
            ringing.cancel()
        await self._pool.close()

    def _new_pool(self) -> Pool:
        return Pool(self._connect, connections_max=self._connections_max, wait_s=self._pool_wait_s)

    async def _connect(self) -> Any:
        if self._is_pooled:
            # Role and timeouts are settings of the login; whether they are is checked before anybody is served.
            return await asyncpg.connect(
                self.url, server_settings=_ANY_SESSION, statement_cache_size=0, timeout=CONNECT_TIMEOUT_S
            )
        return await self._connect_directly(self.url)

    async def _connect_directly(self, url: str) -> Any:
        return await asyncpg.connect(url, server_settings=self._session, timeout=CONNECT_TIMEOUT_S)

    def connection(self) -> AbstractAsyncContextManager[Tx]:
        """For one statement, which commits by itself."""
        return _Loan(self._pool)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        connection: Any
        async with _Loan(self._pool) as connection, connection.transaction():
            yield connection

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
        """Until cancelled. On a connection of its own, since a listener needs one that nobody shares.

        At once when there is only a pooler, which would take LISTEN and never pass on any news.
        """
        if self._direct_url is None:
            return
        while True:
            with suppress(*AWAY, *REFUSED):
                await self._listen(channel, wake, self._direct_url)
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def _listen(self, channel: str, wake: Callable[[], None], url: str) -> None:
        connection = await self._connect_directly(url)
        is_lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: is_lost.set())
            await connection.add_listener(channel, lambda *_: wake())
            wake()  # There may have been news while nobody listened.
            await is_lost.wait()
        finally:
            connection.terminate()


class _Loan:
    """A connection for as long as it is needed."""

    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Tx:
        try:
            self._connection = await self._pool.take()
        except AWAY as error:
            raise _unavailable() from error
        tx: Tx = self._connection
        return tx

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        # Whoever is cancelled in the middle of a question leaves its answer on the wire.
        is_sound = error is None or (isinstance(error, Exception) and not isinstance(error, _BROKEN))
        self._pool.give_back(self._connection, is_sound=is_sound)
        if isinstance(error, AWAY):
            raise _unavailable() from error


class StaleChange(Exception):
    """What was decided on is not what is there any more; nothing was written. Read, decide and write again."""


@contextmanager
def naming(refusals: Mapping[str, type[Exception]]) -> Iterator[None]:
    """Turns a broken constraint, or an SQLSTATE, into the error of that name."""
    try:
        yield
    except asyncpg.PostgresError as error:
        for name in (getattr(error, "constraint_name", None) or "", str(error.sqlstate)):
            if name in refusals:
                raise refusals[name] from None
        raise


def _unavailable() -> Unavailable:
    return Unavailable("the database is busy or away; try again", retry_after_s=RETRY_AFTER_S)


async def connect(url: str) -> Any:
    """A connection outside the pool, with the rights of the URL's own user: for migrations and checks."""
    async with asyncio.timeout(CONNECT_TIMEOUT_S):
        return await asyncpg.connect(url, server_settings=_ANY_SESSION)
