"""Limits on requests of unknown callers: by address, or by whatever they name. Checked before a body is read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.types import Scope

from tidegate.core.errors import RateLimited
from tidegate.infra.rate_limit import RateLimit

# Declared by an operation, a page or a route; raises RateLimited.
Limit = Callable[[Scope], None]
# A household or a company is given a /56 more often than a /64: rotating through its 256 networks gains this much.
WIDE_NETWORK_FACTOR = 4


@dataclass(frozen=True)
class Allowance:
    # Keeps the counts of one address, or one payment, apart.
    name: str
    per_second: float
    burst: int

    def of(self, who: str) -> Counted:
        return Counted(self, who)

    def of_address(self, address: str) -> tuple[Counted, ...]:
        """An IPv6 address counts as its /64, which one caller has whole, and as its /56 with a larger allowance."""
        return tuple(
            Counted(self if factor == 1 else self._times(factor), network) for network, factor in networks_of(address)
        )

    def _times(self, factor: int) -> Allowance:
        return replace(self, per_second=self.per_second * factor, burst=self.burst * factor)


@dataclass(frozen=True)
class Counted:
    allowance: Allowance
    who: str


# Most addresses ask more than once.
@lru_cache(maxsize=4_096)
def networks_of(address: str) -> tuple[tuple[str, int], ...]:
    """What an address is counted as, and how many times the allowance of one address each has. All that is no address
    is counted as one."""
    try:
        ip = ip_address(address)
    except ValueError:
        return (("", 1),)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is None:
        return (ip.packed[:8].hex(), 1), (ip.packed[:7].hex(), WIDE_NETWORK_FACTOR)
    return ((str(getattr(ip, "ipv4_mapped", None) or ip), 1),)


@dataclass(frozen=True)
class Limiter:
    slots: RateLimit
    # Without it, a caller could choose a name that shares a slot with another caller's.
    key: bytes

    def check(self, counted: Iterable[Counted], message: str) -> None:
        """A refused request costs nothing."""
        slots = [(self._slot(one), one.allowance) for one in counted]
        self._refuse(slots, message)
        self._count(slots)

    def refuse(self, counted: Iterable[Counted], message: str) -> None:
        """Where only failures count, and are counted once they are known."""
        self._refuse([(self._slot(one), one.allowance) for one in counted], message)

    def count(self, counted: Iterable[Counted]) -> None:
        self._count([(self._slot(one), one.allowance) for one in counted])

    def _refuse(self, slots: Iterable[tuple[int, Allowance]], message: str) -> None:
        waits = (self.slots.peek_s(slot, per_second=one.per_second, burst=one.burst) for slot, one in slots)
        wait_s = max(waits, default=0.0)
        if wait_s > 0:
            raise RateLimited(message, retry_after_s=math.ceil(wait_s))

    def _count(self, slots: Iterable[tuple[int, Allowance]]) -> None:
        for slot, one in slots:
            self.slots.count(slot, per_second=one.per_second, burst=one.burst)

    def _slot(self, one: Counted) -> int:
        name = self._keyed.copy()
        name.update(f"{one.allowance.name}/{one.who}".encode())
        return int.from_bytes(name.digest())

    @cached_property
    def _keyed(self) -> hashlib.blake2b:
        return hashlib.blake2b(key=self.key, digest_size=8)
