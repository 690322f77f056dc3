"""A merchant's server for webhooks: a real one, on a port of its own, that does as it is told."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Behaviour = Callable[["Exchange"], Awaitable[None]]


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]


@dataclass
class Exchange:
    """One request, and the raw connection to answer it on. A behaviour that returns without closing keeps it alive."""

    received: Received
    writer: asyncio.StreamWriter
    is_over: bool = False

    async def send(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def close(self) -> None:
        self.is_over = True
        self.writer.close()


def answer(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    raw = f"HTTP/1.1 {status} Whatever\r\ncontent-length: {len(body)}\r\n{lines}\r\n".encode() + body

    async def behave(exchange: Exchange) -> None:
        await exchange.send(raw)

    return behave


async def hang(exchange: Exchange) -> None:
    """Takes the request and says nothing, until the other side has had enough."""
    exchange.is_over = True
    with suppress(OSError):
        await asyncio.Event().wait()


async def reset(exchange: Exchange) -> None:
    exchange.is_over = True
    exchange.writer.transport.abort()


async def close(exchange: Exchange) -> None:
    await exchange.close()


def says(raw: bytes) -> Behaviour:
    """These very bytes, and then the end."""

    async def behave(exchange: Exchange) -> None:
        await exchange.send(raw)
        await exchange.close()

    return behave


def repeats(first: bytes, again: bytes, every_s: float = 0.0) -> Behaviour:
    """Never ends by itself."""

    async def behave(exchange: Exchange) -> None:
        exchange.is_over = True
        with suppress(OSError):
            await exchange.send(first)
            while not exchange.writer.is_closing():
                await exchange.send(again)
                await asyncio.sleep(every_s)

    return behave


OK = answer(200, b"thank you")
HUGE_BODY = repeats(b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n", b"x" * 65_536)
SLOW_DRIP = repeats(b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n", b"x", every_s=0.05)
ENDLESS_HEADERS = repeats(b"HTTP/1.1 200 OK\r\n", b"x-more: and more\r\n")
LONG_HEADER = repeats(b"HTTP/1.1 200 OK\r\nx-long: ", b"x" * 65_536)
FLOOD_OF_1XX = repeats(b"", b"HTTP/1.1 102 Processing\r\n\r\n")
JUNK = says(b"\x00\x01\x02 this is no HTTP \xff\xff\r\n\r\n")
HTTP_0_9 = says(b"<html>hello</html>\r\n")
GZIP_BOMB = answer(200, gzip.compress(bytes(10_000_000)), content_encoding="gzip")
HALF = says(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this")
SWITCHING = says(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: other\r\nconnection: upgrade\r\n\r\n")


@dataclass
class Receiver:
    """`received` grows; `script` is used up one behaviour a request, `behaviour` is what comes after it."""

    port: int = 0
    behaviour: Behaviour = OK
    script: list[Behaviour] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    at_once: int = 0
    at_once_most: int = 0
    scheme: str = "http"
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def got(self, count: int, timeout_s: float = 60.0) -> None:
        """Until that many have come in all."""
        async with asyncio.timeout(timeout_s):
            while len(self.received) < count:
                self._news.clear()
                await self._news.wait()

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split(" ", 2)
        self.received.append(Received(method, path, headers, body))
        self._news.set()
        self.at_once += 1
        self.at_once_most = max(self.at_once, self.at_once_most)
        exchange = Exchange(self.received[-1], writer)
        behave = self.script.pop(0) if self.script else self.behaviour
        watch = asyncio.create_task(_end_of(reader, writer)) if behave is hang else None
        try:
            await (asyncio.wait_for(behave(exchange), None) if watch is None else _either(behave(exchange), watch))
        finally:
            self.at_once -= 1
        return not exchange.is_over


async def _end_of(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.close()


async def _either(behaviour: Awaitable[None], watch: asyncio.Task[None]) -> None:
    hanging = asyncio.ensure_future(behaviour)
    await asyncio.wait([hanging, watch], return_when=asyncio.FIRST_COMPLETED)
    hanging.cancel()


@asynccontextmanager
async def receiving(behaviour: Behaviour = OK, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver(behaviour=behaviour, scheme="https" if tls else "http")
    open_ones: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        try:
            await receiver.serve(reader, writer)
        finally:
            open_ones.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in list(open_ones):
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)
