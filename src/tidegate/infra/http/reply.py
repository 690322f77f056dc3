"""The answer to one request, on its way out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Scope, Send

from tidegate.infra.http.operation import RawHeaders

API_VERSION = "2026-11-16"

JSON: RawHeaders = [(b"content-type", b"application/json; charset=utf-8")]
_EVERY_ANSWER: RawHeaders = [
    (b"api-version", API_VERSION.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"strict-transport-security", b"max-age=63072000; includeSubDomains"),
]
_NOT_STORED: RawHeaders = [*_EVERY_ANSWER, (b"cache-control", b"no-store")]


class Reply:
    """What an application answers with: as a whole, or like any ASGI application message by message.

    Adds the headers that every answer carries. The first message waits for the second: an error in between can still be
    answered.
    """

    __slots__ = ("_head", "_request_id", "_send", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self._head: Message | None = None
        # Zero until something of the answer has gone out.
        self.status = 0

    async def whole(self, status: int, body: bytes, headers: RawHeaders = JSON) -> None:
        self._head = None
        await self._send_head(status, [*headers, (b"content-length", b"%d" % len(body))])
        await self._send({"type": "http.response.body", "body": body})

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            return
        if self._head is not None:
            head, self._head = self._head, None
            await self._send_head(head["status"], head["headers"])
        await self._send(message)

    def _send_head(self, status: int, headers: RawHeaders) -> Awaitable[None]:
        self.status = status
        common = _EVERY_ANSWER if b"cache-control" in dict(headers) else _NOT_STORED
        own = (b"x-request-id", self._request_id)
        return self._send({"type": "http.response.start", "status": status, "headers": [*headers, own, *common]})


# Whatever answers at an address. Every ASGI application can: a reply is a `Send`.
App = Callable[[Scope, Receive, Reply], Awaitable[None]]
