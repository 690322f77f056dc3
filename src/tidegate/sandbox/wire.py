"""Requests and answers of the sandbox's controls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from tidegate.core.bank_number import normal_account_number
from tidegate.core.errors import Invalid, Problem
from tidegate.core.money import Currency, Money
from tidegate.infra.http.operation import Timestamp
from tidegate.infra.http.query import Moment
from tidegate.rail.event import DisputeStatus
from tidegate.rail.sandbox.model import AT_ONCE, BankTransfer
from tidegate.rail.state import Party

ADVANCE_MAX = timedelta(days=400)
# In total: dates overflow far beyond it.
AHEAD_MAX = timedelta(days=50 * 365)
MINOR_MAX = 10**14
# Decimal arithmetic is exact up to 28 digits.
AMOUNT_DIGITS_MAX = 25
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(\d{1,6})([smhd])", re.ASCII)

SandboxText = Annotated[str, Meta(min_length=1, max_length=140)]
Scheme = Annotated[str, Meta(min_length=1, max_length=35)]
# Banks pass on whatever the payer typed, or nothing; any text can be tested.
PayerName = Annotated[str, Meta(max_length=1_000)]
PayeeName = Annotated[str, Meta(min_length=1, max_length=1_000)]


class Amount(Decimal):
    """An exact JSON number: an integer or decimals, never text."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError("must be a number")
        amount = Decimal(value)
        if not amount.is_finite() or abs(amount.adjusted()) > 20:
            raise ValueError("is out of range: at most 21 digits before the decimal point")
        if len(amount.as_tuple().digits) > AMOUNT_DIGITS_MAX:
            raise ValueError(f"must have at most {AMOUNT_DIGITS_MAX} digits")
        return cls(value)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "number", "exclusiveMinimum": 0}


class Duration(str):
    """Such as 30s, 15m, 2h or 3d."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, str) or not _DURATION.fullmatch(value):
            raise ValueError("must be a duration such as 30s, 15m, 2h or 3d")
        duration = cls(value)
        if duration.length > ADVANCE_MAX:
            raise ValueError(f"must be at most {ADVANCE_MAX.days}d at a time")
        return duration

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[0-9]{1,6}[smhd]$"}

    @property
    def length(self) -> timedelta:
        match = _DURATION.fullmatch(self)
        assert match is not None
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class PayerFields(msgspec.Struct, kw_only=True, rename="camel"):
    name: Annotated[PayerName, Meta(description="As the bank passes it on; may be empty.")]
    account_number: Annotated[SandboxText | None, Meta(description="The sender's account number.")] = None
    bank_name: Annotated[SandboxText | None, Meta(description="The sender's bank.")] = None


class PayeeFields(msgspec.Struct):
    name: Annotated[PayeeName, Meta(description="The recipient's name, as the payer typed it.")]


class SendTransfer(msgspec.Struct, kw_only=True, rename="camel"):
    account_number: Annotated[
        SandboxText, Meta(description="Any account, temporary or permanent; an IBAN may be typed in groups.")
    ]
    amount: Annotated[Amount, Meta(description="In major units; may have decimals.")]
    currency: Annotated[Currency, Meta(description="Any of these; an account accepts only its own.")]
    payer: Annotated[PayerFields, Meta(description="The sender.")]
    payee: Annotated[PayeeFields | None, Meta(description="The recipient's name, as the payer typed it.")] = None
    reference: Annotated[
        SandboxText | None,
        Meta(description="The bank's reference; a repeated one repeats the notification of the same transfer."),
    ] = None
    remittance: Annotated[SandboxText | None, Meta(description="The payer's remittance text.")] = None
    scheme: Annotated[
        Scheme | None,
        Meta(description="The scheme, such as `sepa`, `ach` or `wire`. By default the usual one of the currency."),
    ] = None
    valued_at: Annotated[
        Moment | None,
        Meta(description="The value date, past or future: a date, or a time with its offset. Now when absent."),
    ] = None
    delay: Annotated[
        Duration | None,
        Meta(description="Delay of the notification, such as 10s. A reversal during the delay is notified first."),
    ] = None


class TransferSent(msgspec.Struct, kw_only=True, rename="camel"):
    transaction_id: Annotated[str, Meta(description="The bank's identifier: your `reference` if you gave one.")]


class Reverse(msgspec.Struct, kw_only=True):
    reason: Annotated[SandboxText | None, Meta(description="The bank's reason.")] = None


class TransferReversed(msgspec.Struct, kw_only=True, rename="camel"):
    transaction_id: Annotated[str, Meta(description="The transfer's identifier.")]
    reversal_id: Annotated[str, Meta(description="The bank's identifier of the reversal; the same for every repeat.")]


class Decline(msgspec.Struct, kw_only=True):
    reason: Annotated[SandboxText | None, Meta(description="`not_approved` when absent.")] = None


class DisputeCharge(msgspec.Struct, kw_only=True):
    status: Annotated[DisputeStatus, Meta(description="`open` begins it; the others end it.")] = DisputeStatus.OPEN


class ChargeIsDisputed(msgspec.Struct, kw_only=True, rename="camel"):
    dispute_id: Annotated[str, Meta(description="Id of the dispute, as in `charge.disputed`.")]


class Acted(msgspec.Struct, kw_only=True, rename="camel"):
    attempt_id: Annotated[
        str, Meta(description="The newest attempt of the payment. Its outcome is notified a moment later.")
    ]


class SessionEnded(msgspec.Struct, kw_only=True, rename="camel"):
    pay_code: Annotated[str, Meta(description="The payment's pay code.")]
    ended_at: Annotated[
        Timestamp,
        Meta(description="The status becomes `expired` a moment later, unless an outcome is still unknown."),
    ]


class Advance(msgspec.Struct, kw_only=True):
    advance: Annotated[Duration, Meta(description="How far, such as 30s, 15m, 2h or 3d.")]


class ClockView(msgspec.Struct, kw_only=True, rename="camel"):
    now: Annotated[Timestamp, Meta(description="The time of the sandbox.")]
    ahead_seconds: Annotated[int, Meta(description="Offset from real time.")]


class Emptied(msgspec.Struct, kw_only=True, rename="camel"):
    business: Annotated[str, Meta(description="The business's id.")]


def account_problems(fields: Mapping[str, Any]) -> Iterator[Problem]:
    number = fields.get("account_number")
    if number is not None and not normal_account_number(number):
        yield Problem("accountNumber", "must not be empty")


def transfer_from(request: SendTransfer) -> BankTransfer:
    return BankTransfer(
        account_number=request.account_number,
        amount=money_from(request),
        payer=Party(
            name=request.payer.name,
            account_number=request.payer.account_number,
            bank_name=request.payer.bank_name,
        ),
        payee_name=request.payee.name if request.payee else None,
        remittance=request.remittance,
        scheme=request.scheme,
        valued_at=request.valued_at.start if request.valued_at else None,
        transaction_id=request.reference,
        delay=request.delay.length if request.delay else AT_ONCE,
    )


def money_from(request: SendTransfer) -> Money:
    """Exact, or refused: a bank has no third decimal."""
    scaled = Decimal(request.amount).scaleb(request.currency.exponent)
    if scaled <= 0:
        raise Invalid(Problem("amount", "must be more than 0"))
    if scaled != scaled.to_integral_value():
        raise Invalid(Problem("amount", f"may have at most {request.currency.exponent} decimals in {request.currency}"))
    if scaled > MINOR_MAX:
        raise Invalid(Problem("amount", f"must be at most {MINOR_MAX} minor units"))
    return Money(int(scaled), request.currency)
