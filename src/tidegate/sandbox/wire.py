"""What a developer sends to the sandbox's controls."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from tidegate.core.errors import Invalid, Problem
from tidegate.core.money import Currency, Money

ADVANCE_MAX = timedelta(days=400)
# In all: far beyond it, dates end.
AHEAD_MAX = timedelta(days=50 * 365)
MINOR_MAX = 10**14
# Decimal arithmetic is exact up to 28.
AMOUNT_DIGITS_MAX = 25
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(\d{1,6})([smhd])", re.ASCII)

Text = Annotated[str, Meta(min_length=1, max_length=140)]


class Amount(Decimal):
    """A JSON number, exact: an integer or decimals, never text."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError("must be a number")
        amount = Decimal(value)
        if not amount.is_finite() or abs(amount.adjusted()) > 20:
            raise ValueError("is out of range")
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
    name: Text
    account_number: Text | None = None
    bank_name: Text | None = None


class PayeeFields(msgspec.Struct):
    name: Text


class SendTransfer(msgspec.Struct, kw_only=True, rename="camel"):
    account_number: Annotated[Text, Meta(description="Any account, temporary or permanent.")]
    amount: Annotated[Amount, Meta(description="In major units; may have decimals.")]
    currency: Annotated[Currency, Meta(description="Any of these; an account keeps only its own.")]
    payer: Annotated[PayerFields, Meta(description="Who sends it.")]
    payee: Annotated[PayeeFields | None, Meta(description="The name typed for the recipient.")] = None
    reference: Annotated[
        Text | None, Meta(description="The bank's own reference; the same one twice is the same transfer told twice.")
    ] = None


class TransferSent(msgspec.Struct, kw_only=True, rename="camel"):
    transaction_id: Annotated[str, Meta(description="The bank's own: yours when you gave one.")]


class Decline(msgspec.Struct, kw_only=True):
    reason: Annotated[Text | None, Meta(description="`not_approved` when absent.")] = None


class Acted(msgspec.Struct, kw_only=True, rename="camel"):
    attempt_id: Annotated[
        str, Meta(description="The newest attempt of the payment. What comes of it is told a moment later.")
    ]


class SessionEnded(msgspec.Struct, kw_only=True, rename="camel"):
    pay_code: str
    ended_at: Annotated[
        str,
        Meta(
            description="It shows as `expired` a moment later, unless an outcome is still unknown.",
            extra_json_schema={"format": "date-time"},
        ),
    ]


class Advance(msgspec.Struct, kw_only=True):
    advance: Annotated[Duration, Meta(description="How far, such as 30s, 15m, 2h or 3d.")]


class ClockView(msgspec.Struct, kw_only=True, rename="camel"):
    now: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    ahead_seconds: Annotated[int, Meta(description="How far it is ahead of real time.")]


class Emptied(msgspec.Struct, kw_only=True, rename="camel"):
    business: Annotated[str, Meta(description="Its id.")]


def money_from(request: SendTransfer) -> Money:
    """Exact, or refused: a bank has no third decimal."""
    scaled = Decimal(request.amount).scaleb(request.currency.exponent)
    if scaled <= 0:
        raise Invalid(Problem("amount", "must be more than 0"))
    if scaled != scaled.to_integral_value():
        raise Invalid(Problem("amount", f"may have at most {request.currency.exponent} decimals in {request.currency}"))
    if scaled > MINOR_MAX:
        raise Invalid(Problem("amount", "is too large"))
    return Money(int(scaled), request.currency)
