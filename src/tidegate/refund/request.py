"""A refund request, before its subject is looked up."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from tidegate.core.errors import Invalid, Problem
from tidegate.core.money import Currency, Money


class RefundRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Without an amount: the excess of an overpayment, otherwise all that remains."""

    reference: str
    # In major units; the allowed decimals depend on the currency of the subject.
    amount: Decimal | None = None
    currency: Currency | None = None
    # Visible to the customer, and to the merchant only.
    reason: str | None = None
    note: str | None = None

    def amount_in(self, currency: Currency) -> Money | None:
        if self.currency not in (None, currency):
            raise Invalid(Problem("currency", f"must be {currency}, the currency received"))
        if self.amount is None:
            return None
        minor = self.amount.scaleb(currency.exponent)
        if minor != minor.to_integral_value():
            decimals = f"at most {currency.exponent} decimals" if currency.exponent else "no decimals"
            raise Invalid(Problem("amount", f"must have {decimals} in {currency}"))
        return Money(int(minor), currency)
