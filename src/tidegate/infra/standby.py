"""The synchronous standby, for which answers wait.

A commit waits for it before others see what was written, unless that wait is cut short: by an operator who cancels it,
or by a PostgreSQL that starts again after a crash. Then everyone sees what no standby has, and a failover loses it. So
where there is such a standby, an answer leaves when it has all that could be read for that answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from tidegate.core.errors import Unavailable
from tidegate.infra import standby_store
from tidegate.infra.batcher import Batcher
from tidegate.infra.db import Database

LOOK_EVERY_S = 1.0
# A standby that is away holds up an answer no longer. After some seconds Patroni lets the primary go on alone.
WAIT_S = 2.0
RETRY_AFTER_S = 1
# One commit serves all answers that wait at that moment.
ANSWERS_MAX = 10_000


class Standby:
    def __init__(self, databases: Sequence[Database]) -> None:
        """The databases are connections to the one server, the first of them for the questions asked here."""
        self._databases = databases
        # Until it is known.
        self._is_synchronous = True
        self._confirming: Batcher[None, None] = Batcher(self._confirm_all, concurrency=1, batch_max=ANSWERS_MAX)

    def reads(self) -> int:
        """So many times something was asked of the database, for whatever request; 0 while no standby is waited for."""
        return sum([database.loans for database in self._databases]) if self._is_synchronous else 0

    def may_lack(self, reads_before: int) -> bool:
        """Whether what was read since may be without a standby."""
        return self._is_synchronous and self.reads() != reads_before

    async def confirm(self) -> None:
        """Returns when the standby has all that could be read until now."""
        try:
            async with asyncio.timeout(WAIT_S):
                await self._confirming.do(None)
        except TimeoutError:
            raise Unavailable(
                f"the database waits for its standby, without which it does not answer; retry after {RETRY_AFTER_S} s",
                retry_after_s=RETRY_AFTER_S,
            ) from None

    async def follow(self) -> None:
        """Until cancelled."""
        while True:
            with suppress(Unavailable):
                async with self._databases[0].connection() as tx:
                    self._is_synchronous = await standby_store.is_synchronous(tx)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _confirm_all(self, answers: Sequence[None]) -> Sequence[None]:
        async with self._databases[0].connection() as tx:
            await standby_store.await_all(tx)
        return answers
