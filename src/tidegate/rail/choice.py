"""Which rail takes a payment: the first that can now, in the order of `TIDEGATE_RAILS`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from tidegate.core.fee import FeeBearer, FeeRule, amount_expected
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.rail.capability import AmountLimits, MethodTerms
from tidegate.rail.interface import Rail


class AskedPrice(msgspec.Struct, frozen=True):
    """What is asked for by one method, and who bears the fee."""

    asked: Money
    bearer: FeeBearer
    rule: FeeRule

    def expected_within(self, limits: AmountLimits) -> Money | None:
        """What the payer pays. A fee that the customer bears is rounded up to the rail's step; what the merchant asks
        for is not. None where the limits do not allow it.
        """
        expected = amount_expected(self.asked, self.bearer, self.rule)
        if self.bearer is FeeBearer.CUSTOMER:
            expected = limits.rounded_up(expected)
        return expected if limits.allow(expected) else None


class RailOffer(NamedTuple):
    rail: Rail
    expected: Money
    terms: MethodTerms


class MethodOffer(msgspec.Struct, frozen=True):
    """A method that some rail takes now. `expected` is what the payer pays without a choice of operator or bank."""

    expected: Money
    is_hosted: bool
    # The operators or banks that some rail takes; None for all.
    choices: frozenset[str] | None


def choose(rails: Mapping[str, Rail], method: Method, price: AskedPrice, choice: str | None = None) -> RailOffer | None:
    """`choice` is the payer's operator or bank."""
    for rail, terms in _open_terms(rails, method, price):
        limits = terms.limits_for(choice)
        expected = price.expected_within(limits) if limits else None
        if expected is not None:
            return RailOffer(rail, expected, terms)
    return None


def offer_of(rails: Mapping[str, Rail], method: Method, price: AskedPrice) -> MethodOffer | None:
    first: MethodOffer | None = None
    choices: set[str] | None = set()
    for _, terms in _open_terms(rails, method, price):
        limits = terms.limits_for(None)
        expected = price.expected_within(limits) if limits else None
        if expected is None:
            continue
        first = first or MethodOffer(expected, terms.is_hosted, None)
        if choices is not None and terms.choices is not None:
            choices |= {choice for choice, own in terms.choices.items() if price.expected_within(own) is not None}
        else:
            choices = None
    if first is None or choices is None:
        return first
    return msgspec.structs.replace(first, choices=frozenset(choices)) if choices else None


def methods_taken(rails: Mapping[str, Rail], currency: Currency) -> tuple[Method, ...]:
    """Those that some rail is configured for, open or not, in the currency's order. All before the rails are known."""
    if not rails:
        return currency.spec.methods
    return tuple(
        method
        for method in currency.spec.methods
        if any(rail.capabilities.terms_for(method, currency) is not None for rail in rails.values())
    )


def _open_terms(rails: Mapping[str, Rail], method: Method, price: AskedPrice) -> Iterator[tuple[Rail, MethodTerms]]:
    for rail in rails.values():
        terms = rail.capabilities.terms_for(method, price.asked.currency)
        if terms is not None and terms.is_open:
            yield rail, terms
