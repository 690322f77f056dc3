"""Paystack's objects, as far as they are used. Unknown fields are ignored; amounts may be numbers or text."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from tidegate.core.money import Currency, Money

MINOR_MAX = 10**15
_DIGITS = re.compile(r"[0-9]{1,18}")
T = TypeVar("T")

# In hundredths.
Hundredths = int | str
Id = int | str


class PaystackUnreadable(ValueError):
    """What came is not what Paystack documents; the message says how."""


class CardAuthorization(msgspec.Struct, frozen=True, kw_only=True):
    sender_name: str | None = None
    sender_bank: str | None = None
    sender_bank_account_number: str | None = None


class PaystackTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """Of verify, of a charge that has ended, of a list, and of `charge.success`."""

    status: str
    reference: str = ""
    id: Id | None = None
    domain: str | None = None
    channel: str | None = None
    amount: Hundredths | None = None
    requested_amount: Hundredths | None = None
    fees: Hundredths | None = None
    currency: str | None = None
    message: str | None = None
    gateway_response: str | None = None
    paid_at: str | None = None
    created_at: str | None = None
    authorization: CardAuthorization | None = None


class BankName(msgspec.Struct, frozen=True):
    name: str = ""


class PaystackCharge(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to POST /charge and to an OTP: a transaction, or what the payer has to do."""

    status: str
    reference: str = ""
    message: str | None = None
    display_text: str | None = None
    url: str | None = None
    ussd_code: str | None = None
    account_name: str | None = None
    account_number: str | None = None
    bank: BankName | None = None
    account_expires_at: str | None = None
    # What the payer must type as the narration, where the account is shared.
    transaction_reference: str | None = None


class StartedPage(msgspec.Struct, frozen=True):
    authorization_url: str


class RefundedTransaction(msgspec.Struct, frozen=True):
    id: Id | None = None
    reference: str | None = None


class PaystackRefund(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    status: str
    amount: Hundredths
    currency: str
    merchant_note: str | None = None
    transaction: RefundedTransaction | Id | None = None
    transaction_reference: str | None = None
    refunded_at: str | None = None
    created_at: str | None = msgspec.field(default=None, name="createdAt")


class AccountBalance(msgspec.Struct, frozen=True):
    currency: str
    balance: Hundredths


class PaystackDispute(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    status: str | None = None
    resolution: str | None = None
    refund_amount: Hundredths | None = None
    currency: str | None = None
    domain: str | None = None
    category: str | None = None
    due_at: str | None = msgspec.field(default=None, name="dueAt")
    transaction: PaystackTransaction | None = None


class PaystackRefundEvent(msgspec.Struct, frozen=True, kw_only=True):
    transaction_reference: str
    domain: str | None = None


def convert(value: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise PaystackUnreadable(str(error)) from None


def hundredths(amount: Hundredths | None) -> int:
    if amount is None or (isinstance(amount, str) and not _DIGITS.fullmatch(amount)):
        raise PaystackUnreadable(f"{amount!r} is not an amount")
    return int(amount)


def money(amount: Hundredths | None, currency: str | None) -> Money:
    """In hundredths, whatever the currency; all that Paystack has here have two decimals."""
    if currency is None or currency not in Currency.__members__:
        raise PaystackUnreadable(f"{currency!r} is not a currency of ours")
    minor = hundredths(amount)
    if not 0 < minor <= MINOR_MAX:
        raise PaystackUnreadable(f"{amount!r} is not an amount of money")
    return Money(minor, Currency(currency))


def major(amount: Hundredths) -> str:
    """In digits, also of a currency that we do not have."""
    return f"{Decimal(hundredths(amount)).scaleb(-2):,f}"


def moment(text: str | None) -> datetime | None:
    """None for what is no time: Paystack repeats each in several forms."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
