"""Payment methods, how they are spelled, and which currency offers which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tidegate.core.money import Currency


class Method(StrEnum):
    """Our own names, as stored. The wire's spellings are in `MethodNames`."""

    BANK_TRANSFER = "bank_transfer"
    CARD = "card"
    MOBILE_MONEY = "mobile_money"
    USSD = "ussd"


class InflowMethod(StrEnum):
    """How money comes in that nobody checked out for."""

    VIRTUAL_ACCOUNT = "virtual_account"


# What has a price.
Priced = Method | InflowMethod


PRICED: tuple[Priced, ...] = (*Method, *InflowMethod)
_PRICED_BY_NAME = {method.value: method for method in PRICED}


def priced_in(text: str) -> Priced:
    return _PRICED_BY_NAME[text]


# The specification's table, row by row, and its columns.
_ALL = (Method.BANK_TRANSFER, Method.CARD, Method.MOBILE_MONEY, Method.USSD)
_MATRIX: dict[Currency, tuple[bool, bool, bool, bool]] = {
    #              transfer  card  mobile  ussd
    Currency.KES: (True, False, True, False),
    Currency.ZMW: (False, True, True, False),
    Currency.UGX: (True, False, True, False),
    Currency.ZAR: (True, True, False, False),
    Currency.TZS: (False, False, True, False),
    Currency.GHS: (True, False, True, False),
    Currency.NGN: (True, True, False, True),
    Currency.USD: (False, True, False, False),
    Currency.EUR: (False, False, False, False),
}
# The order on the page where the merchant names none. Mobile money first: where there is any, most people pay by it.
_ORDER = (Method.MOBILE_MONEY, Method.BANK_TRANSFER, Method.CARD, Method.USSD)
METHODS_OF: dict[Currency, tuple[Method, ...]] = {
    currency: tuple(sorted((method for method, offered in zip(_ALL, row, strict=True) if offered), key=_ORDER.index))
    for currency, row in _MATRIX.items()
}

# The create request's own list; TZS and USD stand only in the matrix.
CHECKOUT_CURRENCIES = (
    Currency.NGN,
    Currency.GHS,
    Currency.KES,
    Currency.UGX,
    Currency.ZAR,
    Currency.ZMW,
)

# The largest checkout, in major units: about what 65,000 US dollars buy, so that a slip of the
# keyboard is caught while no real sale is.
CHECKOUT_MAX_MAJOR: dict[Currency, int] = {
    Currency.NGN: 100_000_000,
    Currency.GHS: 1_000_000,
    Currency.KES: 10_000_000,
    Currency.UGX: 250_000_000,
    Currency.ZAR: 1_000_000,
    Currency.ZMW: 2_000_000,
}


def is_offered_in(method: Method, currency: Currency) -> bool:
    return method in METHODS_OF[currency]


@dataclass(frozen=True)
class MethodNames:
    """Both spellings of every method. Only the USSD one differs: it is a product's name, set by the operator."""

    ussd: str = "payAttitude"

    def in_request(self, method: Method) -> str:
        return self.ussd if method is Method.USSD else method.value

    def in_record(self, method: str) -> str:
        return self._in_record[method]

    @cached_property
    def _in_record(self) -> dict[str, str]:
        return {method: self.in_request(method).lower() for method in Method}

    def find(self, text: str) -> Method | None:
        """Letter case never matters."""
        folded = text.lower()
        return next((method for method in Method if self._in_record[method] == folded), None)

    def in_requests(self, methods: Iterable[Method]) -> list[str]:
        return [self.in_request(method) for method in methods]

    def in_records(self, methods: Iterable[str]) -> list[str]:
        names = self._in_record
        return [names[method] for method in methods]
