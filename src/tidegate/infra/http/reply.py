"""The answer to one request, on its way out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from tidegate.infra.http.operation import RawHeaders
from tidegate.infra.http.whole import Block, Steady, lines_of, write_whole

API_VERSION = "2026-11-16"

JSON = Steady((b"content-type", b"application/json; charset=utf-8"))
# What every answer says.
_EVERYWHERE = Steady(
    (b"api-version", API_VERSION.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"strict-transport-security", b"max-age=63072000; includeSubDomains"),
)
EVERYWHERE_NOT_STORED = Steady(*_EVERYWHERE.headers, (b"cache-control", b"no-store"))
_NO_HEADERS: RawHeaders = []


class Reply:
    """What an application answers with: as a whole, or like any ASGI application message by message.

    Adds the headers that every answer carries. Of messages the first waits for the second: what fails in between can
    still be answered.
    """

    __slots__ = ("_head", "_request_id", "_send", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self._head: Message | None = None
        # Zero until something of the answer has gone out.
        self.status = 0

    def whole(
        self, status: int, body: bytes, block: Block = JSON, headers: RawHeaders = _NO_HEADERS
    ) -> Awaitable[None]:
        """`block` is known to be right; `headers`, which need not be, stand beside it. `cache-control`, and what is
        said of the connection, are looked for in `headers` only."""
        self._head = None
        everywhere = _everywhere(headers) if headers else EVERYWHERE_NOT_STORED
        own = _plain_lines(headers) if headers else b""
        if own is not None:
            lines = b"%b%b%bcontent-length: %d\r\nx-request-id: %b\r\n" % (
                block.lines, own, everywhere.lines, len(body), self._request_id,
            )  # fmt: skip
            if write_whole(self._send, status, lines, body):
                self.status = status
                return _DONE
        length = (b"content-length", b"%d" % len(body))
        self._head = {
            "type": "http.response.start",
            "status": status,
            "headers": [*block.headers, *headers, length],
        }
        return self({"type": "http.response.body", "body": body})

    def __call__(self, message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            self._head = message
            return _DONE
        if self._head is None:
            return self._send(message)
        head, self._head = self._head, None
        return self._send_both(head, message)

    async def _send_both(self, head: Message, message: Message) -> None:
        self.status = head["status"]
        own = [*head["headers"], (b"x-request-id", self._request_id)]
        await self._send({**head, "headers": [*own, *_everywhere(own).headers]})
        await self._send(message)


# Whatever answers at an address. Every ASGI application can: a reply is a `Send`.
App = Callable[[Scope, Receive, Reply], Awaitable[None]]


def _everywhere(headers: RawHeaders) -> Steady:
    return _EVERYWHERE if b"cache-control" in dict(headers) else EVERYWHERE_NOT_STORED


def _plain_lines(headers: RawHeaders) -> bytes | None:
    """None when uvicorn has to see to them: a value that would end early, or what is said of the connection."""
    lines = lines_of(headers)
    is_plain = lines.count(b"\n") == lines.count(b"\r") == len(headers) and b"\0" not in lines
    return lines if is_plain and b"connection" not in dict(headers) else None


class _Done:
    """Nothing is left to wait for."""

    def __await__(self) -> Any:
        return iter(())


_DONE = _Done()
