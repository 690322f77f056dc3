"""Rate limits per payment and per address, against guessing and card testing.

Carriers put thousands of payers behind one address. So limits per payment are tight and limits per address wide,
except for what no payer does: requesting payments that do not exist.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import cached_property

from starlette.types import Scope

from tidegate.infra.http.client import client_of
from tidegate.infra.http.request_limit import Allowance, Counted, Limiter

# Counters of reads and writes expire within ten seconds. Addresses are spread over all slots, so all 2 MB become
# resident.
REQUEST_SLOTS = 1 << 18
READ = Allowance("read", per_second=20, burst=60)
WRITE = Allowance("write", per_second=2, burst=20)
UNKNOWN_CODE = Allowance("unknown code", per_second=0.1, burst=20)
# A limited payer still gets the payment this often: per payment, and per address.
SLOWED = Allowance("slowed", per_second=1, burst=3)
SLOWED_AT_ADDRESS = Allowance("slowed at address", per_second=20, burst=60)

_READ_S = READ.burst / READ.per_second
_WRITE_S = WRITE.burst / WRITE.per_second
_HOUR_S = 3600
# The share of an hour's declines that may come at once.
_AT_ONCE = 1 / 6
_MESSAGE = "too many requests for this payment, or from your network; wait for the seconds in Retry-After"
_UNKNOWN = "too many requests for payments that do not exist; wait for the seconds in Retry-After"
_DECLINES = (
    "too many declined cards from your network, for this business or by this card; "
    "wait for the seconds in Retry-After, or use another method"
)


@dataclass(frozen=True, kw_only=True)
class PayerAllowances:
    """The operator's settings: far above the traffic of a carrier's gateway."""

    address_reads_per_second: int
    address_writes_per_second: int
    address_declines_per_hour: int
    business_declines_per_hour: int
    card_declines_per_hour: int

    @cached_property
    def read(self) -> Allowance:
        rate = self.address_reads_per_second
        return Allowance("read at address", per_second=rate, burst=round(rate * _READ_S))

    @cached_property
    def write(self) -> Allowance:
        rate = self.address_writes_per_second
        return Allowance("write at address", per_second=rate, burst=round(rate * _WRITE_S))

    @cached_property
    def declines_at_address(self) -> Allowance:
        return _hourly("declined at address", self.address_declines_per_hour)

    @cached_property
    def declines_of_business(self) -> Allowance:
        return _hourly("declined for business", self.business_declines_per_hour)

    @cached_property
    def declines_of_card(self) -> Allowance:
        return _hourly("declined card", self.card_declines_per_hour)


def _hourly(name: str, count: int) -> Allowance:
    return Allowance(name, per_second=count / _HOUR_S, burst=max(round(count * _AT_ONCE), 1))


@dataclass(frozen=True)
class PayerLimit:
    requests: Limiter
    # Separate: failures are kept for minutes, and many of them must not limit other payers' requests.
    failures: Limiter
    allowances: PayerAllowances

    def read(self, scope: Scope) -> None:
        self._check(scope, READ, self.allowances.read)

    def write(self, scope: Scope) -> None:
        self._check(scope, WRITE, self.allowances.write)

    def _check(self, scope: Scope, payments: Allowance, addresses: Allowance) -> None:
        pay_code = scope["path_params"].get("payCode")
        of_payment = (payments.of(pay_code),) if pay_code else ()
        self.requests.check((*of_payment, *addresses.of_address(client_of(scope))), _MESSAGE)

    def slowed_read(self, pay_code: str, client: str) -> None:
        self.requests.check((SLOWED.of(pay_code), *SLOWED_AT_ADDRESS.of_address(client)), _MESSAGE)

    def count_unknown(self, client: str) -> None:
        """Does not limit other payers at this address: existing payments are still shown."""
        self.failures.check(UNKNOWN_CODE.of_address(client), _UNKNOWN)

    def refuse_cards(self, client: str, business_id: str, fingerprint: str | None) -> None:
        self.failures.refuse(self._declines(client, business_id, fingerprint), _DECLINES)

    def count_decline(self, client: str, business_id: str, fingerprint: str | None) -> None:
        self.failures.count(self._declines(client, business_id, fingerprint))

    def _declines(self, client: str, business_id: str, fingerprint: str | None) -> tuple[Counted, ...]:
        of_card = (self.allowances.declines_of_card.of(fingerprint),) if fingerprint else ()
        return (
            *self.allowances.declines_at_address.of_address(client),
            self.allowances.declines_of_business.of(business_id),
            *of_card,
        )


def fingerprint_of(card_number: str, key: bytes) -> str:
    """A keyed hash: the same card is known again, and its number is neither kept nor found by trying all of them."""
    return hmac.digest(key, card_number.encode(), "sha256").hex()
