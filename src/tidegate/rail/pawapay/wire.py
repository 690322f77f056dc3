"""pawaPay's objects, as far as they are used. Unknown fields are ignored; amounts are text in major units."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, TypeVar

import msgspec

from tidegate.core.money import Currency, Money

MINOR_MAX = 10**15
_AMOUNT = re.compile(r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,6})?")
T = TypeVar("T")


class PawapayUnreadable(ValueError):
    """What came is not what pawaPay documents; the message says how."""


class FailureReasonView(msgspec.Struct, frozen=True, rename="camel"):
    failure_code: str = ""
    failure_message: str = ""


class RejectionReasonView(msgspec.Struct, frozen=True, rename="camel"):
    """As a rejection of a refund is also documented."""

    rejection_code: str = ""
    rejection_message: str = ""


class Accepted(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to a request for a deposit or a refund: ACCEPTED, REJECTED or DUPLICATE_IGNORED."""

    status: str
    failure_reason: FailureReasonView | None = None
    rejection_reason: RejectionReasonView | None = None

    @property
    def code(self) -> str:
        if self.failure_reason is not None:
            return self.failure_reason.failure_code
        return self.rejection_reason.rejection_code if self.rejection_reason else ""

    @property
    def why(self) -> str:
        if self.failure_reason is not None:
            return f"{self.code} {self.failure_reason.failure_message}".strip()
        return f"{self.code} {self.rejection_reason.rejection_message if self.rejection_reason else ''}".strip()


class PawapayTransaction(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A deposit or a refund: found by its id, or in a callback."""

    status: str
    deposit_id: str | None = None
    refund_id: str | None = None
    amount: str | None = None
    currency: str | None = None
    created: str | None = None
    provider_transaction_id: str | None = None
    failure_reason: FailureReasonView | None = None

    @property
    def code(self) -> str:
        return self.failure_reason.failure_code if self.failure_reason else ""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """FOUND or NOT_FOUND."""

    status: str
    data: PawapayTransaction | None = None


class PublicKeyView(msgspec.Struct, frozen=True):
    id: str
    key: str


class WalletBalance(msgspec.Struct, frozen=True):
    currency: str
    balance: str
    country: str = ""


class WalletBalances(msgspec.Struct, frozen=True):
    balances: list[WalletBalance] = []


class SignatureSwitches(msgspec.Struct, frozen=True, rename="camel"):
    signed_requests_only: bool = False
    signed_callbacks: bool = False


class PromptChannel(msgspec.Struct, frozen=True, kw_only=True):
    type: str = ""
    variables: dict[str, Any] = {}


class PromptInstructions(msgspec.Struct, frozen=True):
    channels: list[PromptChannel] = []


class OperationTerms(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    auth_type: str = ""
    pin_prompt: str = ""
    pin_prompt_instructions: PromptInstructions | None = None
    min_amount: str = "1"
    max_amount: str = "0"
    decimals_in_amount: str = "NONE"
    status: str = "OPERATIONAL"
    callback_url: str | None = None


class ProviderCurrency(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    currency: str
    operation_types: dict[str, OperationTerms] = {}


class Provider(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    provider: str
    name_displayed_to_customer: str = ""
    currencies: list[ProviderCurrency] = []


class Country(msgspec.Struct, frozen=True, kw_only=True):
    country: str
    providers: list[Provider] = []


class ActiveConfiguration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the account at pawaPay may do now: the source of truth for limits and decimals."""

    company_name: str = ""
    signature_configuration: SignatureSwitches = SignatureSwitches()
    countries: list[Country] = []


def convert(value: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise PawapayUnreadable(str(error)) from None


def money(amount: str | None, currency: str | None) -> Money:
    """An amount that came. `100.00` in a currency without decimals is 100."""
    if currency is None or currency not in Currency.__members__:
        raise PawapayUnreadable(f"{currency!r} is not a currency of ours")
    if amount is None or not _AMOUNT.fullmatch(amount):
        raise PawapayUnreadable(f"{amount!r} is not an amount")
    minor = Decimal(amount).scaleb(Currency(currency).exponent)
    if minor != minor.to_integral_value() or not 0 < minor <= MINOR_MAX:
        raise PawapayUnreadable(f"{amount!r} is not an amount of {currency}")
    return Money(int(minor), Currency(currency))


def amount_text(amount: Money) -> str:
    """Whole amounts without decimals: some operators take none."""
    whole, rest = divmod(amount.minor, amount.currency.minor_per_major)
    return f"{whole}.{rest:0{amount.currency.exponent}d}" if rest else str(whole)


def limit(text: str, currency: Currency, *, is_minimum: bool) -> int:
    """In minor units, rounded to what is allowed."""
    if not _AMOUNT.fullmatch(text):
        raise PawapayUnreadable(f"{text!r} is not a limit")
    rounding = ROUND_CEILING if is_minimum else ROUND_FLOOR
    return int(Decimal(text).scaleb(currency.exponent).to_integral_value(rounding))
