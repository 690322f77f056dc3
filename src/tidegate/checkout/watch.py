"""Tells open pages that their payment has changed, with one question a round for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidegate.checkout import store
from tidegate.core.errors import Unavailable
from tidegate.infra.db import Database

POLL_EVERY_S = 0.4
WATCHERS_MAX = 5_000

Key = tuple[str, str]


class Watch:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: dict[Key, set[asyncio.Event]] = {}
        self._versions: dict[Key, int] = {}
        self._count = 0

    def refuse_crowd(self) -> None:
        """Said before the answer begins; from then on it could only be cut."""
        if self._count >= WATCHERS_MAX:
            raise Unavailable("too many pages are open; ask again now and then instead", retry_after_s=5)

    @asynccontextmanager
    async def on(self, business_id: str, pay_code: str) -> AsyncIterator[asyncio.Event]:
        """The event is set whenever the payment has changed; whoever waits clears it."""
        key, changed = (business_id, pay_code), asyncio.Event()
        self._waiting.setdefault(key, set()).add(changed)
        # Others may have been told already of what this page has not seen: the next look tells everybody again.
        self._versions.pop(key, None)
        self._count += 1
        try:
            yield changed
        finally:
            self._count -= 1
            self._waiting[key].discard(changed)
            if not self._waiting[key]:
                del self._waiting[key]
                self._versions.pop(key, None)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(POLL_EVERY_S)
            if self._waiting:
                await self._look()

    async def _look(self) -> None:
        try:
            async with self._db.connection() as tx:
                versions = await store.list_versions(tx, list(self._waiting))
        except Unavailable:
            return
        for key, version in versions.items():
            # The first look is a change too: it may have come between the page's own look and this one.
            if self._versions.get(key) != version and key in self._waiting:
                self._versions[key] = version
                for changed in self._waiting[key]:
                    changed.set()
