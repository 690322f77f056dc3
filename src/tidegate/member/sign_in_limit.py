"""Limits on sign-in attempts: by account, by a browser that has signed in before, and by address.

Tries are counted in the database, so that they hold over all machines. An account is slowed and never locked; a known
browser has an allowance of its own, so that a stranger who guesses does not keep the owner out. What a flood could send
is refused before that, by a limit of each machine in its memory.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.types import Scope

from tidegate.core.errors import RateLimited
from tidegate.infra.db import Database
from tidegate.infra.http.client import client_of
from tidegate.infra.http.request_limit import Allowance, Limiter, networks_of
from tidegate.member import sign_in_limit_store
from tidegate.member.sign_in_limit_store import CountedTries

_ADDRESS = Allowance("sign-in", per_second=20 / 60, burst=20)
_FORMS = Allowance("dashboard", per_second=5, burst=60)
_TOO_MANY = "too many tries; wait a minute and try again"
PAUSE_MAX_S = 60


@dataclass(frozen=True)
class TryRule:
    name: str
    # So many within the window, which begins with the first.
    free: int
    window: timedelta
    # Then 1, 2, 4 … 60 s apart; otherwise none until the window ends.
    goes_on_slowly: bool

    def of(self, who: str, factor: int = 1) -> TrySubject:
        return TrySubject(self, hashlib.sha256(f"{self.name}/{who}".encode()).digest(), self.free * factor)


@dataclass(frozen=True)
class TrySubject:
    rule: TryRule
    hash: bytes
    free: int


ACCOUNT = TryRule("account", 5, timedelta(days=1), goes_on_slowly=True)
DEVICE = TryRule("device", 10, timedelta(days=1), goes_on_slowly=True)
FACTOR = TryRule("factor", 5, timedelta(days=1), goes_on_slowly=True)
STEP_UP = TryRule("step-up", 5, timedelta(days=1), goes_on_slowly=True)
ADDRESS = TryRule("address", 20, timedelta(minutes=1), goes_on_slowly=False)
RESET = TryRule("reset", 3, timedelta(hours=1), goes_on_slowly=False)
FORGOTTEN_AFTER = timedelta(days=1)


def next_try(subject: TrySubject, found: CountedTries | None, *, now: datetime) -> CountedTries | float:
    """The new count, or how many seconds to wait."""
    rule = subject.rule
    if found is None or now - found.started_at >= rule.window:
        return CountedTries(1, now, now)
    if found.tries < subject.free:
        return CountedTries(found.tries + 1, found.started_at, now)
    if not rule.goes_on_slowly:
        return (found.started_at + rule.window - now).total_seconds()
    pause_s = min(PAUSE_MAX_S, 1 << min(found.tries - subject.free, 6))
    wait_s = pause_s - (now - found.last_at).total_seconds()
    return CountedTries(found.tries + 1, found.started_at, now) if wait_s <= 0 else wait_s


@dataclass(frozen=True)
class SignInLimit:
    limiter: Limiter

    def form(self, scope: Scope) -> None:
        """Of forms of a signed-in person: before the form is read."""
        self.limiter.check(_FORMS.of_address(client_of(scope)), "too many requests; slow down")

    def address(self, scope: Scope) -> None:
        """Of forms without a session: before the form is read."""
        self.limiter.check(_ADDRESS.of_address(client_of(scope)), _TOO_MANY)


def of_address(address: str) -> list[TrySubject]:
    return [ADDRESS.of(network, factor) for network, factor in networks_of(address)]


async def take(db: Database, subjects: Sequence[TrySubject], *, now: datetime) -> None:
    """Counts a try before it is made, so that many at once are not all taken for the first. Raises RateLimited."""
    async with db.transaction() as tx:
        waits_s = []
        # In one order, so that two tries never wait for each other.
        for subject in sorted(subjects, key=lambda one: one.hash):
            decided = next_try(subject, await sign_in_limit_store.lock(tx, subject.hash, now=now), now=now)
            if isinstance(decided, CountedTries):
                await sign_in_limit_store.update(tx, subject.hash, decided)
            else:
                waits_s.append(decided)
        if waits_s:
            raise RateLimited(_TOO_MANY, retry_after_s=math.ceil(max(waits_s)))
        await sign_in_limit_store.delete_old(tx, before=now - FORGOTTEN_AFTER)


async def forget(db: Database, subject: TrySubject) -> None:
    """After a try that was right."""
    async with db.connection() as tx:
        await sign_in_limit_store.delete(tx, subject.hash)
