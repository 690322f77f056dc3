"""Answers of any length: sent as fast as the client takes them, and never cut short in silence.

They are sent in chunks, with a mark after the last one. When something breaks on the way, the error leaves the
application, the server closes the connection without that mark, and the client knows that its file is not whole.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Protocol

import structlog
from starlette.types import Receive, Scope, Send

from tidegate.core.errors import RateLimited, Unavailable
from tidegate.infra.http.operation import Call, FileAnswer, RawHeaders, Stream

VARIES: RawHeaders = [(b"vary", b"accept")]
# At once, for each path in each process. A download lasts as long as its client likes, so it takes no place among
# the requests in flight and has limits of its own.
DOWNLOADS_MAX = 50
DOWNLOADS_OF_ONE_CALLER_MAX = 5
RETRY_AFTER_S = 10
# A client may be slow, but it has to take something.
STALLED_AFTER_S = 30.0


log = structlog.get_logger("http")


class _Stalled(Exception):
    """The client took nothing for too long; never leaves this module."""


class SentFile(Protocol):
    """What a file is, and what stands at its beginning."""

    @property
    def content_type(self) -> bytes: ...
    @property
    def head(self) -> bytes: ...


class Downloads:
    def __init__(self) -> None:
        self._by_caller: Counter[str] = Counter()

    async def send(self, file: FileAnswer, call: Call, scope: Scope, receive: Receive, send: Send) -> None:
        await self.send_made(file, partial(file.handler, call), scope, receive, send, caller=str(call.caller))

    async def send_made(
        self, kind: SentFile, make: Callable[[], Awaitable[Stream]], scope: Scope, receive: Receive, send: Send, *,
        caller: str,
    ) -> None:  # fmt: skip
        if scope["method"] == "HEAD":
            await _send_head(kind, await make(), send)
            return
        with self._place(caller):
            stream = await make()
            scope["app"].admission.release(scope)
            try:
                await _send_while_taken(kind, stream, receive, send)
            except _Stalled:
                # No mistake of ours. An answer that is left without its end closes the connection as well.
                log.warning("download stalled", request_id=scope["tidegate.request_id"], caller=caller)

    @contextmanager
    def _place(self, caller: str) -> Iterator[None]:
        if self._by_caller[caller] >= DOWNLOADS_OF_ONE_CALLER_MAX:
            raise RateLimited(
                f"{DOWNLOADS_OF_ONE_CALLER_MAX} of your downloads run already; wait for one to end",
                retry_after_s=RETRY_AFTER_S,
            )
        if self._by_caller.total() >= DOWNLOADS_MAX:
            raise Unavailable(f"too many downloads at once; retry after {RETRY_AFTER_S} s", retry_after_s=RETRY_AFTER_S)
        self._by_caller[caller] += 1
        try:
            yield
        finally:
            self._by_caller[caller] -= 1
            if not self._by_caller[caller]:
                del self._by_caller[caller]


async def _send_head(file: SentFile, stream: Stream, send: Send) -> None:
    async with aclosing(stream.chunks):  # Closed without having begun.
        await _begin(file, stream, send)
        await send({"type": "http.response.body", "body": b""})


async def _send_while_taken(file: SentFile, stream: Stream, receive: Receive, send: Send) -> None:
    """Until it is whole, or the client has gone."""
    sending = asyncio.create_task(_send_all(file, stream, send))
    leaving = asyncio.create_task(_until_gone(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
    finally:
        sending.cancel()
        leaving.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_all(file: SentFile, stream: Stream, send: Send) -> None:
    async with aclosing(stream.chunks):
        # Before anything is said, so that what goes wrong at the start is answered like any other refusal.
        first = await anext(stream.chunks, b"")
        await _begin(file, stream, send)
        await _send_chunk(file.head + first, send)
        async for chunk in stream.chunks:
            await _send_chunk(chunk, send)
        await _send_chunk(b"", send, is_last=True)


async def _send_chunk(chunk: bytes, send: Send, *, is_last: bool = False) -> None:
    try:
        async with asyncio.timeout(STALLED_AFTER_S):
            await send({"type": "http.response.body", "body": chunk, "more_body": not is_last})
    except TimeoutError:
        raise _Stalled from None
    await asyncio.sleep(0)  # Rows may come without waiting; other requests run between them.


async def _begin(file: SentFile, stream: Stream, send: Send) -> None:
    headers = [
        (b"content-type", file.content_type),
        (b"content-disposition", f'attachment; filename="{stream.filename}"'.encode()),
        *VARIES,
        *stream.headers,
    ]
    await send({"type": "http.response.start", "status": stream.status, "headers": headers})
