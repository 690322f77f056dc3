"""Limits on sign-in attempts: by address, by account, and by a browser that has signed in before.

Only failures of an account are counted. It is slowed and never locked; a known browser has an allowance of its own, so
that a stranger who guesses does not keep the owner out.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Scope

from tidegate.core.errors import RateLimited
from tidegate.infra.http.client import client_of
from tidegate.infra.http.limit import Allowance, Counted, Limiter

_ACCOUNT = Allowance("account", per_second=1 / 30, burst=5)
_DEVICE = Allowance("device", per_second=1 / 10, burst=10)
_ADDRESS = Allowance("sign-in", per_second=20 / 60, burst=20)
_FORMS = Allowance("dashboard", per_second=5, burst=60)
_RESET = Allowance("reset", per_second=3 / 3_600, burst=3)
_TOO_MANY = "too many tries; wait as long as it says and try again"


@dataclass(frozen=True)
class SignInLimit:
    limiter: Limiter

    def form(self, scope: Scope) -> None:
        """Of forms of a signed-in person: before the form is read."""
        self.limiter.check(_FORMS.of_address(client_of(scope)), "too many requests; slow down")

    def address(self, scope: Scope) -> None:
        """Of forms by anybody: before the form is read."""
        self.limiter.check(_ADDRESS.of_address(client_of(scope)), _TOO_MANY)

    def account(self, email: str) -> tuple[Counted, ...]:
        return (_ACCOUNT.of(email),)

    def device(self, device_hash: bytes) -> tuple[Counted, ...]:
        return (_DEVICE.of(device_hash.hex()),)

    def refuse(self, counted: tuple[Counted, ...]) -> None:
        self.limiter.refuse(counted, _TOO_MANY)

    def count_failure(self, counted: tuple[Counted, ...]) -> None:
        self.limiter.count(counted)

    def may_mail_reset(self, email: str) -> bool:
        """The page is the same whether or not the address is known."""
        try:
            self.limiter.check((_RESET.of(email),), _TOO_MANY)
        except RateLimited:
            return False
        return True
