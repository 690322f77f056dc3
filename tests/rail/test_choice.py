"""The first rail that can take a payment takes it: by currency, method, amount, operator and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from tidegate.core.fee import FeeBearer, FeeRule
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.rail.capability import AmountLimits, Capabilities, MethodTerms
from tidegate.rail.choice import AskedPrice, MethodOffer, choose, offer_of
from tidegate.rail.interface import Rail

MOBILE = Method.MOBILE_MONEY
ONE_PERCENT = FeeRule("one percent", 100)
WHOLE = AmountLimits(minor_step=100)


@dataclass(frozen=True)
class FakeRail:
    name: str
    capabilities: Capabilities


def rails(**terms: MethodTerms) -> dict[str, Rail]:
    made = {name: FakeRail(name, Capabilities(methods={Currency.KES: {MOBILE: one}})) for name, one in terms.items()}
    return cast(dict[str, Rail], made)


def price(minor: int = 101_00, bearer: FeeBearer = FeeBearer.BUSINESS) -> AskedPrice:
    return AskedPrice(Money(minor, Currency.KES), bearer, ONE_PERCENT)


def chosen(of: dict[str, Rail], at: AskedPrice | None = None, operator: str | None = None) -> str | None:
    offer = choose(of, MOBILE, at or price(), operator)
    return offer.rail.name if offer else None


def test_the_first_that_can_is_used() -> None:
    assert chosen(rails(first=MethodTerms(), second=MethodTerms())) == "first"


def test_without_rails_nothing_is_offered() -> None:
    assert chosen({}) is None
    assert offer_of({}, MOBILE, price()) is None


@pytest.mark.parametrize(
    "first",
    [
        MethodTerms(is_open=False),
        MethodTerms(limits=AmountLimits(minor_min=101_01)),
        MethodTerms(limits=AmountLimits(minor_max=100_99)),
        MethodTerms(limits=AmountLimits(minor_step=200)),
        MethodTerms(choices={}),
        MethodTerms(choices={"mpesa": AmountLimits(minor_max=1)}),
        MethodTerms(choices={"airtel": AmountLimits()}),
    ],
    ids=["closed", "too little", "too much", "no whole number of steps", "no operator", "limit", "another operator"],
)
def test_one_that_cannot_does_not_stop_another(first: MethodTerms) -> None:
    assert chosen(rails(first=first, second=MethodTerms()), operator="mpesa") == "second"
    assert chosen(rails(first=first), operator="mpesa") is None


def test_another_method_or_currency_is_not_offered() -> None:
    assert choose(rails(first=MethodTerms()), Method.CARD, price()) is None
    other = AskedPrice(Money(100_00, Currency.UGX), FeeBearer.BUSINESS, ONE_PERCENT)
    assert choose(rails(first=MethodTerms()), MOBILE, other) is None


def test_a_fee_of_the_customer_is_rounded_up_to_whole_shillings() -> None:
    offer = choose(rails(first=MethodTerms(limits=WHOLE)), MOBILE, price(101_00, FeeBearer.CUSTOMER))
    assert offer is not None
    assert offer.expected == Money(103_00, Currency.KES)  # 101 and 1.01 of fee.


def test_what_the_merchant_asks_for_is_not_rounded() -> None:
    assert chosen(rails(first=MethodTerms(limits=WHOLE)), price(101_50)) is None
    assert chosen(rails(first=MethodTerms(limits=WHOLE), second=MethodTerms()), price(101_50)) == "second"


def test_the_page_lists_the_operators_of_all_rails() -> None:
    of = rails(
        first=MethodTerms(is_hosted=True, choices={"mpesa": AmountLimits()}),
        second=MethodTerms(choices={"airtel": AmountLimits(), "tkash": AmountLimits(minor_min=10**9)}),
    )
    assert offer_of(of, MOBILE, price()) == MethodOffer(price().asked, True, frozenset({"mpesa", "airtel"}))
    every: Any = offer_of({**of, **rails(third=MethodTerms())}, MOBILE, price())
    assert every.choices is None
