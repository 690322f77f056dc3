"""The receiver inside `tidegate listen`: takes events, verifies their signatures, forwards them byte for byte."""

from __future__ import annotations

import asyncio
import errno
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from tidegate.core.clock import Clock, monotonic_s
from tidegate.infra.egress import BODY_BYTES_MAX
from tidegate.webhook import restore
from tidegate.webhook.explain import ID, Explanation, explain
from tidegate.webhook.model import TEST_EVENT

HOST = "127.0.0.1"
# The answer to GET, by which the next `tidegate listen` recognises a running one.
SIGN_OF_LIFE = "tidegate listen"
# Slightly less than Tidegate's own time-out, so that it gets an answer from us.
FORWARD_WITHIN_S = 14.0
CONNECT_WITHIN_S = 5.0
STOP_WITHIN_S = 1.0
_HOP_BY_HOP = frozenset(
    {"host", "content-length", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
_PASSED_BACK = ("Content-Type", "Retry-After")
_WITHOUT_BODY = frozenset({204, 304})


@dataclass(frozen=True)
class ForwardReply:
    """The developer's server's answer, or its failure; `status` is what Tidegate gets in either case."""

    status: int
    problem: str | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    duration_ms: int = 0


@dataclass(frozen=True)
class ReceivedEvent:
    """One request from Tidegate. Without a reply it was not forwarded."""

    at: datetime
    event_id: str
    event: str
    reference: str | None
    body: bytes
    found: Explanation
    reply: ForwardReply | None


class Forwarder:
    def __init__(self, forward_to: str | None, clock: Clock, show: Callable[[ReceivedEvent], None]) -> None:
        self.forward_to = forward_to
        self._clock = clock
        self._show = show
        self._session: aiohttp.ClientSession | None = None
        self.url = ""
        self.secret = ""
        # The first test event is our own, to check that events arrive.
        self.proof: asyncio.Future[Explanation] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """On a free port, at a path that cannot be guessed."""
        path = f"/{secrets.token_urlsafe(16)}"
        app = web.Application()
        app.add_routes([web.post(path, self._receive), web.get(path, _live)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=STOP_WITHIN_S)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, 0).start()
            self.url = f"http://{HOST}:{runner.addresses[0][1]}{path}"
            async with self._open_session() as self._session:
                yield
        finally:
            await runner.cleanup()

    def _open_session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=FORWARD_WITHIN_S, connect=CONNECT_WITHIN_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            # Tidegate's headers are forwarded, and none is added.
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )

    async def _receive(self, request: web.Request) -> web.Response:
        at = self._clock.now()
        body = await request.read()
        found = explain(dict(request.headers), body, [self.secret], now=at)
        event, reference = _event_in(body)
        if event == TEST_EVENT and self.proof is not None and not self.proof.done():
            self.proof.set_result(found)
            return web.Response(text=SIGN_OF_LIFE)
        reply = await self._forward(request, body) if self.forward_to else None
        self._show(ReceivedEvent(at, request.headers.get(ID, ""), event, reference, body, found, reply))
        return _answer_with(reply) if reply else web.Response(text=SIGN_OF_LIFE)

    async def _forward(self, request: web.Request, body: bytes) -> ForwardReply:
        assert self._session is not None
        assert self.forward_to is not None
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in request.raw_headers
            if name.decode("latin-1").lower() not in _HOP_BY_HOP
        ]
        url = URL(self.forward_to, encoded=True)
        started = monotonic_s()
        try:
            async with self._session.post(url, data=body, headers=headers, allow_redirects=False) as answer:
                reply = await _read(answer)
        except TimeoutError:
            reply = ForwardReply(504, "no answer in time")
        except aiohttp.ClientConnectorError as error:
            reply = ForwardReply(502, _why_unreachable(error.os_error))
        except aiohttp.ClientError as error:
            reply = ForwardReply(502, f"closed the connection early: {error}")
        took_ms = round((monotonic_s() - started) * 1000)
        return ForwardReply(reply.status, reply.problem, reply.body, reply.headers, took_ms)


def _why_unreachable(error: OSError) -> str:
    return "refuses the connection" if error.errno == errno.ECONNREFUSED else f"cannot be reached: {error}"


async def _live(_: web.Request) -> web.Response:
    return web.Response(text=SIGN_OF_LIFE)


async def _read(answer: aiohttp.ClientResponse) -> ForwardReply:
    """As much as Tidegate stores."""
    body = bytearray()
    while len(body) < BODY_BYTES_MAX and (chunk := await answer.content.read(BODY_BYTES_MAX - len(body))):
        body += chunk
    if not answer.content.at_eof():
        answer.close()
    headers = tuple((name, answer.headers[name]) for name in _PASSED_BACK if name in answer.headers)
    if answer.status < 200:
        return ForwardReply(502, f"answered {answer.status}, which is not a final status", bytes(body), headers)
    return ForwardReply(answer.status, None, bytes(body), headers)


def _answer_with(reply: ForwardReply) -> web.Response:
    if reply.status in _WITHOUT_BODY:
        return web.Response(status=reply.status)
    if reply.problem:
        return web.Response(status=reply.status, text=f"the receiver {reply.problem}")
    return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))


def _event_in(body: bytes) -> tuple[str, str | None]:
    """The event's name, and the merchant's reference."""
    try:
        payload = restore.read(body)
    except (ValueError, RecursionError):
        payload = None
    payload = payload if isinstance(payload, dict) else {}
    inner: Any = payload.get("data")
    inner = inner if isinstance(inner, dict) else {}
    reference = inner.get("merchantReference") or inner.get("reference")
    return str(payload.get("event") or "?"), str(reference) if reference else None
