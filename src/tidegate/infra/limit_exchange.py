"""Rate limits over several machines: each tells the others, a few times a second, what it has let pass.

One notification of PostgreSQL carries the callers who have used a noticeable part of their allowance; no request waits
for it. What was let pass before the others were known is owed, so that over some seconds the limit holds.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tidegate.core.errors import Unavailable
from tidegate.infra.db import Database
from tidegate.infra.rate_limit import RateLimit, Used

CHANNEL = "tidegate_limits"
EVERY_S = 0.25
# Callers who used less than this share of their allowance are not worth a word.
SHARE_MIN = 0.05
# PostgreSQL takes notifications of less than 8,000 bytes.
CALLERS_MAX = 300
MACHINE_BYTES = 8
_CALLER = struct.Struct("!BIff")


class LimitExchange:
    def __init__(self, db: Database, limits: Sequence[RateLimit], machine: bytes, lock: Path) -> None:
        """`machine` is the same for all processes that share the limits' files; the one that holds `lock` listens."""
        self._db = db
        self.limits = limits
        self.machine = machine[:MACHINE_BYTES]
        self._lock = lock
        for limit in limits:
            limit.share()

    async def keep_sending(self) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            payload = write(self.machine, enumerate(self.limits))
            # What is not sent because the database is away is forgotten: until then each machine counts for itself.
            with suppress(Unavailable):
                if payload is not None:
                    await self._db.notify_with(CHANNEL, payload)

    async def keep_listening(self) -> None:
        with self._lock.open("w") as lock:
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    await self._db.listen_to(CHANNEL, self.receive)
                await asyncio.sleep(1)

    def receive(self, payload: str) -> None:
        for index, used in read(payload, unless_of=self.machine):
            if index < len(self.limits):
                self.limits[index].add(used)


def write(machine: bytes, limits: Iterable[tuple[int, RateLimit]]) -> str | None:
    """None when there is nothing to send."""
    callers = [
        _CALLER.pack(index, *used)
        for index, limit in limits
        for used in limit.take_used(share_min=SHARE_MIN, most=CALLERS_MAX)
    ]
    return base64.b64encode(machine + b"".join(callers[:CALLERS_MAX])).decode() if callers else None


def read(payload: str, *, unless_of: bytes) -> Iterator[tuple[int, Used]]:
    """Nothing when it is one's own, or of another version."""
    body = base64.b64decode(payload)
    machine, callers = body[:MACHINE_BYTES], body[MACHINE_BYTES:]
    if machine != unless_of and len(callers) % _CALLER.size == 0:
        for index, *used in _CALLER.iter_unpack(callers):
            yield index, Used(*used)
