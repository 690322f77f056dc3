"""When and from where each key was last used: noted in memory, written in the background at most once a minute."""

from __future__ import annotations

import asyncio

from tidegate.core.clock import Clock, monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.infra.db import Database
from tidegate.merchant import store
from tidegate.merchant.model import Caller, KeyUse

WRITE_EVERY_S = 60.0
LOOK_EVERY_S = 5.0
KEYS_MAX = 50_000


class KeyUses:
    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._newest: dict[int, tuple[str, str]] = {}
        self._written_at: dict[int, float] = {}

    def note(self, caller: Caller, address: str) -> None:
        """On the way of every request: nothing but an entry in a table."""
        if len(self._newest) < KEYS_MAX or caller.key.id in self._newest:
            self._newest[caller.key.id] = (caller.business.id, address)

    async def keep_writing(self) -> None:
        """Runs for as long as the process serves requests."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.write()

    async def write(self) -> None:
        now_s = monotonic_s()
        due = [
            key_id for key_id in self._newest if now_s - self._written_at.get(key_id, float("-inf")) >= WRITE_EVERY_S
        ]
        uses = [
            KeyUse(business_id, key_id, address, self._clock.now_of(business_id))
            for key_id in due
            for business_id, address in [self._newest.pop(key_id)]
        ]
        if not uses:
            return
        try:
            async with self._db.connection() as tx:
                await store.note_uses(tx, uses)
        except Unavailable:
            return  # The next use is written.
        if len(self._written_at) > KEYS_MAX:
            self._written_at.clear()
        self._written_at.update(dict.fromkeys(due, now_s))
