"""Payment methods and their spellings. Which of them a currency offers is in `core/money.py`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tidegate.core.described_enum import DescribedEnum


class Method(DescribedEnum):
    """Internal names, as stored. The API's spellings are in `MethodNames`."""

    BANK_TRANSFER = "bank_transfer", "A transfer to an account that is made for the payment."
    CARD = "card", "A debit or credit card, with the bank's own check where it asks for one."
    MOBILE_MONEY = "mobile_money", "A wallet of a mobile operator, such as M-Pesa or MTN; approved on the phone."
    USSD = "ussd", "USSD: a code of the payer's bank, dialled on the phone."


class InflowMethod(StrEnum):
    """Methods of money that arrives without a checkout."""

    VIRTUAL_ACCOUNT = "virtual_account"


# Everything with a fee rule.
Priced = Method | InflowMethod


PRICED: tuple[Priced, ...] = (*Method, *InflowMethod)
_PRICED_BY_NAME = {method.value: method for method in PRICED}


METHOD_WORDS: dict[Priced, str] = {
    Method.BANK_TRANSFER: "Bank transfer",
    Method.CARD: "Card",
    Method.MOBILE_MONEY: "Mobile money",
    Method.USSD: "USSD",
    InflowMethod.VIRTUAL_ACCOUNT: "Virtual account",
}


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


USUAL_NAMES = MethodNames()
