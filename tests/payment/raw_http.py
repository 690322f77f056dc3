"""A connection that sends whatever it is told to, for requests that no HTTP library would write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import httpx

from build import Shop

ANSWER_WITHIN_S = 60.0


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def drip(self, data: bytes, *, every_s: float) -> None:
        """For as long as the server listens."""
        with suppress(ConnectionError):
            while True:
                await self.send(data)
                await asyncio.sleep(every_s)

    def end(self) -> None:
        """Says that nothing more will be sent, and goes on listening."""
        self._writer.write_eof()

    async def answer(self) -> httpx.Response:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *lines = head.strip().split("\r\n")
            headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
            length = int(dict(headers).get("content-length", 0))
            content = await self._reader.readexactly(length)
        request = httpx.Request("GET", "http://raw")
        return httpx.Response(int(line.split()[1]), headers=headers, content=content, request=request)

    async def is_closed(self) -> bool:
        """The server has ended the connection cleanly, with nothing more to say; a reset raises."""
        async with asyncio.timeout(ANSWER_WITHIN_S):
            return await self._reader.read() == b""

    async def is_cut(self) -> bool:
        """Closed or reset: what is still on its way when a server closes turns the one into the other."""
        try:
            return await self.is_closed()
        except ConnectionResetError:
            return True

    async def is_open(self) -> bool:
        """Shown by one more request, which is answered."""
        await self.send(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        return (await self.answer()).status_code == 200


@asynccontextmanager
async def open_wire(base_url: str) -> AsyncIterator[Wire]:
    url = urlsplit(base_url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def ask(base_url: str, request: bytes) -> httpx.Response:
    async with open_wire(base_url) as wire:
        await wire.send(request)
        return await wire.answer()


def head(
    shop: Shop | None, *more: bytes, length: int | None = None, line: bytes = b"POST /checkout/payments HTTP/1.1"
) -> bytes:
    """A head that is let in when it has a shop; with other header lines after the usual ones."""
    lines = [line, b"host: localhost", b"content-type: application/json"]
    if shop is not None:
        lines += [f"{name}: {value}".encode() for name, value in shop.create_headers.items()]
    lines += more
    if length is not None:
        lines.append(b"content-length: %d" % length)
    return b"\r\n".join(lines) + b"\r\n\r\n"


CHUNKED = b"transfer-encoding: chunked"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
