"""Stands between the service and PostgreSQL: cuts connections, at a COMMIT or anywhere, slows and holds them."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

from chaos.protocol import CommitWatch, MessageSplitter

CHUNK_BYTES = 65_536


class CommitCut(StrEnum):
    """Where the connection ends: nothing, perhaps, or surely committed. The service hears of none."""

    BEFORE = "before COMMIT"
    DURING = "during COMMIT"
    AFTER = "after COMMIT"


class Proxy:
    def __init__(self, socket_path: str, writes: re.Pattern[bytes]) -> None:
        self._socket_path = socket_path
        self._writes = writes
        self.port = 0
        # Cuts that wait for their commit.
        self.armed: deque[CommitCut] = deque()
        self.cuts: Counter[CommitCut] = Counter()
        self.commits = 0
        self.delay_s = 0.0
        self.flows = asyncio.Event()
        self.flows.set()
        self._sessions: set[_Session] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut(len(self._sessions))

    def cut(self, count: int) -> int:
        """Ends some of the connections, whatever goes on in them."""
        chosen = list(self._sessions)[:count]
        for session in chosen:
            session.abort()
        return len(chosen)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_unix_connection(self._socket_path)
        except OSError:
            writer.transport.abort()
            return
        session = _Session(self, (reader, writer), server, CommitWatch(self._writes))
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._sessions.discard(session)


class _Session:
    def __init__(
        self,
        proxy: Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        watch: CommitWatch,
    ) -> None:
        self._proxy = proxy
        self._from_client, self._to_client = client
        self._from_server, self._to_server = server
        self._watch = watch
        # Set between a commit that was sent on and its answer, which will not be.
        self._is_muted = False

    async def run(self) -> None:
        pumps = [asyncio.create_task(self._ask()), asyncio.create_task(self._answer())]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def abort(self) -> None:
        self._to_client.transport.abort()
        self._to_server.transport.abort()

    async def _ask(self) -> None:
        splitter = MessageSplitter(is_of_client=True)
        with suppress(OSError):
            while data := await self._from_client.read(CHUNK_BYTES):
                await self._hold_up()
                for message in splitter.feed(data):
                    if not self._send_on(message):
                        return
                await self._to_server.drain()

    def _send_on(self, message: bytes) -> bool:
        """False when the connection ends here."""
        if not self._watch.commits(message):
            self._to_server.write(message)
            return True
        self._proxy.commits += 1
        cut = self._proxy.armed.popleft() if self._proxy.armed else None
        if cut is not None:
            self._proxy.cuts[cut] += 1
        if cut is CommitCut.BEFORE:
            return False
        self._to_server.write(message)
        self._is_muted = cut is CommitCut.AFTER
        # The bytes are in the socket, so that the server may do it or not.
        return cut is not CommitCut.DURING

    async def _answer(self) -> None:
        splitter = MessageSplitter(is_of_client=False)
        with suppress(OSError):
            while data := await self._from_server.read(CHUNK_BYTES):
                await self._hold_up()
                is_ready = [self._watch.is_ready(message) for message in splitter.feed(data)]
                if self._is_muted:
                    if any(is_ready):
                        return
                    continue
                self._to_client.write(data)
                await self._to_client.drain()

    async def _hold_up(self) -> None:
        await self._proxy.flows.wait()
        if self._proxy.delay_s:
            await asyncio.sleep(self._proxy.delay_s)
