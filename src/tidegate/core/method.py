"""Payment methods and their spellings. Which of them a currency offers is in `core/money.py`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


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


def _or(names: Iterable[str]) -> str:
    *others, last = (f"`{name}`" for name in names)
    return f"{', '.join(others)} or {last}"


# For the reference, with the usual name of USSD.
NAMES_IN_REQUEST = f"{_or(MethodNames().in_requests(Method))} (USSD), in any letter case"
NAMES_IN_RECORD = f"{_or(MethodNames().in_records(Method))} (USSD)"
