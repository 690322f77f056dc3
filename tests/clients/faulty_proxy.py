"""Between a client and the API: lets requests through, or cuts, refuses and delays them, as a script says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

CUT = "cut"  # The API gets the request; its answer is lost.
PASS = "pass"


def refused(status: int, **headers: str) -> str:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} No\r\ncontent-length: 2\r\nconnection: close\r\n{lines}\r\n{{}}"


@dataclass
class FaultyProxy:
    target: str
    url: str = ""
    # One for each request; afterwards everything passes.
    script: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.requests.append((first, headers))
            step = self.script.pop(0) if self.script else PASS
            if step in (CUT, PASS):
                answer = await self._ask(head.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), body)
                writer.write(b"" if step == CUT else answer)
            else:
                writer.write(step.encode())
            await writer.drain()
        writer.close()

    async def _ask(self, head: bytes, body: bytes) -> bytes:
        address = urlsplit(self.target)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(_without_keep_alive(head) + body)
        await writer.drain()
        answer = await reader.read()
        writer.close()
        return answer


def _without_keep_alive(head: bytes) -> bytes:
    lines = head.split(b"\r\n")
    return b"\r\n".join(line for line in lines if line.lower() != b"connection: keep-alive")


@asynccontextmanager
async def faulty(target: str) -> AsyncIterator[FaultyProxy]:
    proxy = FaultyProxy(target)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    # The API knows itself by one name and port only; the Host header is the proxy's, so it must be a loopback name.
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
