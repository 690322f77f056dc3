"""The only way out: an HTTP client for addresses that strangers chose, and for whatever answers there.

It reaches no machine that the guard refuses, follows no redirect, and neither waits nor reads for long.
"""

from __future__ import annotations

import ipaddress
import re
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
# Of what is kept of an answer's headers.
HEADERS_KEPT_BYTES_MAX = 4 * 1024
# Shorter than most servers keep an idle connection, so that none closes at the moment it is used again.
KEEP_ALIVE_S = 1.5
# The text of an address is judged once; what its name stands for, at each connection.
JUDGED_MAX = 10_000
USER_AGENT = "Tidegate-Webhooks/1"
_HEADERS = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
_BREAKS_A_LINE = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """What came back. With an `error` there is no whole answer, though there may be a status."""

    status: int | None
    error: str | None
    body: bytes
    retry_after: str | None
    duration_ms: int
    # One a line.
    headers: str = ""


@dataclass(slots=True)
class _Received:
    """The answer so far, so that what came before a failure is kept."""

    status: int | None = None
    retry_after: str | None = None
    headers: str = ""
    body: bytes = b""


class Egress:
    def __init__(self, guard: Guard, *, trust: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._problem_in = lru_cache(JUDGED_MAX)(guard.problem_in)
        self._trust = trust or _usual_trust()
        self._session: aiohttp.ClientSession | None = None
        # For addresses of this service alone: their connections are never those of a stranger's address.
        self._own_session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        guarded = {"resolver": _GuardedResolver(self._guard), "socket_factory": self._open_socket}
        async with self._new_session(**guarded) as self._session, self._new_session() as self._own_session:
            yield

    def _new_session(self, **guarded: Any) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self._trust,
            limit=0,  # The sender decides how many requests run at once.
            keepalive_timeout=KEEP_ALIVE_S,
            **guarded,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_HEADERS,
            skip_auto_headers=("Content-Type",),
            timeout=aiohttp.ClientTimeout(total=TOTAL_S, connect=CONNECT_S),
            auto_decompress=False,
            read_bufsize=BODY_BYTES_MAX,
            max_line_size=HEADER_BYTES_MAX,
            max_field_size=HEADER_BYTES_MAX,
            max_headers=HEADERS_MAX,
        )

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> WebhookResponse:
        """Never raises for what the other side does."""
        received = _Received()
        started = monotonic_s()
        error = None
        try:
            self._refuse(url)
            await self._exchange(url, body, headers, received)
        except (Forbidden, OSError, aiohttp.ClientError, ValueError) as problem:
            error = _name_of(problem)
        duration_ms = round((monotonic_s() - started) * 1000)
        return WebhookResponse(
            received.status, error, received.body, received.retry_after, duration_ms, received.headers
        )

    async def _exchange(self, url: str, body: bytes, headers: Mapping[str, str], received: _Received) -> None:
        session = self._own_session if self._guard.is_own_receiver(url) else self._session
        assert session is not None
        async with session.post(URL(url, encoded=True), data=body, headers=headers, allow_redirects=False) as response:
            received.status = response.status
            received.retry_after = response.headers.get("Retry-After")
            received.headers = _kept(response.headers)
            content = response.content
            while not content.at_eof() and len(received.body) < BODY_BYTES_MAX:
                received.body += await content.read(BODY_BYTES_MAX - len(received.body))
        # A body that was not read to its end closes the connection here.

    def _refuse(self, url: str) -> None:
        """An address that was allowed when it was saved may be forbidden now. aiohttp asks its resolver for names
        only; an IP address is judged here, and once more when its socket is opened."""
        if _BREAKS_A_LINE.search(url):
            raise Forbidden("the address is not one line")
        problem = self._problem_in(WebUrl(url))
        if problem:
            raise Forbidden(problem)

    def _open_socket(self, address: tuple[Any, ...]) -> socket.socket:
        """The last look: this very address is dialled next."""
        family, kind, protocol, _, (host, port, *_) = address
        self._guard.refuse(ipaddress.ip_address(host.partition("%")[0]), port)
        return socket.socket(family, kind, protocol)


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


def _kept(headers: Mapping[str, str]) -> str:
    """For people to read. A cookie is a secret of the other side."""
    lines = (f"{name.lower()}: {'…' if name.lower() == 'set-cookie' else value}" for name, value in headers.items())
    return "\n".join(lines)[:HEADERS_KEPT_BYTES_MAX].replace("\0", "\ufffd")


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


def _name_of(problem: Exception) -> str:
    causes = _with_causes(problem)
    return next(name for kind, name in _NAMES if any(isinstance(cause, kind) for cause in causes))


def _with_causes(problem: BaseException) -> list[BaseException]:
    """A refusal of ours may come back wrapped in an error of aiohttp."""
    inner = getattr(problem, "os_error", None) or problem.__cause__
    return [problem, *(_with_causes(inner) if inner is not None else ())]
