"""Payment methods, their spellings, and the currencies that offer them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tidegate.core.money import Currency


class Method(StrEnum):
    """Internal names, as stored. The API's spellings are in `MethodNames`."""

    BANK_TRANSFER = "bank_transfer"
    CARD = "card"
    MOBILE_MONEY = "mobile_money"
    USSD = "ussd"


class InflowMethod(StrEnum):
    """Methods of money that arrives without a checkout."""

    VIRTUAL_ACCOUNT = "virtual_account"


# Everything with a fee rule.
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
# The default order on the page. Mobile money first: where it is offered, most payers use it.
_ORDER = (Method.MOBILE_MONEY, Method.BANK_TRANSFER, Method.CARD, Method.USSD)
METHODS_OF: dict[Currency, tuple[Method, ...]] = {
    currency: tuple(sorted((method for method, offered in zip(_ALL, row, strict=True) if offered), key=_ORDER.index))
    for currency, row in _MATRIX.items()
}

# The create request's list; TZS and USD are only in the matrix.
CHECKOUT_CURRENCIES = (
    Currency.NGN,
    Currency.GHS,
    Currency.KES,
    Currency.UGX,
    Currency.ZAR,
    Currency.ZMW,
)

# The largest checkout, in major units: about 65,000 US dollars, so that a typing error is refused
# and no real sale is.
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
    """Both spellings of every method. They differ only for USSD: a product's name, set by the operator."""

    ussd: str = "payAttitude"

    def in_request(self, method: Method) -> str:
        return self.ussd if method is Method.USSD else method.value

    def in_record(self, method: str) -> str:
        return self._in_record[method]

    @cached_property
    def _in_record(self) -> dict[str, str]:
        return {method: self.in_request(method).lower() for method in Method}

    def find(self, text: str) -> Method | None:
        """Ignores letter case."""
        folded = text.lower()
        return next((method for method in Method if self._in_record[method] == folded), None)

    def in_requests(self, methods: Iterable[Method]) -> list[str]:
        return [self.in_request(method) for method in methods]

    def in_records(self, methods: Iterable[str]) -> list[str]:
        names = self._in_record
        return [names[method] for method in methods]
