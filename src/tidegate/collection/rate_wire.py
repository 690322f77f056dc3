"""Exchange rates as JSON, in and out. The operator's commands have the same rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from tidegate.collection.rate import RATE_DIGITS_MAX, Rate
from tidegate.core.errors import Invalid, Problem
from tidegate.core.money import Currency
from tidegate.infra.http.operation import Timestamp
from tidegate.infra.http.query import Moment
from tidegate.infra.timestamp import to_iso

# No real rate is outside these limits; one that is, is a typing error.
RATE_MIN, RATE_MAX = Decimal("0.000001"), Decimal("1000000")
SPREAD_MAX = Decimal(100)
SOURCE_LENGTH_MAX = 40
_RATE_LIMITS = f"must be from {RATE_MIN} to {RATE_MAX}, with at most {RATE_DIGITS_MAX} digits"
_SPREAD_LIMITS = f"must be from 0 to less than {SPREAD_MAX}, with at most 2 decimals"


class RateNumber(Decimal):
    """A JSON number, exact."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        rate = _number(value, like="1652.5", limits=_RATE_LIMITS)
        if rate <= 0:
            raise ValueError("must be more than 0")
        if not RATE_MIN <= rate <= RATE_MAX:
            raise ValueError(f"must be from {RATE_MIN} to {RATE_MAX}")
        if len(rate.normalize().as_tuple().digits) > RATE_DIGITS_MAX:
            raise ValueError(f"must have at most {RATE_DIGITS_MAX} digits")
        return cls(rate)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "number", "exclusiveMinimum": 0}


class SpreadPercent(Decimal):
    """A JSON number: at least 0, less than 100."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        percent = _number(value, like="0.5", limits=_SPREAD_LIMITS)
        if not 0 <= percent < SPREAD_MAX:
            raise ValueError(f"must be from 0 to less than {SPREAD_MAX}")
        if percent * 100 % 1:
            raise ValueError("may have at most 2 decimals")
        return cls(percent)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "number", "minimum": 0, "exclusiveMaximum": int(SPREAD_MAX)}


def _number(value: Any, *, like: str, limits: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"must be a number with a decimal point, such as {like}")
    number = Decimal(value)
    # Beyond these limits, arithmetic would be slow or lose digits.
    if not number.is_finite() or abs(number.adjusted()) > 20 or len(number.as_tuple().digits) > 25:
        raise ValueError(limits)
    return number


class Source(str):
    """The source of the rate: a short name."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise ValueError(f"must be 1 to {SOURCE_LENGTH_MAX} visible characters")
        if len(value) > SOURCE_LENGTH_MAX:
            raise ValueError(f"must have at most {SOURCE_LENGTH_MAX} characters")
        return cls(value.strip())

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": SOURCE_LENGTH_MAX}


class SetRate(msgspec.Struct, kw_only=True, rename="camel"):
    base: Annotated[Currency, Meta(description="Currency of the inflow.")]
    quote: Annotated[Currency, Meta(description="Currency of the wallet that is credited.")]
    rate: Annotated[RateNumber, Meta(description=f"One `base` in `quote`; at most {RATE_DIGITS_MAX} digits.")]
    spread_percent: Annotated[SpreadPercent | None, Meta(description="Kept of each conversion; 0 when absent.")] = None
    source: Annotated[Source | None, Meta(description="Where the rate comes from.")] = None
    quoted_at: Annotated[
        Moment | None, Meta(description="Time of the quote, not in the future; now when absent. The newest is used.")
    ] = None


class RateRecord(msgspec.Struct, kw_only=True, rename="camel"):
    base: Annotated[Currency, Meta(description="Currency of the inflow.")]
    quote: Annotated[Currency, Meta(description="Currency of the wallet.")]
    rate: Annotated[Decimal, Meta(description="One `base` in `quote`.")]
    spread_percent: Annotated[Decimal, Meta(description="Kept of each conversion, in percent.")]
    source: Annotated[str, Meta(description="Where the rate comes from.")]
    quoted_at: Annotated[Timestamp, Meta(description="Time of the quote.")]
    usable_until: Annotated[Timestamp, Meta(description="After this time the rate is stale, and inflows are held.")]


def rate_from(request: SetRate, *, source: str, now: datetime) -> Rate:
    """`source` is the default when the request has none."""
    quoted_at = request.quoted_at.start if request.quoted_at else now
    problems = []
    if request.base is request.quote:
        problems.append(Problem("quote", "must differ from base"))
    if quoted_at > now:
        problems.append(Problem("quotedAt", f"must not be in the future; it is {to_iso(now)}"))
    if problems:
        raise Invalid(*problems)
    return Rate(
        base=request.base,
        quote=request.quote,
        rate=Decimal(request.rate),
        spread_basis_points=int(Decimal(request.spread_percent or 0) * 100),
        source=str(request.source or source),
        quoted_at=quoted_at,
    )


def record_of(rate: Rate, *, rate_lasts: timedelta) -> RateRecord:
    return RateRecord(
        base=rate.base,
        quote=rate.quote,
        rate=rate.rate,
        spread_percent=Decimal(rate.spread_basis_points) / 100,
        source=rate.source,
        quoted_at=to_iso(rate.quoted_at),
        usable_until=to_iso(rate.quoted_at + rate_lasts),
    )
