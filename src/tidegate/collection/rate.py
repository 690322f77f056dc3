"""Exchange rates and conversion."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal

import msgspec

from tidegate.core.money import Currency, Money, Rounding
from tidegate.ledger.model import Conversion

# Exact for every amount times every rate that the limits allow.
_EXACT = Context(prec=60)
_WHOLE = Decimal(1)
RATE_DIGITS_MAX = 12
# A rate that is further off than this from its pair's last one must be confirmed when set.
_OFF_MAX = Decimal("0.1")


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """The value of one unit of `base` in `quote`; the spread is our share of it."""

    base: Currency
    quote: Currency
    rate: Decimal
    spread_basis_points: int
    source: str
    quoted_at: datetime


def is_far_off(rate: Decimal, last: Rate) -> bool:
    return abs(rate - last.rate) > last.rate * _OFF_MAX


def rate_words(base: Currency, rate: Decimal, quote: Currency) -> str:
    return f"1 {base} = {rate.normalize():f} {quote}"


def worth_of(amount: Money, rate: Rate) -> Money:
    """Rounded once, half up, to minor units of the other currency."""
    if amount.currency is not rate.base:
        raise ValueError(f"a rate of {rate.base} cannot convert {amount.currency}")
    shift = rate.quote.exponent - rate.base.exponent
    exact = _EXACT.multiply(Decimal(amount.minor), rate.rate).scaleb(shift, context=_EXACT)
    return Money(int(exact.quantize(_WHOLE, rounding=ROUND_HALF_UP, context=_EXACT)), rate.quote)


def convert(received: Money, rate: Rate) -> Conversion | None:
    """None when the result would be zero."""
    worth = worth_of(received, rate)
    spread = worth.basis_points(rate.spread_basis_points, rounding=Rounding.HALF_UP)
    if worth <= spread:
        return None
    return Conversion(received=received, worth=worth, converted=worth - spread, spread=spread)
