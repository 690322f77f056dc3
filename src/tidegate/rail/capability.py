"""What a rail can do: which methods in which currencies, within which limits, and which of them now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.rail.action import Action

NO_MAXIMUM_MINOR = 10**12


class AmountLimits(msgspec.Struct, frozen=True, kw_only=True):
    """In minor units. With a step of 100, amounts of a currency with two decimals are whole."""

    minor_min: int = 1
    minor_max: int = NO_MAXIMUM_MINOR
    minor_step: int = 1

    def allow(self, amount: Money) -> bool:
        return self.minor_min <= amount.minor <= self.minor_max and amount.minor % self.minor_step == 0

    def rounded_up(self, amount: Money) -> Money:
        return Money(-(-amount.minor // self.minor_step) * self.minor_step, amount.currency)


class MethodTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How a rail takes one method in one currency."""

    limits: AmountLimits = AmountLimits()
    # The payer gives the details on the rail's own page.
    is_hosted: bool = False
    # Operators of mobile money or banks of USSD that it takes now, with limits of their own; None for all.
    choices: Mapping[str, AmountLimits] | None = None
    # How long after the payment the rail may tell of it; None for at once.
    notified_within: timedelta | None = None
    # False while the rail cannot take it.
    is_open: bool = True

    def limits_for(self, choice: str | None) -> AmountLimits | None:
        """Of an operator or bank; without a choice, of the method. None for what it does not take now."""
        if not self.is_open:
            return None
        if self.choices is None:
            return self.limits
        return self.limits if choice is None and self.choices else self.choices.get(choice or "")


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot; the next may differ."""

    # All that the rail is configured for, open or not.
    methods: Mapping[Currency, Mapping[Method, MethodTerms]] = {}
    # Currencies of the permanent accounts it can open.
    account_currencies: frozenset[Currency] = frozenset()
    # Actions whose prompt or code it can send again.
    resends: frozenset[type[Action]] = frozenset()
    # It keeps the account of a transfer open for longer when we do.
    extends_accounts: bool = False
    # It can list its transactions.
    lists_transactions: bool = False
    # With money that was taken back, such as chargebacks.
    lists_reversals: bool = False

    def terms_for(self, method: Method, currency: Currency) -> MethodTerms | None:
        return self.methods.get(currency, {}).get(method)

    def offers(self, method: Method, amount: Money, choice: str | None = None) -> bool:
        terms = self.terms_for(method, amount.currency)
        limits = terms.limits_for(choice) if terms else None
        return limits is not None and limits.allow(amount)
