"""Concurrent creates and lookups share a statement, a round trip and a commit."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.infra.batcher import Batcher
from tidegate.infra.db import Database
from tidegate.infra.per_business import per_business
from tidegate.payment import store, view_store
from tidegate.payment.model import Draft
from tidegate.payment.row import PaymentRow
from tidegate.payment.store import Inserted, PaymentKey


class PaymentBatching:
    def __init__(self, db: Database) -> None:
        self._db = db
        # One batch at a time: a second would only make both smaller, and two commits of one process wait for each
        # other.
        self.insert = Batcher(self._insert_all, concurrency=1).do
        self.find = Batcher(self._find_all, concurrency=1, ticks=1).do

    async def _insert_all(self, drafts: Sequence[Draft]) -> list[Inserted | None]:
        return await per_business(drafts, self._insert) if self._db.is_cluster else await self._insert(drafts)

    async def _insert(self, drafts: Sequence[Draft]) -> list[Inserted | None]:
        async with self._db.connection() as tx:
            return await store.insert_all(tx, drafts)

    async def _find_all(self, keys: Sequence[PaymentKey]) -> list[PaymentRow | None]:
        if self._db.is_cluster:
            return await per_business(keys, self._find_of_business)
        async with self._db.connection() as tx:
            return await view_store.find_rows(tx, keys)

    async def _find_of_business(self, keys: Sequence[PaymentKey]) -> list[PaymentRow | None]:
        async with self._db.connection() as tx:
            return await view_store.find_rows_of_business(tx, keys)
