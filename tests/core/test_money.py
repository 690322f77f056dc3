from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import iso4217
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.money import Currency, Money, Rounding

currencies = st.sampled_from(list(Currency))
minors = st.integers(min_value=0, max_value=10**14)


@pytest.mark.parametrize("currency", Currency)
def test_exponents_are_those_of_iso_4217(currency: Currency) -> None:
    assert currency.exponent == iso4217.Currency(currency.value).exponent
    assert currency.minor_per_major == 10**currency.exponent


@given(minors, minors, currencies)
def test_sums_and_differences_are_exact(a: int, b: int, currency: Currency) -> None:
    assert Money(a, currency) + Money(b, currency) == Money(a + b, currency)
    assert Money(a, currency) - Money(b, currency) == Money(a - b, currency)
    assert (Money(a, currency) < Money(b, currency)) is (a < b)
    assert (Money(a, currency) <= Money(b, currency)) is (a <= b)


@pytest.mark.parametrize("operation", ["__add__", "__sub__", "__lt__", "__le__"])
def test_two_currencies_do_not_mix(operation: str) -> None:
    with pytest.raises(ValueError, match="cannot be combined"):
        getattr(Money(1, Currency.NGN), operation)(Money(1, Currency.KES))


@given(minors, st.integers(min_value=0, max_value=20_000), currencies)
def test_a_share_is_rounded_half_up(minor: int, points: int, currency: Currency) -> None:
    share = Money(minor, currency).basis_points(points, rounding=Rounding.HALF_UP)
    exact = Fraction(minor * points, 10_000)
    assert share.minor == (exact + Fraction(1, 2)).__floor__()
    assert abs(share.minor - exact) <= Fraction(1, 2)


@pytest.mark.parametrize(("minor", "points"), [(-1, 100), (1, -100)])
def test_no_share_of_a_negative_amount(minor: int, points: int) -> None:
    with pytest.raises(ValueError, match="not negative"):
        Money(minor, Currency.NGN).basis_points(points, rounding=Rounding.HALF_UP)


@pytest.mark.parametrize(
    ("money", "shown"),
    [
        (Money(10_000, Currency.NGN), "100"),
        (Money(10_150, Currency.NGN), "101.5"),
        (Money(10_151, Currency.NGN), "101.51"),
        (Money(1, Currency.NGN), "0.01"),
        (Money(0, Currency.NGN), "0"),
        (Money(2_500, Currency.UGX), "2500"),
        (Money(10**16, Currency.NGN), "100000000000000"),
    ],
)
def test_json_shows_amounts_as_people_write_them(money: Money, shown: str) -> None:
    assert str(money.major) == shown


@given(minors, currencies)
def test_major_units_are_exact(minor: int, currency: Currency) -> None:
    assert Money(minor, currency).major * currency.minor_per_major == Decimal(minor)


def test_money_in_messages_has_its_currency() -> None:
    assert str(Money(1_234_567_89, Currency.NGN)) == "NGN 1,234,567.89"
