"""A cache of keys, cleared when any key changes."""

from __future__ import annotations

import asyncio
import hmac

from tidegate.core import ids
from tidegate.core.clock import Clock, monotonic_s
from tidegate.core.errors import Unavailable
from tidegate.infra.db import Database
from tidegate.merchant import store
from tidegate.merchant.model import Business, Caller, KeyKind, hash_of

# A revoked key must be refused everywhere within a second: the epoch is read every 0.3 s, and the cache
# is valid only while the last reading is younger than 0.9 s.
POLL_EVERY_S = 0.3
TRUSTED_FOR_S = 0.9
REMEMBERED_MAX = 50_000
UNKNOWN_MAX = 10_000
_DUMMY_HASH = bytes(32)


class KeyCache:
    def __init__(self, db: Database, clock: Clock, mode: ids.Mode) -> None:
        self.mode = mode
        self._db = db
        self._clock = clock
        self._is_well_formed = {
            KeyKind.SECRET: lambda key: ids.is_secret_key(key, mode),
            KeyKind.PUBLIC: lambda key: ids.is_public_key(key, mode),
        }
        self._remembered: dict[bytes, Caller] = {}
        # Keys that do not exist: a client with a wrong key repeats it.
        self._unknown: set[bytes] = set()
        # Not cleared by changes: a key that was valid before does not count as unknown.
        self._known_before: set[bytes] = set()
        self._businesses: dict[str, Business] = {}
        self._epoch = -1
        self._read_at = float("-inf")

    def recall(self, key: str, kind: KeyKind) -> Caller | None:
        """From the cache only; None means that the database must be queried."""
        key_hash = hash_of(key)
        found = self._remembered.get(key_hash) if self._is_trusted() else None
        return self._checked(found, key_hash, kind)

    def may_exist(self, key: str, kind: KeyKind) -> bool:
        """For a key that `recall` does not find. A wrong form, mode or checksum, and a key that is cached as unknown,
        need no query."""
        if not self._is_well_formed[kind](key):
            return False
        key_hash = hash_of(key)
        return not (self._is_trusted() and (key_hash in self._unknown or key_hash in self._remembered))

    def was_known(self, key: str) -> bool:
        return hash_of(key) in self._known_before

    async def caller_of(self, key: str, kind: KeyKind) -> Caller | None:
        remembered = self.recall(key, kind)
        if remembered is not None or not self.may_exist(key, kind):
            return remembered
        key_hash = hash_of(key)
        return self._checked(await self._find(key_hash), key_hash, kind)

    def _checked(self, found: Caller | None, key_hash: bytes, kind: KeyKind) -> Caller | None:
        # Unknown keys take the same path, so that the time reveals nothing.
        is_same = hmac.compare_digest(found.key.key_hash if found else _DUMMY_HASH, key_hash)
        if found is None or not is_same:
            return None
        is_valid = found.key.is_lasting or found.key.is_valid_at(self._clock.now_of(found.business.id))
        return found if is_valid and found.key.kind is kind else None

    @property
    def epoch(self) -> int:
        """The cache is no older than this."""
        return self._epoch

    def recall_business(self, code: str) -> Business | None:
        """From the cache only, as `recall`."""
        return self._businesses.get(code) if self._is_trusted() else None

    async def business_by_code(self, code: str) -> Business | None:
        remembered = self.recall_business(code)
        if remembered is not None:
            return remembered
        epoch = self._epoch
        async with self._db.connection() as tx:
            business = await store.find_business_by_code(tx, code)
        if business is not None and epoch == self._epoch and len(self._businesses) < REMEMBERED_MAX:
            self._businesses[code] = business
        return business

    async def watch(self) -> None:
        """Runs for as long as the process serves requests."""
        while True:
            await self.refresh()
            await asyncio.sleep(POLL_EVERY_S)

    async def refresh(self) -> None:
        asked_at = monotonic_s()
        try:
            async with self._db.connection() as tx:
                epoch = await store.get_epoch(tx)
        except Unavailable:
            return  # The cache expires by itself; requests then query the database and get 503 while it is down.
        if epoch != self._epoch:
            self._remembered.clear()
            self._unknown.clear()
            self._businesses.clear()
            self._epoch = epoch
        self._read_at = asked_at

    async def _find(self, key_hash: bytes) -> Caller | None:
        epoch = self._epoch
        async with self._db.connection() as tx:
            found = await store.find_caller(tx, key_hash)
        if found is not None and len(self._known_before) < REMEMBERED_MAX:
            self._known_before.add(key_hash)
        # A change in the meantime may have made this answer stale: use it once, do not cache it.
        if epoch == self._epoch:
            self._remember(key_hash, found)
        return found

    def _remember(self, key_hash: bytes, found: Caller | None) -> None:
        if found is None:
            if len(self._unknown) >= UNKNOWN_MAX:
                self._unknown.clear()
            self._unknown.add(key_hash)
        elif len(self._remembered) < REMEMBERED_MAX:
            self._remembered[key_hash] = found

    def _is_trusted(self) -> bool:
        return monotonic_s() - self._read_at < TRUSTED_FOR_S
