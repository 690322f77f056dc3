"""Gives answers that the API never would: damaged, slow, or of something that stands in between."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

TEXT = b"reference,amount"
BETWEEN_PARTS_S = 0.05
PARTS = 200


@dataclass
class Canned:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes = b"{}"
    # Its last bytes come one by one, for ten seconds in all.
    is_slow: bool = False

    @property
    def head(self) -> bytes:
        named = {"content-length": str(len(self.body)), "connection": "close", **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return f"HTTP/1.1 {self.status} Canned\r\n{lines}\r\n".encode()


GOOD = Canned(200, {}, TEXT)
DAMAGED = Canned(200, {"content-encoding": "gzip"}, TEXT)
SLOW = Canned(200, {}, TEXT + b" " * PARTS, is_slow=True)
# Blocks of nothing: however many have come, there is no text.
_EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
_COMPRESSED = gzip.compress(b"")[:10] + _EMPTY_BLOCK * (PARTS // len(_EMPTY_BLOCK))
SLOW_COMPRESSED = Canned(200, {"content-encoding": "gzip"}, _COMPRESSED, is_slow=True)


@dataclass
class CannedServer:
    answers: list[Canned]
    url: str = ""
    requests: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The client may have had enough.
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            answer = self.answers[min(self.requests, len(self.answers) - 1)]
            self.requests += 1
            at_once = len(answer.body) - PARTS if answer.is_slow else len(answer.body)
            writer.write(answer.head + answer.body[:at_once])
            await writer.drain()
            for byte in answer.body[at_once:]:
                await asyncio.sleep(BETWEEN_PARTS_S)
                writer.write(bytes([byte]))
                await writer.drain()
        writer.close()


@asynccontextmanager
async def answering(*answers: Canned) -> AsyncIterator[CannedServer]:
    """Each in its turn, the last one again and again."""
    canned = CannedServer([*answers])
    server = await asyncio.start_server(canned.serve, "127.0.0.1", 0)
    canned.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield canned
    finally:
        server.close()
