"""Notifies open pages that their payment has changed, with one query per round for all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidegate.checkout import store
from tidegate.core.errors import RateLimited, Unavailable
from tidegate.infra.db import Database
from tidegate.infra.http.request_limit import networks_of
from tidegate.payment.model import Payment

POLL_EVERY_S = 0.4
# Per process, open at the same time.
WATCHERS_MAX = 5_000
PER_PAYMENT_MAX = 20
RETRY_AFTER_S = 5

WatchKey = tuple[str, str]


class Watcher:
    """`changed` is set when the payment has another version than the page has seen."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.changed = asyncio.Event()

    def clear(self, version: int) -> None:
        self.version = version
        self.changed.clear()


class Watch:
    def __init__(self, db: Database, *, per_address_max: int) -> None:
        self._db = db
        self._per_address_max = per_address_max
        self._waiting: dict[WatchKey, set[Watcher]] = {}
        self._networks: Counter[str] = Counter()
        self._count = 0

    def check_stream_limit(self, payment: Payment, client: str) -> None:
        """Before the response starts; after that it could only be cut off."""
        if self._count >= WATCHERS_MAX:
            raise Unavailable("too many event streams are open; poll the payment instead", retry_after_s=RETRY_AFTER_S)
        if len(self._waiting.get((payment.business_id, payment.pay_code), ())) >= PER_PAYMENT_MAX:
            raise _too_many(f"{PER_PAYMENT_MAX} streams of this payment")
        for network, factor in networks_of(client):
            if self._networks[network] >= self._per_address_max * factor:
                raise _too_many(f"{self._per_address_max * factor} streams from your network")

    @asynccontextmanager
    async def on(self, payment: Payment, client: str) -> AsyncIterator[Watcher]:
        key, watcher = (payment.business_id, payment.pay_code), Watcher(payment.version)
        networks = [network for network, _ in networks_of(client)]
        self._waiting.setdefault(key, set()).add(watcher)
        self._networks.update(networks)
        self._count += 1
        try:
            yield watcher
        finally:
            self._count -= 1
            self._networks.subtract(networks)
            for network in networks:
                if not self._networks[network]:
                    del self._networks[network]
            self._waiting[key].discard(watcher)
            if not self._waiting[key]:
                del self._waiting[key]

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
            for watcher in self._waiting.get(key, ()):
                if watcher.version != version:
                    watcher.changed.set()


def _too_many(what: str) -> RateLimited:
    return RateLimited(
        f"{what} are open, the limit; close one, or poll the payment instead", retry_after_s=RETRY_AFTER_S
    )
