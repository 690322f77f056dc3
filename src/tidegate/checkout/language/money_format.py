"""Amounts as each language writes them. Latin digits everywhere: an amount must look as it does in a bank's app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

from babel import Locale

from tidegate.core.money import Currency, Money

_SIGNS: Mapping[Currency, str] = {currency: currency.spec.sign for currency in Currency}
# A page has the same amount in several places.
_AMOUNTS_REMEMBERED_MAX = 2_000
_SIGN_PLACE = "¤"
_NO_BREAK_SPACE = "\u00a0"
_LEFT_TO_RIGHT_MARK, _RIGHT_TO_LEFT_MARK = "\u200e", "\u200f"


class MoneyParts(NamedTuple):
    """For the large amount with its small sign.

    Each part goes into a `<bdi>` of its own: in Arabic, bare digits and a sign beside them change places.
    """

    sign: str
    digits: str
    is_sign_first: bool


@dataclass(frozen=True, slots=True)
class MoneyFormat:
    """What babel knows of a language, read once; babel itself takes ten times as long for an amount."""

    decimal: str
    group: str
    is_sign_first: bool
    signs: Mapping[Currency, str]
    # What stands before and after the digits.
    around: Mapping[Currency, tuple[str, str]]

    @classmethod
    def of(cls, locale: Locale) -> Self:
        pattern = locale.currency_formats["standard"]
        symbols = locale.number_symbols["latn"]
        before, after = pattern.prefix[0], pattern.suffix[0]
        signs = _SIGNS
        if locale.text_direction == "rtl":
            # GH₵ would be drawn ₵GH. babel's pattern begins with a mark that keeps the amount apart from letters
            # before it; one at its end keeps it from those behind it.
            signs = {currency: sign + _LEFT_TO_RIGHT_MARK for currency, sign in _SIGNS.items()}
            after += _RIGHT_TO_LEFT_MARK
        around = {c: (_before_digits(before, sign), after.replace(_SIGN_PLACE, sign)) for c, sign in signs.items()}
        return cls(symbols["decimal"], symbols["group"], _SIGN_PLACE in before, signs, around)

    def text(self, money: Money) -> str:
        currency = money.currency
        before, after = self.around[currency]
        return f"{before}{_written(money.minor, currency, self.group, self.decimal)}{after}"

    def parts(self, money: Money) -> MoneyParts:
        return MoneyParts(self.signs[money.currency], self.digits(money), self.is_sign_first)

    def digits(self, money: Money) -> str:
        return _written(money.minor, money.currency, self.group, self.decimal)


@lru_cache(maxsize=_AMOUNTS_REMEMBERED_MAX)
def _written(minor: int, currency: Currency, group: str, decimal: str) -> str:
    if minor < 0:
        raise ValueError("a payer is shown amounts that are not negative")
    whole, rest = divmod(minor, currency.minor_per_major)
    grouped = f"{whole:,}".replace(",", group)
    exponent = currency.exponent
    return f"{grouped}{decimal}{rest:0{exponent}}" if exponent else grouped


def _before_digits(prefix: str, sign: str) -> str:
    """KSh10 would read as one word, so a sign of several letters keeps its distance."""
    touches_as_a_word = prefix.endswith(_SIGN_PLACE) and len(sign) > 1 and sign.isalpha()
    return prefix.replace(_SIGN_PLACE, sign + _NO_BREAK_SPACE if touches_as_a_word else sign)
