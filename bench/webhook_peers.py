"""The two programs beside the worker: a merchant's server that says yes at once, and a bare client as the yardstick."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from typing import cast

import aiohttp
import uvloop

HOOK, COUNT, ARRIVALS, FORGET = "/hook", "/count", "/arrivals", "/forget"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ID = re.compile(rb"\r\nwebhook-id: *([^\r]+)", re.IGNORECASE)


class Receiver(asyncio.Protocol):
    """One for each connection; the class has what came. Times are of the clock that all processes share."""

    count = 0
    # The first of each event.
    arrivals: dict[str, float] = {}  # noqa: RUF012 -- shared by all connections on purpose

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            length = _LENGTH.search(head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            body = self._answer(head)
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))

    def _answer(self, head: bytes) -> bytes:
        if head.startswith(b"POST"):
            if event_id := _ID.search(head):
                self.arrivals.setdefault(event_id[1].decode(), time.monotonic())
            Receiver.count += 1
            return b"ok"
        path = head.split(b" ", 2)[1].decode()
        if path == FORGET:
            Receiver.count = 0
            self.arrivals.clear()
        found = self.arrivals if path == ARRIVALS else {"count": Receiver.count, "at": time.monotonic()}
        return json.dumps(found).encode()


async def receive(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


async def post(*, url: str, headers: dict[str, str], body: str, at_once: int, lead_s: float, seconds: float) -> int:
    """The same bytes again and again; how many were answered, without the first moments."""
    begins_at = time.monotonic() + lead_s
    count = 0

    async def repeat(session: aiohttp.ClientSession) -> None:
        nonlocal count
        while (now := time.monotonic()) < begins_at + seconds:
            async with session.post(url, data=body.encode(), headers=headers, allow_redirects=False) as response:
                await response.read()
                response.raise_for_status()
            count += begins_at <= now

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        await asyncio.gather(*(repeat(session) for _ in range(at_once)))
    return count


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        uvloop.run(receive(int(os.environ["PORT"])))
    else:
        print(uvloop.run(post(**json.load(sys.stdin))))
