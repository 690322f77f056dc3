"""Limits on what arrives before there is a request: the size of a head, and the time that a client may take.

All other limits are the application's: `request_head.py`, `body.py`, `in_flight.py`.
"""

from __future__ import annotations

import asyncio
import re
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tidegate.core import ids
from tidegate.core.errors import Refusal
from tidegate.infra.http.body import ARRIVED, BROKEN
from tidegate.infra.http.error_answer import error_body
from tidegate.infra.http.in_flight import WAS_FULL
from tidegate.infra.http.lingering import LingeringTransport
from tidegate.infra.http.operation import encode
from tidegate.infra.http.request_head import (
    METHODS,
    URL_BYTES_MAX,
    headers_too_large,
    malformed,
    unknown_method,
    uri_too_long,
)
from tidegate.infra.http.status import STATUS_OF

# All that is not body: a header that never ends, and the framing of a body sent in tiny chunks.
OVERHEAD_BYTES_MAX = 64 * 1024
HEADER_TIMEOUT_S = 10.0
# Clients that ignore Retry-After would take the time of those that were admitted: a connection that was refused is not
# read for as long, and all of them together are read again at this rate.
PAUSE_WHEN_FULL_S = 0.5
READ_AGAIN_PER_S = 1_000

# Tells a request with an unknown method from what is no HTTP at all. After one of a known method, what is wrong comes
# later in the same data.
_UNKNOWN_METHOD = re.compile(rb"(?!(?:%s) )[A-Za-z-]{1,40} [^ \r\n]+ HTTP/1\.[01]\r?\n" % "|".join(METHODS).encode())
_UPGRADE_HEADERS = frozenset({b"connection", b"upgrade", b"http2-settings"})


class _Stage(Enum):
    """Where in the stream of requests the parser stands."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn reads heads without a limit and waits for ever. Here what the client still owes has a deadline.

    While a request runs, its operation sets the deadline for the body. At all other times it is set here. Of uvicorn
    this uses the callbacks of its protocol and five fields that are not documented: the newest request (`cycle`), its
    `scope`, those that wait (`pipeline`), `flow` and `timeout_keep_alive_task`. Decision 0014 says what for.
    """

    url = b""
    _stage = _Stage.BETWEEN
    _overhead_bytes = 0
    # The request that is being answered. Of several in a row it is the oldest, uvicorn's `cycle` the newest.
    _running: Any = None
    _is_broken = False
    # To be written after the answers to all requests before it.
    _refusal: Refusal | None = None
    _deadline: asyncio.TimerHandle | None = None
    _pause: asyncio.TimerHandle | None = None
    # Of all connections: when the next one that was refused may be read again.
    _read_again_at: ClassVar[float] = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._lingering = LingeringTransport(transport, self._is_client_sending)
        super().connection_made(self._lingering)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        if self._pause is not None:
            self._pause.cancel()
        self._stop_keep_alive()  # uvicorn leaves it running after a reset.
        if self._running is not None:
            self.cycle = self._running  # uvicorn tells only this one that the client has gone.
        super().connection_lost(exc)
        # No reference cycle may stay: thousands of dead connections would wait for the garbage collector.
        self.pipeline.clear()
        self._running = self.cycle = None  # type: ignore[assignment]
        self._lingering.forget_protocol()

    def data_received(self, data: bytes) -> None:
        if self._is_broken or self.transport.is_closing():
            return
        self._stop_keep_alive()
        self._overhead_bytes += len(data)
        self._feed(data)
        if self._overhead_bytes > OVERHEAD_BYTES_MAX and not self._is_broken:
            self._refuse(uri_too_long() if len(self.url) > URL_BYTES_MAX else headers_too_large())
        self._watch()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._feed_without_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserInvalidMethodError:
            self._refuse(unknown_method() if _UNKNOWN_METHOD.match(data) else malformed())
        except httptools.HttpParserError:
            # The parser of addresses has a limit of its own.
            is_head = self._stage is _Stage.HEAD
            self._refuse(uri_too_long() if is_head and len(self.url) > URL_BYTES_MAX else malformed())

    def _feed_without_upgrade(self, rest: bytes) -> None:
        """Java's client offers HTTP/2 with every request; the parser would take its body for another protocol."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            self._refuse(unknown_method())
            return
        head = b"%s %s HTTP/%s\r\n" % (method, self.url, self.parser.get_http_version().encode())
        kept = (b"%s: %s\r\n" % header for header in self.headers if header[0] not in _UPGRADE_HEADERS)
        self.parser = httptools.HttpRequestParser(self)
        self._feed(head + b"".join(kept) + b"\r\n" + rest)

    # What the parser finds, in the order of a request.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._stage = _Stage.HEAD
        self._overhead_bytes = 0
        self._stop_deadline()

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_headers_complete()  # An address that cannot be parsed raises here.
        self._stage = _Stage.BODY
        if self._running is None:
            self._running = self.cycle
        # Trailers go here and are not read: a proxy that checks headers has not seen them.
        self.headers = []

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes = max(0, self._overhead_bytes - len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._stage = _Stage.BETWEEN
        self.scope[ARRIVED] = True  # type: ignore[literal-required]
        self._stop_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        was_full = self._running is not None and WAS_FULL in self._running.scope
        self._running = self.pipeline[-1][0] if self.pipeline else None  # uvicorn starts it now.
        super().on_response_complete()
        if self._is_broken and self._running is None:
            self._end()
        if was_full:
            self._pause_reading()
        self._watch()

    def _pause_reading(self) -> None:
        at = max(self.loop.time() + PAUSE_WHEN_FULL_S, GuardedProtocol._read_again_at)
        GuardedProtocol._read_again_at = at + 1 / READ_AGAIN_PER_S
        self.flow.pause_reading()
        self._pause = self.loop.call_at(at, self.flow.resume_reading)

    # What cannot be read.

    def _refuse(self, refusal: Refusal) -> None:
        """Nothing more is read. Requests that came whole are answered first, and one that breaks off by the
        application, unless it has its answer already."""
        self._is_broken = True
        self._stop_deadline()
        if self._stage is not _Stage.BODY:
            self._refusal = refusal
        elif self._running is not None:
            self.scope[BROKEN] = refusal  # type: ignore[literal-required]
            super().on_message_complete()  # The application waits for more no longer.
        if self._running is None:
            self._end()

    def _end(self) -> None:
        if self._refusal is not None and not self.transport.is_closing():
            self.transport.write(_answer_to(self._refusal))
        self.transport.close()

    def _is_client_sending(self) -> bool:
        return self._is_broken or self._stage is not _Stage.BETWEEN

    # Deadlines.

    def _watch(self) -> None:
        """The deadline runs while the client is waited for, unless uvicorn's keep-alive timer does."""
        is_kept_alive = self._stage is _Stage.BETWEEN and self.timeout_keep_alive_task is not None
        if self._running is not None or is_kept_alive or self.transport.is_closing():
            self._stop_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_TIMEOUT_S, self._lingering.close_now)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_keep_alive(self) -> None:
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None


def _answer_to(refusal: Refusal) -> bytes:
    """Written past ASGI's `send`, only to bytes that are no request: without a scope the application is not called."""
    status = HTTPStatus(STATUS_OF[type(refusal)])
    request_id = ids.new_request_id()
    body = encode(error_body(refusal, request_id))
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nx-request-id: {request_id}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
