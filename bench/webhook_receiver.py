"""A merchant's server that does nothing but say yes at once, and remember when each webhook came.

What is sent to HANG gets no answer until RELEASE. It keeps its own time, by the clock that all processes share.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable
from typing import cast

import uvloop

HOOK, HANG = "/hook", "/hang"
READY, COUNT, ARRIVALS, FORGET, RELEASE = "/ready", "/count", "/arrivals", "/forget", "/release"
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ID = re.compile(rb"\r\nwebhook-id: *([^\r]+)", re.IGNORECASE)
_YES = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: text/plain\r\n\r\nok"


class Log:
    """`arrivals` has the first of each id; `count` is of all that were answered."""

    def __init__(self) -> None:
        self.count = 0
        self.arrivals: dict[bytes, float] = {}
        self.hanging: list[asyncio.Transport] = []

    def answer(self, path: str) -> object:
        answers: dict[str, Callable[[], object]] = {
            READY: dict,
            COUNT: lambda: {"count": self.count, "at": time.monotonic(), "hanging": len(self.hanging)},
            ARRIVALS: lambda: {event_id.decode(): at for event_id, at in self.arrivals.items()},
            FORGET: self._forget,
            RELEASE: self._release,
        }
        return answers[path]()

    def _forget(self) -> object:
        self.count = 0
        self.arrivals.clear()
        return {}

    def _release(self) -> object:
        for transport in self.hanging:
            transport.close()
        self.hanging.clear()
        return {}


class Connection(asyncio.Protocol):
    def __init__(self, log: Log) -> None:
        self._log = log
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(_END)) >= 0:
            head = self._buffer[:end]
            length = _LENGTH.search(head)
            whole = end + len(_END) + (int(length[1]) if length else 0)
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            self._take(head)

    def _take(self, head: bytes) -> None:
        if head.startswith(b"GET"):
            body = json.dumps(self._log.answer(head.split(b" ", 2)[1].decode())).encode()
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            return
        if head.startswith(b"POST " + HANG.encode()):
            self._log.hanging.append(self._transport)
            return
        event_id = _ID.search(head)
        if event_id:
            self._log.arrivals.setdefault(event_id[1], time.monotonic())
        self._transport.write(_YES)
        self._log.count += 1


async def serve(port: int) -> None:
    log = Log()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(log), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(os.environ["PORT"])))
