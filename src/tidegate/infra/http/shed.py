"""Saying no for want of room, at as little cost as can be: what refusals cost is taken from those who were let in."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from tidegate.core import ids
from tidegate.core.clock import monotonic_s
from tidegate.infra.http.operation import RawHeaders
from tidegate.infra.http.whole import default_lines, lines_of

# So long a refusal is held back that is not the first: whoever asks again at once would otherwise take the machine from
# those inside.
HELD_S = 0.7
TELL_EVERY_S = 0.05
# Of one connection. Each costs an answer far longer than the shortest request.
IN_A_ROW_MAX = 16
# Stands where each answer has its own, in the header and in the body.
REQUEST_ID = "req_0000000000000000"


class PreparedAnswer:
    """All of it is there at start, but for the date and the request id."""

    def __init__(self, status: int, headers: RawHeaders, body: bytes) -> None:
        own = [(b"content-length", b"%d" % len(body)), (b"x-request-id", REQUEST_ID.encode())]
        self._status = STATUS_LINE[status]
        # What stands around the request id.
        self._headers = lines_of([*headers, *own]).split(REQUEST_ID.encode())
        self._body = body.split(REQUEST_ID.encode())

    def render(self, default_headers: RawHeaders, *, is_head: bool, is_last: bool) -> bytes:
        request_id = ids.new_request_id().encode()
        head = [self._status, default_lines(default_headers), request_id.join(self._headers)]
        end = b"connection: close\r\n\r\n" if is_last else b"\r\n"
        return b"".join([*head, end, b"" if is_head else request_id.join(self._body)])


class Unserved:
    """Requests of one connection that are read only for where they end: the parser calls what is there, and here is
    nothing else. Of what they say nothing is kept.
    """

    __slots__ = ("_has_begun", "_is_broken", "_parser", "_says_it_is_last", "are_head", "came_at")

    def __init__(self) -> None:
        self.came_at = monotonic_s()
        # For each that came whole, in their order: does it want no more than a head for an answer?
        self.are_head: list[bool] = []
        self._has_begun = self._is_broken = self._says_it_is_last = False
        self._parser = httptools.HttpRequestParser(self)

    def read(self, data: bytes) -> None:
        if self._is_broken or self._says_it_is_last:
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # Also what is no HTTP at all: there is no room for finding out what was meant.
            self._is_broken = not self._says_it_is_last

    @property
    def is_unfinished(self) -> bool:
        """More of it may still be on the wire."""
        return self._has_begun or self._is_broken

    @property
    def is_last(self) -> bool:
        return self._says_it_is_last or self.is_unfinished

    def answers(self, prepared: PreparedAnswer, default_headers: RawHeaders) -> list[bytes]:
        """One for each, also for what did not come whole: it is not waited for."""
        are_head = [*self.are_head, False] if self._has_begun or not self.are_head else self.are_head
        last = len(are_head) - 1
        return [
            prepared.render(default_headers, is_head=is_head, is_last=self.is_last and number == last)
            for number, is_head in enumerate(are_head)
        ]

    def forget(self) -> None:
        """The parser and this one hold each other. The garbage collector would find thousands of such pairs late."""
        del self._parser

    # What the parser finds.

    def on_message_begin(self) -> None:
        self._has_begun = True
        if len(self.are_head) == IN_A_ROW_MAX:
            raise _TooMany

    def on_message_complete(self) -> None:
        self._has_begun = False
        self.are_head.append(self._parser.get_method() == b"HEAD")
        self._says_it_is_last = self._parser.get_http_version() == "1.0" or not self._parser.should_keep_alive()


class _TooMany(Exception):
    """Stops the parser; never leaves this module."""


class Held:
    """Those who are to be refused when their time has come. One timer for all: there may be thousands of them."""

    def __init__(self) -> None:
        self._due: deque[tuple[float, Callable[[], None]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, tell: Callable[[], None]) -> None:
        self._due.append((monotonic_s() + HELD_S, tell))
        if self._timer is None:
            self._wait()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TELL_EVERY_S, self._tell_who_is_due)

    def _tell_who_is_due(self) -> None:
        self._timer = None
        now = monotonic_s()
        while self._due and self._due[0][0] <= now:
            _, tell = self._due.popleft()
            tell()
        if self._due:
            self._wait()
