"""The only way out: an HTTP client for addresses that strangers chose, and for whatever answers there.

It reaches no machine that the guard refuses, follows nobody elsewhere, and neither waits nor reads for long.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from tidegate.core.clock import monotonic_s
from tidegate.infra.address import WebUrl
from tidegate.infra.guard import Forbidden, Guard

TOTAL_S = 15.0
CONNECT_S = 5.0
BODY_BYTES_MAX = 16 * 1024
HEADER_BYTES_MAX = 8 * 1024
HEADERS_MAX = 64
# Shorter than most servers keep an idle connection, so that none closes at the moment it is used again.
KEEP_ALIVE_S = 1.5
# The text of an address is judged once; what its name stands for, at each connection.
JUDGED_MAX = 10_000
USER_AGENT = "Tidegate-Webhooks/1"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. With an `error` there is no whole answer, though there may be a status."""

    status: int | None
    error: str | None
    body: bytes
    retry_after: str | None
    duration_ms: int


class Egress:
    def __init__(self, guard: Guard, *, trust: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._problem_in = lru_cache(JUDGED_MAX)(guard.problem_in)
        self._trust = trust or _usual_trust()
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        connector = aiohttp.TCPConnector(
            resolver=_GuardedResolver(self._guard),
            socket_factory=self._open_socket,
            ssl=self._trust,
            limit=0,  # Who sends decides how much at once.
            keepalive_timeout=KEEP_ALIVE_S,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=TOTAL_S, connect=CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            read_bufsize=BODY_BYTES_MAX,
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
            max_headers=HEADERS_MAX,
            headers={"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"},
        )
        async with self._session:
            yield

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Never raises for what the other side does."""
        assert self._session is not None
        answer = _Answer()
        started = monotonic_s()
        error = None
        try:
            self._refuse(url)
            await self._exchange(answer, self._session, url, body, headers)
        except (Forbidden, OSError, aiohttp.ClientError, ValueError) as problem:
            error = _name_of(problem)
        duration_ms = round((monotonic_s() - started) * 1000)
        return Reply(answer.status, error, bytes(answer.body), answer.retry_after, duration_ms)

    def _refuse(self, url: str) -> None:
        """What was good when it was saved may have become forbidden since."""
        problem = self._problem_in(WebUrl(url))
        if problem:
            raise Forbidden(problem)

    async def _exchange(
        self, answer: _Answer, session: aiohttp.ClientSession, url: str, body: bytes, headers: Mapping[str, str]
    ) -> None:
        sending = session.post(URL(url, encoded=True), data=body, headers=headers, allow_redirects=False)
        async with sending as response:
            answer.status = response.status
            answer.retry_after = response.headers.get("Retry-After")
            while not response.content.at_eof() and len(answer.body) < BODY_BYTES_MAX:
                answer.body += await response.content.read(BODY_BYTES_MAX - len(answer.body))
            if not response.content.at_eof():
                response.close()  # There may be no end of it.

    def _open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """The last look: this very address is dialled next."""
        family, kind, protocol, _, (host, *_) = address
        self._guard.refuse(ipaddress.ip_address(host.partition("%")[0]))
        return socket.socket(family, kind, protocol)


class _Answer:
    """Grows while it arrives, so that what came before a failure is kept."""

    __slots__ = ("body", "retry_after", "status")

    def __init__(self) -> None:
        self.status: int | None = None
        self.retry_after: str | None = None
        self.body = bytearray()


class _GuardedResolver(AbstractResolver):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._guard.resolve(host)
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
