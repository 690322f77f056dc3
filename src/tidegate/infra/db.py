"""Connections to PostgreSQL, and the translation of its errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol
from weakref import WeakSet

import asyncpg

from tidegate.core.clock import monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.infra import cluster_store
from tidegate.infra.pool import Pool

# A request waits no longer for a connection, a lock or a statement: it is refused, and may be tried again.
POOL_WAIT_S = 1.0
LOCK_WAIT_MS = 2_000
STATEMENT_TIMEOUT_MS = 5_000
IDLE_IN_TRANSACTION_MS = 10_000
CONNECT_TIMEOUT_S = 3.0
RETRY_AFTER_S = 1
# One NOTIFY per channel in this time: more would only disturb the listeners.
NOTIFY_EVERY_S = 0.02
LISTEN_AGAIN_S = 1.0
# Migrations grant this role only what the service needs; every connection of the service switches to it.
APP_ROLE = "tidegate_app"

# Settings that every pooler passes on.
_ANY_SESSION = {"application_name": "tidegate", "timezone": "UTC"}

Row = Mapping[str, Any]


class Tx(Protocol):
    """An open connection, inside a transaction unless a single statement is all that is run on it."""

    async def execute(self, query: str, *args: Any) -> str: ...
    async def fetch(self, query: str, *args: Any) -> list[Row]: ...
    async def fetchrow(self, query: str, *args: Any) -> Row | None: ...
    async def fetchval(self, query: str, *args: Any) -> Any: ...
    def cursor(self, query: str, *args: Any, prefetch: int | None = None) -> AsyncIterable[Row]: ...


# Temporary failures: down, starting, disk full, time-out, too many connections, read-only.
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server died during a statement; a migration has added to a row
    asyncpg.InvalidCachedStatementError,  # the same, in a transaction
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
    asyncpg.ReadOnlySQLTransactionError,
)


# After these the state of the connection is unknown.
_BROKEN = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
)

# All other errors of PostgreSQL: a missing table, role or privilege.
REFUSED = (asyncpg.PostgresError,)


class Database:
    def __init__(
        self,
        url: str,
        *,
        connections_max: int = 10,
        statement_timeout_ms: int | None = None,
        pool_wait_s: float | None = None,
        is_pooled: bool = False,
        direct_url: str | None = None,
    ) -> None:
        """`is_pooled`: behind a transaction pooler, which supports neither session settings nor prepared statements
        nor LISTEN; a direct address may be given for LISTEN.
        """
        self.url = url
        self._is_pooled = is_pooled
        self._direct_url = direct_url or (None if is_pooled else url)
        self._session = {
            **_ANY_SESSION,
            "role": APP_ROLE,
            "statement_timeout": str(statement_timeout_ms or STATEMENT_TIMEOUT_MS),
            "lock_timeout": str(LOCK_WAIT_MS),
            "idle_in_transaction_session_timeout": str(IDLE_IN_TRANSACTION_MS),
            # What waits for a lock must then see what its holder has written.
            "default_transaction_isolation": "read committed",
            # Compiling a statement takes longer than it saves.
            "jit": "off",
        }
        self._connections_max = connections_max
        self._pool_wait_s = POOL_WAIT_S if pool_wait_s is None else pool_wait_s
        self._pool = self._new_pool()
        # How many times a connection was lent.
        self.loans = 0
        # Whether it is a cluster (Citus): then a statement is about one business, so that one node does it.
        self.is_cluster, self._is_examined = False, False
        self._notified_at: dict[str, float] = {}
        self._notifying: dict[str, asyncio.Task[None]] = {}

    async def open(self) -> None:
        """Fails at once when the server cannot be reached."""
        self._pool = self._new_pool()
        self._pool.give_back(await self._pool.take(), is_sound=True)

    async def close(self) -> None:
        for task in list(self._notifying.values()):
            task.cancel()
        await self._pool.close()

    async def keep_open(self) -> None:
        """Until cancelled. Connects when a connection is first needed."""
        self._pool = self._new_pool()
        try:
            await asyncio.Event().wait()
        finally:
            await self.close()

    def _new_pool(self) -> Pool:
        return Pool(self._connect_and_watch, connections_max=self._connections_max, wait_s=self._pool_wait_s)

    async def _connect_and_watch(self) -> Any:
        connection = await self._connect()
        connection.add_log_listener(_note_warning)
        if not self._is_examined:
            self.is_cluster, self._is_examined = await cluster_store.is_cluster(connection), True
        return connection

    async def _connect(self) -> Any:
        if self._is_pooled:
            # Role, timeouts and jit are settings of the login; they are checked before the first request.
            return await asyncpg.connect(
                self.url, server_settings=_ANY_SESSION, statement_cache_size=0, timeout=CONNECT_TIMEOUT_S
            )
        return await self._connect_directly(self.url)

    async def _connect_directly(self, url: str) -> Any:
        return await asyncpg.connect(url, server_settings=self._session, timeout=CONNECT_TIMEOUT_S)

    def connection(self) -> AbstractAsyncContextManager[Tx]:
        """For one statement, which commits by itself."""
        self.loans += 1
        return _Loan(self._pool)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        connection: Any
        async with self.connection() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                yield connection
            except BaseException:
                await transaction.rollback()
                raise
            await _to_its_end(transaction.commit())

    def notify(self, channel: str) -> None:
        """Notifies the listeners of a channel, after the commit of the change.

        Not in the transaction of the change: NOTIFY serialises all commits of the server. A lost notification loses
        nothing, since listeners also poll.
        """
        if channel not in self._notifying:
            self._notifying[channel] = asyncio.get_running_loop().create_task(self._send_notify(channel))

    async def _send_notify(self, channel: str) -> None:
        await asyncio.sleep(max(self._notified_at.get(channel, 0.0) + NOTIFY_EVERY_S - monotonic_s(), 0))
        # A later commit sends another NOTIFY.
        del self._notifying[channel]
        self._notified_at[channel] = monotonic_s()
        with suppress(Unavailable):
            async with self.connection() as tx:
                await tx.execute(f"NOTIFY {channel}")

    async def notify_with(self, channel: str, payload: str) -> None:
        """At once, with less than 8,000 bytes of base64."""
        async with self.connection() as tx:
            await tx.execute(f"NOTIFY {channel}, '{payload}'")

    async def listen(self, channel: str, wake: Callable[[], None]) -> None:
        """As `listen_to`, for notifications that say nothing; some may have been missed before."""
        await self.listen_to(channel, lambda _: wake(), begin=wake)

    async def listen_to(
        self, channel: str, hear: Callable[[str], None], *, begin: Callable[[], None] = lambda: None
    ) -> None:
        """Until cancelled. On a connection of its own, since a listener cannot share one.

        Returns at once when there is only a pooler, which would accept LISTEN and never deliver a notification.
        """
        if self._direct_url is None:
            return
        while True:
            with suppress(*AWAY, *REFUSED):
                await self._listen(channel, hear, begin, self._direct_url)
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def _listen(self, channel: str, hear: Callable[[str], None], begin: Callable[[], None], url: str) -> None:
        connection = await self._connect_directly(url)
        is_lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: is_lost.set())
            await connection.add_listener(channel, lambda _, __, ___, payload: hear(payload))
            begin()
            await is_lost.wait()
        finally:
            connection.terminate()


class _Loan:
    """Takes a connection from the pool and gives it back."""

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
        # A query that is cancelled leaves its answer on the connection.
        is_sound = error is None or (isinstance(error, Exception) and not isinstance(error, _BROKEN))
        is_doubtful = self._connection in _doubtful
        self._pool.give_back(self._connection, is_sound=is_sound and not is_doubtful)
        if isinstance(error, AWAY) or is_doubtful or _is_of_a_lost_node(error):
            raise _unavailable() from error


# Connections whose last commit no standby may have; PostgreSQL calls it done, with a warning only.
_doubtful: WeakSet[Any] = WeakSet()


def _note_warning(connection: Any, message: Any) -> None:
    """asyncpg calls it before the statement returns."""
    if "synchronous replication" in (message.message or ""):
        _doubtful.add(connection)


async def _to_its_end(commit: Coroutine[Any, Any, None]) -> None:
    """asyncpg cancels a statement whose task is cancelled. Of a commit that waits for the standby PostgreSQL would then
    cancel the wait alone: others would see, and acknowledge, what no standby has.
    """
    task = asyncio.create_task(commit)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


class Contended(Exception):
    """A row that one of several writes needs is locked; nothing was written. Write each by itself."""


class StaleChange(Exception):
    """The row has changed since it was read; nothing was written. Read, decide and write again."""


# A node of a cluster names its shard's constraint, with the shard's number, and only in its words.
_NAMED_CONSTRAINT = re.compile(r'constraint "([a-z_0-9]+?)(?:_\d+)?"')


def constraint_of(error: asyncpg.PostgresError) -> str:
    """The name of the violated constraint; empty when the error is another one."""
    given: str | None = getattr(error, "constraint_name", None)
    if given:
        return given
    # Of a row that was copied to another node, the SQLSTATE is of no rule.
    is_of_a_rule = error.sqlstate[:2] == "23" or isinstance(error, asyncpg.InternalServerError)
    found = _NAMED_CONSTRAINT.search(f"{error.message} {error.detail}") if is_of_a_rule else None
    return found[1] if found else ""


@contextmanager
def naming(refusals: Mapping[str, type[Exception]]) -> Iterator[None]:
    """Turns a violated constraint, or an SQLSTATE, into its exception."""
    try:
        yield
    except asyncpg.PostgresError as error:
        for name in (constraint_of(error), str(error.sqlstate)):
            if name in refusals:
                raise refusals[name] from None
        raise


# Of Citus, with the SQLSTATE of an internal error. It keeps its connection to a node that was away: a statement finds
# it dead, and the next one has another. And its coordinator was killed during a statement.
_OF_A_LOST_NODE = ("connection marked as essential", "postmaster was shut down")


def _is_of_a_lost_node(error: BaseException | None) -> bool:
    return isinstance(error, asyncpg.InternalServerError) and any(words in str(error) for words in _OF_A_LOST_NODE)


def _unavailable() -> Unavailable:
    return Unavailable(f"the database is busy or down; retry after {RETRY_AFTER_S} s", retry_after_s=RETRY_AFTER_S)


async def connect(url: str) -> Any:
    """A connection outside the pool, with the rights of the URL's own user: for migrations and checks."""
    async with asyncio.timeout(CONNECT_TIMEOUT_S):
        return await asyncpg.connect(url, server_settings=_ANY_SESSION)
