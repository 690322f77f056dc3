"""HTTP/1.1 with clients that may be slow, confused or hostile: limits on all that stands around a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tidegate.core import ids
from tidegate.core.clock import monotonic_s
from tidegate.infra.http.body import WHOLE
from tidegate.infra.http.front_door import WHEN_FULL, FrontDoor
from tidegate.infra.http.operation import encode
from tidegate.infra.http.places import ALWAYS_OPEN
from tidegate.infra.http.shed import Unserved

HEADERS_MAX = 100
HEADER_BYTES_MAX = 16 * 1024
URL_BYTES_MAX = 8 * 1024
# All that is not body: a header that never ends, and the framing of a body sent in crumbs.
OVERHEAD_BYTES_MAX = 64 * 1024
HEADER_TIMEOUT_S = 10.0
# Of a request that waits to be read. Whoever sends more is read at once.
UNREAD_BYTES_MAX = 64 * 1024
LINGER_S = 2.0
# For a client to take what was written before the end.
FLUSH_S = 30.0

_REASONS = {
    400: (
        b"400 Bad Request",
        "MALFORMED_REQUEST",
        "this is not a valid HTTP request; HTTP/1.1 also needs exactly one Host header",
    ),
    414: (b"414 URI Too Long", "URI_TOO_LONG", f"the address may have at most {URL_BYTES_MAX} bytes"),
    431: (
        b"431 Request Header Fields Too Large",
        "HEADERS_TOO_LARGE",
        f"at most {HEADERS_MAX} headers and {HEADER_BYTES_MAX} bytes of them",
    ),
}
_ALWAYS_OPEN_LINES = tuple(f"{method} {path}".encode() for method in ("GET", "HEAD") for path in ALWAYS_OPEN)
_UPGRADE_HEADERS = frozenset({b"connection", b"upgrade", b"http2-settings"})


class _Place(Enum):
    """Where in the stream the parser stands."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()


class _OverLimit(Exception):
    """Stops the parser; never leaves this module."""


class _GentleTransport:
    """Closes with a moment of reading on.

    When a connection is closed while the client still sends, the kernel resets it, and the client may lose
    the answer that says why. So our side ends first, and what still comes is thrown away.
    """

    def __init__(self, transport: asyncio.Transport, has_more_to_come: Callable[[], bool]) -> None:
        self._transport = transport
        self._has_more_to_come = has_more_to_come
        self._is_ending = False
        self.get_extra_info = transport.get_extra_info
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading

    def write(self, data: bytes) -> None:
        if not self._is_ending:
            self._transport.write(data)

    def is_closing(self) -> bool:
        return self._is_ending or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing():
            return
        if not self._has_more_to_come():
            self._close()
            return
        self._is_ending = True
        self._transport.resume_reading()
        with suppress(OSError):  # The client may be gone already.
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, self._close)

    def forget(self) -> None:
        self._has_more_to_come = _nothing_more

    def _close(self) -> None:
        """Whoever takes nothing would otherwise keep the connection, which closes only when all is sent."""
        self._transport.close()
        if self._transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(FLUSH_S, self._transport.abort)


def _nothing_more() -> bool:
    return False


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn reads heads without a limit and waits for ever; here whoever owes us bytes has a deadline.

    While a request runs, its operation sets the deadline for the body. At all other times it is set here.
    """

    _place = _Place.BETWEEN
    _header_count = 0
    _header_bytes = 0
    _overhead_bytes = 0
    _refused_with = 400
    _is_broken = False
    _front_door: FrontDoor | None = None
    _unread = b""
    _unserved: Unserved | None = None
    _running: RequestResponseCycle | None = None
    _was_turned_away = False
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        gentle = _GentleTransport(transport, lambda: self._is_broken or self._place is not _Place.BETWEEN)
        super().connection_made(cast("asyncio.Transport", gentle))
        self._front_door = self.app if isinstance(self.app, FrontDoor) else None
        self._cut = transport.close
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        # uvicorn leaves it running after a reset.
        self._unset_keepalive_if_required()
        self._wait_no_longer()
        self._unread = b""
        self._forget_unserved()
        self._tell_who_runs()
        super().connection_lost(exc)
        # Nothing may lead back to us: what only the garbage collector frees waits for it, by the thousand.
        self.pipeline.clear()
        self._running = self.cycle = None  # type: ignore[assignment]
        cast("_GentleTransport", self.transport).forget()

    def _tell_who_runs(self) -> None:
        """uvicorn tells the request that came last, which may still wait behind the one that runs."""
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._is_broken or self.transport.is_closing():
            return
        if self._unserved is not None:
            self._unserved.read(data)
            return
        if self._unread:
            self._read_later(data)
            return
        self._unset_keepalive_if_required()
        door = self._front_door
        if door is not None:
            door.places.let_in()
        if door is not None and (door.places.is_full or door.places.is_crowded) and self._begins_a_request(data):
            self._stop_deadline()
            if door.places.is_full:
                self._hold(door, data)
            else:
                door.places.wait(self)
                self._read_later(data)
            return
        self._read(data)

    def _read_later(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > UNREAD_BYTES_MAX:
            self._wait_no_longer()
            self.enter()

    def _wait_no_longer(self) -> None:
        if self._unread and self._front_door is not None:
            self._front_door.places.forget(self)

    def enter(self) -> None:
        unread, self._unread = self._unread, b""
        if unread and not self.transport.is_closing():
            self._read(unread)

    def give_up(self) -> None:
        """Whoever would be read now would hear the same from the database, and later."""
        unread, self._unread = self._unread, b""
        self._unserved = Unserved()
        self._unserved.read(unread)
        self._turn_away()

    def _read(self, data: bytes) -> None:
        self._overhead_bytes += len(data)
        self._feed(data)
        if self._overhead_bytes > OVERHEAD_BYTES_MAX and not self._is_broken:
            self._refused_with = 431
            self.send_400_response("")
        self._watch_idler()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on_without_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("")

    def _read_on_without_upgrade(self, rest: bytes) -> None:
        """Java's client offers HTTP/2 with every request; the parser would take its body for another protocol."""
        version = self.parser.get_http_version().encode()
        head = b"%s %s HTTP/%s\r\n" % (self.parser.get_method(), self.url, version)
        kept = (b"%s: %s\r\n" % header for header in self.headers if header[0] not in _UPGRADE_HEADERS)
        self.parser = httptools.HttpRequestParser(self)
        self._feed(head + b"".join(kept) + b"\r\n" + rest)

    # What the parser finds, in the order of a request.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._place = _Place.HEAD
        self._header_count = self._header_bytes = self._overhead_bytes = 0
        self._start_deadline()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > URL_BYTES_MAX:
            self._refuse(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > HEADER_BYTES_MAX or self._header_count > HEADERS_MAX:
            self._refuse(431)
        # After the body come trailers. No credential is read from there: whoever stands before us never saw it.
        if self._place is _Place.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._refuse(400)
            return
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            self._refuse(400)
        super().on_headers_complete()  # An address that cannot be read ends here, while the request before it runs.
        self._place = _Place.BODY
        self._stop_deadline()

    def on_body(self, body: bytes) -> None:
        self._overhead_bytes = max(0, self._overhead_bytes - len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._place = _Place.BETWEEN
        self.scope[WHOLE] = True  # type: ignore[literal-required]
        self._stop_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        super().on_response_complete()
        if self._is_broken and is_last:
            self._end()
        elif self._place is _Place.BODY and not self.transport.is_closing():
            self._start_deadline()  # Answered early; nobody waits for the rest of the body any more.

    # No room. No task, no scope and no route: a refusal must cost little, or the load decides what is done.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._front_door is not None:
            self._front_door.places.take(cast("dict[str, Any]", cycle.scope))
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _begins_a_request(self, data: bytes) -> bool:
        """Between two requests only: what has begun is read on, and what is under way is answered first."""
        is_answered = self.cycle is None or self.cycle.response_complete
        if self._place is not _Place.BETWEEN or self.pipeline or not is_answered:
            return False
        begin = data.lstrip(b"\r\n")
        return bool(begin) and not begin.startswith(_ALWAYS_OPEN_LINES)

    def _hold(self, front_door: FrontDoor, data: bytes) -> None:
        """Until it is told. What has not come by then, such as a body that waits to be asked for, is not waited for.

        The first time it is told at once; only whoever comes again over the same connection is held back.
        """
        self._unserved = Unserved()
        self._unserved.read(data)
        if self._was_turned_away or self._unserved.is_unfinished:
            front_door.held.add(self._turn_away)
        else:
            self._turn_away()
        self._was_turned_away = True

    def _turn_away(self) -> None:
        unserved = self._forget_unserved()
        if unserved is None or self._front_door is None or self.transport.is_closing():
            return
        answers = unserved.answers(WHEN_FULL, self.server_state.default_headers)
        self.transport.write(b"".join(answers))
        self._front_door.count_turned_away(len(answers), monotonic_s() - unserved.came_at)
        # Whoever does not read the answers would get ever more of them.
        if unserved.is_last or self.flow.write_paused:
            self._is_broken = unserved.is_unfinished
            self.transport.close()
        else:
            self._keep_alive()

    def _forget_unserved(self) -> Unserved | None:
        unserved, self._unserved = self._unserved, None
        if unserved is not None:
            unserved.forget()
        return unserved

    def _keep_alive(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def shutdown(self) -> None:
        self._turn_away()  # Who is held back need not be any longer.
        self._wait_no_longer()
        self.enter()
        super().shutdown()

    # Saying no before there is a request.

    def _refuse(self, status: int) -> None:
        self._refused_with = status
        raise _OverLimit

    def send_400_response(self, msg: str) -> None:
        """Also the way out for 414 and 431. Nothing more is read; requests that came whole are answered first."""
        self._is_broken = True
        self._stop_deadline()
        is_inside_request = self._place is _Place.BODY
        if self.pipeline:
            if is_inside_request:
                self.pipeline.popleft()
        elif self.cycle is None or self.cycle.response_complete:
            self._end(is_said=not is_inside_request)
        elif is_inside_request:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._end(is_said=not self.cycle.response_started)

    def _end(self, *, is_said: bool = True) -> None:
        """Unsaid when the request at hand has its answer, or part of it."""
        if is_said and not self.transport.is_closing():
            self.transport.write(self._refusal())
        self.transport.close()

    def _refusal(self) -> bytes:
        line, error_type, message = _REASONS[self._refused_with]
        request_id = ids.new_request_id()
        body = encode(
            {
                "status": False,
                "success": False,
                "message": message,
                "error": message,
                "errorType": error_type,
                "errors": [],
                "requestId": request_id,
            }
        )
        head = (
            b"HTTP/1.1 %s\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: %d\r\n"
            b"cache-control: no-store\r\nx-request-id: %s\r\nconnection: close\r\n\r\n"
        )
        return head % (line, len(body), request_id.encode()) + body

    # Deadlines.

    def _watch_idler(self) -> None:
        """Bytes that begin no request, such as empty lines, have ended the keep-alive wait and start no other."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._deadline is None and self.timeout_keep_alive_task is None:
            self._start_deadline()

    def _start_deadline(self) -> None:
        self._stop_deadline()
        self._deadline = self.loop.call_later(HEADER_TIMEOUT_S, self._cut)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
