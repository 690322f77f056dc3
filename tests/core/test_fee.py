from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.fee import DEFAULT_FEE_RULES, FeeBearer, FeeRule, amount_expected, fee_on
from tidegate.core.method import Method
from tidegate.core.money import CHECKOUT_OFFERS, Currency, Money

NGN_TRANSFER = DEFAULT_FEE_RULES[Currency.NGN, Method.BANK_TRANSFER]


@pytest.mark.parametrize(("asked", "expected_minor"), [(100, 10_151), (350, 35_527)])
def test_the_published_samples(asked: int, expected_minor: int) -> None:
    expected = amount_expected(Money.of_major(asked, Currency.NGN), FeeBearer.CUSTOMER, NGN_TRANSFER)
    assert expected == Money(expected_minor, Currency.NGN)


def test_the_published_sample_has_a_fee_of_1_40_and_a_vat_of_0_11() -> None:
    fee = fee_on(Money.of_major(100, Currency.NGN), NGN_TRANSFER)
    assert (fee.fee.minor, fee.vat.minor, fee.total.minor) == (140, 11, 151)


def test_a_business_that_bears_the_fee_asks_for_the_amount_itself() -> None:
    asked = Money.of_major(100, Currency.NGN)
    assert amount_expected(asked, FeeBearer.BUSINESS, NGN_TRANSFER) == asked


@pytest.mark.parametrize("currency", list(CHECKOUT_OFFERS))
def test_every_method_of_every_checkout_currency_has_a_rule(currency: Currency) -> None:
    assert {method for c, method in DEFAULT_FEE_RULES if c is currency} == set(currency.spec.methods)


def test_only_the_naira_has_vat() -> None:
    assert {c for (c, _), rule in DEFAULT_FEE_RULES.items() if rule.vat_basis_points} == {Currency.NGN}


rules = st.builds(
    FeeRule,
    id=st.just("test"),
    basis_points=st.integers(0, 1_000),
    vat_basis_points=st.integers(0, 3_000),
    fixed_minor=st.integers(0, 10_000),
    cap_minor=st.none() | st.integers(0, 1_000_000),
)


def half_up(exact: Fraction) -> int:
    return (exact + Fraction(1, 2)).__floor__()


@given(st.integers(1, 10**12), st.sampled_from(list(Currency)), rules)
def test_fees_agree_with_exact_arithmetic(minor: int, currency: Currency, rule: FeeRule) -> None:
    fee = fee_on(Money(minor, currency), rule)
    uncapped = half_up(Fraction(minor * rule.basis_points, 10_000)) + rule.fixed_minor
    assert fee.fee.minor == (uncapped if rule.cap_minor is None else min(uncapped, rule.cap_minor))
    assert fee.vat.minor == half_up(Fraction(fee.fee.minor * rule.vat_basis_points, 10_000))
