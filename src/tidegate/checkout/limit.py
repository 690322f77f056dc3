"""How often one address, and one payment, may be called. Guessing and card testing end here."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address

from tidegate.core.errors import RateLimited
from tidegate.infra.rate_limit import RateLimit

# Looks and acts are forgotten after ten seconds at most. Addresses fall anywhere among the slots, so all of their 2 MB
# come into memory.
MOMENTS_SLOTS = 1 << 18


@dataclass(frozen=True)
class Allowance:
    # Keeps the slots of one address apart.
    name: bytes
    per_second: float
    burst: int


class Limited:
    """What is limited, and to how much."""

    LOOK = Allowance(b"LOOK/", per_second=20, burst=60)
    ACT = Allowance(b"ACT/", per_second=2, burst=20)
    # Ten card attempts in ten minutes from one address; five per payment are the payment's own rule.
    CARD = Allowance(b"CARD/", per_second=10 / 600, burst=10)


@dataclass(frozen=True)
class PayerLimit:
    moments: RateLimit
    # Kept apart: card attempts last for minutes, and whoever tries many must keep nobody else from looking.
    cards: RateLimit
    # Without it, somebody could choose an address that shares a slot with another visitor's.
    key: bytes

    def check(self, what: Allowance, who: str) -> None:
        limit = self.cards if what is Limited.CARD else self.moments
        wait_s = limit.wait_s(self._slot(what, who), per_second=what.per_second, burst=what.burst)
        if wait_s > 0:
            raise RateLimited("too many requests from here; wait a little", retry_after_s=math.ceil(wait_s))

    def _slot(self, what: Allowance, who: str) -> int:
        name = self._keyed.copy()
        name.update(what.name + _household(who).encode())
        return int.from_bytes(name.digest())

    @cached_property
    def _keyed(self) -> hashlib.blake2b:
        return hashlib.blake2b(key=self.key, digest_size=8)


def _household(address: str) -> str:
    """Whoever has one IPv6 address has the 2⁶⁴ beside it too, and could call from another each time."""
    if ":" not in address:
        return address
    try:
        whole = ip_address(address)
    except ValueError:
        return address
    mapped = getattr(whole, "ipv4_mapped", None)
    return str(mapped) if mapped else whole.packed[:8].hex()
