"""The only way out: an HTTP client for addresses that strangers chose, and for whatever answers there.

It reaches no machine that the guard refuses, follows nobody elsewhere, and neither waits nor reads for long.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError
from yarl import URL

from tidegate.core.clock import monotonic_s
from tidegate.infra.address import WebUrl
from tidegate.infra.guard import Forbidden, Guard

TOTAL_S = 15.0
CONNECT_S = 5.0
# One look for all: a timer for each request costs nearly as much as the request.
LATE_LOOK_S = 0.25
BODY_BYTES_MAX = 16 * 1024
HEADER_BYTES_MAX = 8 * 1024
HEADERS_MAX = 64
# Shorter than most servers keep an idle connection, so that none closes at the moment it is used again.
KEEP_ALIVE_S = 1.5
# The text of an address is judged once; what its name stands for, at each connection.
JUDGED_MAX = 10_000
ROUTES_MAX = 1_000
USER_AGENT = "Tidegate-Webhooks/1"
# "Wait, there is more to come"; 101 is an answer.
_INTERIM = frozenset(range(100, 200)) - {101}
_BREAKS_A_LINE = re.compile(r"[\x00-\x20\x7f]")
_CONSTANT_HEADERS = f"User-Agent: {USER_AGENT}\r\nAccept: */*\r\nAccept-Encoding: identity"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. With an `error` there is no whole answer, though there may be a status."""

    status: int | None
    error: str | None
    body: bytes
    retry_after: str | None
    duration_ms: int


class Egress:
    """On aiohttp's connections, its pool of them and its parser, without its session.

    The session is for cookies, redirects, proxies and traces, none of which there are here. It took about three
    quarters of the CPU of a request.
    """

    def __init__(self, guard: Guard, *, trust: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._problem_in = lru_cache(JUDGED_MAX)(guard.problem_in)
        self._route_to = lru_cache(ROUTES_MAX)(_Route)
        self._trust = trust or _usual_trust()
        self._connector: aiohttp.TCPConnector | None = None
        self._patience = aiohttp.ClientTimeout(connect=CONNECT_S)
        # In the order in which they began, which is that in which they are late.
        self._under_way: dict[_Exchange, float] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        self._connector = aiohttp.TCPConnector(
            resolver=_GuardedResolver(self._guard),
            socket_factory=self._open_socket,
            ssl=self._trust,
            limit=0,  # Who sends decides how much at once.
            keepalive_timeout=KEEP_ALIVE_S,
        )
        watch = asyncio.create_task(self._end_the_late())
        try:
            async with self._connector:
                yield
        finally:
            watch.cancel()
            self._route_to.cache_clear()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Never raises for what the other side does."""
        assert self._connector is not None
        exchange = _Exchange()
        started = monotonic_s()
        self._under_way[exchange] = started + TOTAL_S
        error = None
        try:
            self._refuse(url)
            route = self._route_to(url)
            request = route.request_with(body, headers)
            await exchange.run(self._connector.connect(route.request, traces=[], timeout=self._patience), request)
        except (Forbidden, OSError, aiohttp.ClientError, HttpProcessingError, ValueError) as problem:
            error = _name_of(problem)
        finally:
            del self._under_way[exchange]
        duration_ms = round((monotonic_s() - started) * 1000)
        return Reply(exchange.status, error, bytes(exchange.body), exchange.retry_after, duration_ms)

    def _refuse(self, url: str) -> None:
        """What was good when it was saved may have become forbidden since."""
        problem = self._problem_in(WebUrl(url))
        if problem:
            raise Forbidden(problem)

    async def _end_the_late(self) -> None:
        while True:
            await asyncio.sleep(LATE_LOOK_S)
            now = monotonic_s()
            for exchange, ends_at in self._under_way.items():
                if ends_at > now:
                    break
                exchange.fail(TimeoutError())

    def _open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """The last look: this very address is dialled next."""
        family, kind, protocol, _, (host, port, *_) = address
        self._guard.refuse(ipaddress.ip_address(host.partition("%")[0]), port)
        return socket.socket(family, kind, protocol)


class _Route:
    """The way to an address: what every request to it begins with, and what aiohttp asks when it connects."""

    __slots__ = ("_beginning", "request")

    def __init__(self, url: str) -> None:
        parsed = URL(url, encoded=True)
        if parsed.scheme not in ("http", "https") or _BREAKS_A_LINE.search(url):
            raise aiohttp.InvalidURL(url)
        self.request = aiohttp.ClientRequest("POST", parsed, loop=asyncio.get_running_loop())
        first = f"POST {parsed.raw_path_qs} HTTP/1.1\r\nHost: {self.request.headers['Host']}"
        self._beginning = f"{first}\r\n{_CONSTANT_HEADERS}\r\n"

    def request_with(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        given = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if not given.count("\r") == given.count("\n") == len(headers):
            raise ValueError("a header must be one line")
        return f"{self._beginning}{given}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Exchange:
    """A request and its answer, which grows while it arrives, so that what came before a failure is kept."""

    __slots__ = ("_content", "_protocol", "body", "retry_after", "status")

    def __init__(self) -> None:
        self.status: int | None = None
        self.retry_after: str | None = None
        self.body = bytearray()
        self._protocol: ResponseHandler | None = None
        self._content: aiohttp.StreamReader | None = None

    async def run(self, connecting: Awaitable[Connection], request: bytes) -> None:
        try:
            connection = await connecting
        except TimeoutError as late:
            raise aiohttp.ConnectionTimeoutError from late
        try:
            is_whole = await self._talk(connection, request)
        except BaseException:
            connection.close()
            raise
        if is_whole:
            connection.release()
        else:
            connection.close()  # There may be no end of it.

    def fail(self, problem: Exception) -> None:
        """Whoever waits for the rest hears of it. While it connects, there are other limits."""
        if self._protocol is not None:
            self._protocol.set_exception(problem)
        if self._content is not None:
            self._content.set_exception(problem)

    async def _talk(self, connection: Connection, request: bytes) -> bool:
        """Says whether all of the answer has been read."""
        protocol = self._protocol = connection.protocol
        if protocol is None or protocol.transport is None:
            raise aiohttp.ServerDisconnectedError
        protocol.set_response_params(
            read_until_eof=True,
            auto_decompress=False,
            read_bufsize=BODY_BYTES_MAX,
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
            max_headers=HEADERS_MAX,
        )
        protocol.transport.write(request)
        message, content = await protocol.read()
        while message.code in _INTERIM:
            message, content = await protocol.read()
        self._content = content
        self.status = message.code
        self.retry_after = message.headers.get("Retry-After")
        while not content.at_eof() and len(self.body) < BODY_BYTES_MAX:
            self.body += await content.read(BODY_BYTES_MAX - len(self.body))
        return content.at_eof()


class _GuardedResolver(AbstractResolver):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._guard.resolve(host, port)
        if not found:
            raise OSError(f"{host} has no address")
        return [
            ResolveResult(
                hostname=host,
                host=str(ip),
                port=port,
                family=socket.AF_INET if ip.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for ip in found
        ]

    async def close(self) -> None:
        """Nothing is held."""


def _usual_trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


# In this order: the special before the general.
_NAMES: tuple[tuple[type[Exception], str], ...] = (
    (Forbidden, "address_refused"),
    (aiohttp.ClientSSLError, "tls_failed"),
    (aiohttp.ClientConnectorDNSError, "name_not_found"),
    (aiohttp.ConnectionTimeoutError, "connect_timeout"),
    (TimeoutError, "timeout"),
    (aiohttp.ClientConnectorError, "connect_failed"),
    (aiohttp.ServerDisconnectedError, "connection_lost"),
    (aiohttp.ClientOSError, "connection_lost"),
    (aiohttp.ClientPayloadError, "connection_lost"),
    (aiohttp.InvalidURL, "address_refused"),
    (aiohttp.ClientError, "bad_response"),
    (HttpProcessingError, "bad_response"),
    (OSError, "connect_failed"),
    (ValueError, "bad_response"),
)
ERRORS = frozenset(name for _, name in _NAMES)


def _name_of(problem: Exception) -> str:
    causes = _with_causes(problem)
    return next(name for kind, name in _NAMES if any(isinstance(cause, kind) for cause in causes))


def _with_causes(problem: BaseException) -> list[BaseException]:
    """A refusal of ours may come back wrapped in somebody else's error."""
    inner = getattr(problem, "os_error", None) or problem.__cause__
    return [problem, *(_with_causes(inner) if inner is not None else ())]
