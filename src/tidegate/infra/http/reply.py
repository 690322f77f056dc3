"""The answer to one request, on its way out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Scope, Send

from tidegate.infra.http.operation import RawHeaders
from tidegate.infra.standby import Standby

API_VERSION = "2026-11-16"
REFUSALS_FROM = 400
FAILURES_FROM = 500

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
    answered. Nothing leaves before the standby has what it rests on.
    """

    __slots__ = ("_head", "_reads", "_request_id", "_send", "_standby", "_waits_from", "status")

    def __init__(self, send: Send, request_id: str, standby: Standby | None = None) -> None:
        self._send = send
        self._standby = standby
        self._reads = standby.reads() if standby else 0
        self._waits_from = 0
        self._request_id = request_id.encode()
        self._head: Message | None = None
        # Zero until something of the answer has gone out.
        self.status = 0

    def is_committed_when_successful(self) -> None:
        """Its commit has waited for the standby then."""
        self._waits_from = REFUSALS_FROM

    async def whole(self, status: int, body: bytes, headers: RawHeaders = JSON) -> None:
        self._head = None
        if self._standby is not None and self._may_lack(status, self._standby):
            await self._confirm(self._standby)
        await self._send_head(status, [*headers, (b"content-length", b"%d" % len(body))])
        await self._send({"type": "http.response.body", "body": body})

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            return
        status = self._head["status"] if self._head else self.status
        if self._standby is not None and self._may_lack(status, self._standby):
            await self._confirm(self._standby)
        if self._head is not None:
            head, self._head = self._head, None
            await self._send_head(head["status"], head["headers"])
        await self._send(message)

    def _may_lack(self, status: int, standby: Standby) -> bool:
        """A failure of ours says nothing of what is stored."""
        return self._waits_from <= status < FAILURES_FROM and standby.may_lack(self._reads)

    async def _confirm(self, standby: Standby) -> None:
        reads = standby.reads()
        await standby.confirm()
        self._reads = reads

    def _send_head(self, status: int, headers: RawHeaders) -> Awaitable[None]:
        self.status = status
        common = _EVERY_ANSWER if b"cache-control" in dict(headers) else _NOT_STORED
        own = (b"x-request-id", self._request_id)
        return self._send({"type": "http.response.start", "status": status, "headers": [*headers, own, *common]})


# Whatever answers at an address. Every ASGI application can: a reply is a `Send`.
App = Callable[[Scope, Receive, Reply], Awaitable[None]]
