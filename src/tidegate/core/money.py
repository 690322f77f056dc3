"""Exact money: a whole number of minor units and a currency."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum


class Currency(StrEnum):
    NGN = "NGN"
    GHS = "GHS"
    KES = "KES"
    UGX = "UGX"
    ZAR = "ZAR"
    ZMW = "ZMW"
    TZS = "TZS"
    USD = "USD"
    EUR = "EUR"

    @property
    def exponent(self) -> int:
        """How many decimals ISO 4217 gives the currency."""
        return 0 if self is Currency.UGX else 2

    @property
    def minor_per_major(self) -> int:
        return _MINOR_PER_MAJOR[self]


_MINOR_PER_MAJOR: dict[str, int] = {currency: 10**currency.exponent for currency in Currency}


_ZERO = Decimal(0)


def major_of(minor: int, currency: str) -> Decimal:
    """See `Money.major`."""
    if not minor:
        return _ZERO
    whole, rest = divmod(minor, _MINOR_PER_MAJOR[currency])
    return Decimal(whole) if rest == 0 else Decimal(minor).scaleb(-Currency(currency).exponent).normalize()


class Rounding(Enum):
    """Every rounding of money names its mode."""

    HALF_UP = "half up"


BASIS_POINTS_PER_UNIT = 10_000


@dataclass(frozen=True, slots=True, init=False)
class Money:
    minor: int
    currency: Currency

    def __init__(self, minor: int, currency: Currency) -> None:
        """As the generated one, at half the cost: a payment has seven amounts."""
        _set_minor(self, minor)
        _set_currency(self, currency)

    @classmethod
    def of_major(cls, major: int, currency: Currency) -> Money:
        return cls(major * currency.minor_per_major, currency)

    @classmethod
    def zero(cls, currency: Currency) -> Money:
        return cls(0, currency)

    def __add__(self, other: Money) -> Money:
        self._refuse_other_currency(other)
        return Money(self.minor + other.minor, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._refuse_other_currency(other)
        return Money(self.minor - other.minor, self.currency)

    def __neg__(self) -> Money:
        return Money(-self.minor, self.currency)

    def __lt__(self, other: Money) -> bool:
        self._refuse_other_currency(other)
        return self.minor < other.minor

    def __le__(self, other: Money) -> bool:
        self._refuse_other_currency(other)
        return self.minor <= other.minor

    def basis_points(self, points: int, *, rounding: Rounding) -> Money:
        """That many hundredths of a percent of a non-negative amount."""
        if self.minor < 0 or points < 0:
            raise ValueError("basis points need an amount and a share that are not negative")
        if rounding is not Rounding.HALF_UP:  # pragma: no cover - the enumeration has one member
            raise ValueError(rounding)
        half = BASIS_POINTS_PER_UNIT // 2
        return Money((self.minor * points + half) // BASIS_POINTS_PER_UNIT, self.currency)

    @property
    def major(self) -> Decimal:
        """The amount as JSON shows it: 100, 101.5 or 101.51, never 1E+2 and never a binary float."""
        return major_of(self.minor, self.currency)

    def __str__(self) -> str:
        return f"{self.currency} {Decimal(self.minor).scaleb(-self.currency.exponent):,f}"

    def _refuse_other_currency(self, other: Money) -> None:
        if self.currency is not other.currency:
            raise ValueError(f"{self.currency} and {other.currency} cannot be combined")


_set_minor = vars(Money)["minor"].__set__
_set_currency = vars(Money)["currency"].__set__
