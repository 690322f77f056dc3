"""Exact money: a whole number of minor units and a currency."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta, timezone
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Self

from tidegate.core.method import Method

# None of these countries changes its clocks, so no database of time zones is needed.
_GREENWICH = timezone(timedelta(0), "GMT")
_WEST_AFRICA = timezone(timedelta(hours=1), "WAT")
_CENTRAL_AFRICA = timezone(timedelta(hours=2), "CAT")
_SOUTH_AFRICA = timezone(timedelta(hours=2), "SAST")
_EAST_AFRICA = timezone(timedelta(hours=3), "EAT")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutOffer:
    """Of a currency that payments may be created in. The fee and its tax are the default of every method."""

    # About 65,000 US dollars, so that a typing error is refused and no real sale is.
    max_major: int
    fee_basis_points: int
    vat_basis_points: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOffer:
    """Of a currency that virtual accounts receive. `country` is where they are kept."""

    country: str
    # The usual transfer scheme.
    scheme: str
    fee_minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencySpec:
    title: str
    sign: str
    # Decimals, as in ISO 4217.
    exponent: int = 2
    # ISO 3166; empty where the currency has many.
    country: str = ""
    # Of the times that payers are shown.
    zone: timezone = UTC
    # In the default order on the page. Mobile money first: where it is offered, most payers use it.
    methods: tuple[Method, ...] = ()
    checkout: CheckoutOffer | None = None
    account: AccountOffer | None = None
    # The usual length of an account number in the country.
    account_digits: int = 11


class Currency(StrEnum):
    """The table of currencies. A new one is a row here; lists, limits, prices and formats follow from it."""

    spec: CurrencySpec
    minor_per_major: int

    def __new__(cls, code: str, *row: CurrencySpec) -> Self:
        """Takes `*row` since `Currency("NGN")`, a lookup, is checked against the same signature."""
        [found] = row
        currency = str.__new__(cls, code)
        currency._value_ = code
        currency.spec = found
        currency.minor_per_major = 10**found.exponent
        return currency

    NGN = (
        "NGN",
        CurrencySpec(
            title="Nigerian naira",
            sign="₦",
            country="NG",
            zone=_WEST_AFRICA,
            methods=(Method.BANK_TRANSFER, Method.CARD, Method.USSD),
            checkout=CheckoutOffer(max_major=100_000_000, fee_basis_points=140, vat_basis_points=750),
            account_digits=10,
        ),
    )
    GHS = (
        "GHS",
        CurrencySpec(
            title="Ghanaian cedi",
            sign="GH₵",
            country="GH",
            zone=_GREENWICH,
            methods=(Method.MOBILE_MONEY, Method.BANK_TRANSFER),
            checkout=CheckoutOffer(max_major=1_000_000, fee_basis_points=150),
            account_digits=13,
        ),
    )
    KES = (
        "KES",
        CurrencySpec(
            title="Kenyan shilling",
            sign="KSh",
            country="KE",
            zone=_EAST_AFRICA,
            methods=(Method.MOBILE_MONEY, Method.BANK_TRANSFER),
            checkout=CheckoutOffer(max_major=10_000_000, fee_basis_points=100),
            account_digits=13,
        ),
    )
    UGX = (
        "UGX",
        CurrencySpec(
            title="Ugandan shilling",
            sign="USh",
            exponent=0,
            country="UG",
            zone=_EAST_AFRICA,
            methods=(Method.MOBILE_MONEY, Method.BANK_TRANSFER),
            checkout=CheckoutOffer(max_major=250_000_000, fee_basis_points=150),
            account_digits=13,
        ),
    )
    ZAR = (
        "ZAR",
        CurrencySpec(
            title="South African rand",
            sign="R",
            country="ZA",
            zone=_SOUTH_AFRICA,
            methods=(Method.BANK_TRANSFER, Method.CARD),
            checkout=CheckoutOffer(max_major=1_000_000, fee_basis_points=160),
        ),
    )
    ZMW = (
        "ZMW",
        CurrencySpec(
            title="Zambian kwacha",
            sign="K",
            country="ZM",
            zone=_CENTRAL_AFRICA,
            methods=(Method.MOBILE_MONEY, Method.CARD),
            checkout=CheckoutOffer(max_major=2_000_000, fee_basis_points=150),
        ),
    )
    # In the specification's table of methods, but not in its list for creating a payment.
    TZS = (
        "TZS",
        CurrencySpec(
            title="Tanzanian shilling", sign="TSh", country="TZ", zone=_EAST_AFRICA, methods=(Method.MOBILE_MONEY,)
        ),
    )
    USD = (
        "USD",
        CurrencySpec(
            title="US dollar",
            sign="$",
            methods=(Method.CARD,),
            account=AccountOffer(country="US", scheme="ach", fee_minor=500),
        ),
    )
    EUR = "EUR", CurrencySpec(title="Euro", sign="€", account=AccountOffer(country="DE", scheme="sepa", fee_minor=500))

    @property
    def exponent(self) -> int:
        return self.spec.exponent

    @property
    def meaning(self) -> str:
        """For the reference, as of a `DescribedEnum`."""
        return f"{self.spec.title}."


CHECKOUT_OFFERS: dict[Currency, CheckoutOffer] = {c: c.spec.checkout for c in Currency if c.spec.checkout}
ACCOUNT_OFFERS: dict[Currency, AccountOffer] = {c: c.spec.account for c in Currency if c.spec.account}
_BY_CODE: dict[str, Currency] = {currency: currency for currency in Currency}


_ZERO = Decimal(0)


def major_of(minor: int, currency: str) -> Decimal:
    """See `Money.major`."""
    if not minor:
        return _ZERO
    found = _BY_CODE[currency]
    whole, rest = divmod(minor, found.minor_per_major)
    return Decimal(whole) if rest == 0 else Decimal(minor).scaleb(-found.exponent).normalize()


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
