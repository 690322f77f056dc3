"""How often the pages of payment links were opened: counted in memory, written beside the requests.

A process that is killed loses what it counted in the last seconds.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from tidegate.core.errors import Unavailable
from tidegate.infra.db import Database
from tidegate.payment_link import store

WRITE_EVERY_S = 1.0
# Between two writes, in each process. Openings of more links are not counted.
LINKS_MAX = 1_000


class LinkOpenings:
    def __init__(self, db: Database) -> None:
        self._db = db
        # By business and link.
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, business_id: str, link_id: str) -> None:
        """On the way of a request: nothing but an entry in a table."""
        key = (business_id, link_id)
        if len(self._counts) < LINKS_MAX or key in self._counts:
            self._counts[key] += 1

    async def keep_writing(self) -> None:
        """Runs for as long as the process serves requests."""
        while True:
            await asyncio.sleep(WRITE_EVERY_S)
            await self.write()

    async def write(self) -> None:
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            # Each by itself: no row is locked for longer than its own update, and never two at once.
            async with self._db.connection() as tx:
                for key, times in list(counts.items()):
                    await store.add_openings(tx, *key, times)
                    del counts[key]
        except Unavailable:
            self._counts.update(counts)
