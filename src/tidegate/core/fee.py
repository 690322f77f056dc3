"""Fees: rules as data, and the arithmetic on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.method import InflowMethod, Priced
from tidegate.core.money import ACCOUNT_OFFERS, CHECKOUT_OFFERS, Currency, Money, Rounding

_PERCENT = re.compile(r"\d{1,3}(\.\d{1,2})?", re.ASCII)


class FeeBearer(DescribedEnum):
    BUSINESS = "business", "The fee is taken from what you receive."
    CUSTOMER = "customer", "The fee is added to what the customer pays."


class FeeOnRefund(DescribedEnum):
    """Whether a refund returns its share of the fee to the merchant."""

    KEPT = "kept", "A refund does not return the fee."
    RETURNED = "returned", "A refund returns its share of the fee and VAT to your wallet."


@dataclass(frozen=True, slots=True)
class FeeRule:
    """A share of the amount plus a fixed part, up to a cap; and tax on the fee."""

    id: str
    basis_points: int
    vat_basis_points: int = 0
    fixed_minor: int = 0
    cap_minor: int | None = None
    on_refund: FeeOnRefund = FeeOnRefund.KEPT


@dataclass(frozen=True, slots=True)
class Fee:
    """The fee without its tax, and the tax."""

    fee: Money
    vat: Money

    @property
    def total(self) -> Money:
        return self.fee + self.vat


def basis_points_in(percent: str) -> int | None:
    """Of a percentage as it is typed; None for what is none."""
    if not _PERCENT.fullmatch(percent) or Decimal(percent) > 100:
        return None
    return int(Decimal(percent) * 100)


def fee_on(amount: Money, rule: FeeRule) -> Fee:
    """Fee and tax are two amounts on the receipt, so each is rounded once, to minor units."""
    share = amount.basis_points(rule.basis_points, rounding=Rounding.HALF_UP)
    uncapped = share.minor + rule.fixed_minor
    fee = Money(uncapped if rule.cap_minor is None else min(uncapped, rule.cap_minor), amount.currency)
    return Fee(fee, fee.basis_points(rule.vat_basis_points, rounding=Rounding.HALF_UP))


def fee_within(received: Money, fee: Fee) -> Fee:
    """The fee of a receipt that may be smaller than its fee: the fee first, then the tax, never more than received."""
    kept = min(fee.fee, received)
    return Fee(kept, min(fee.vat, received - kept))


def amount_expected(asked: Money, bearer: FeeBearer, rule: FeeRule) -> Money:
    """The amount that the payer must send."""
    return asked + fee_on(asked, rule).total if bearer is FeeBearer.CUSTOMER else asked


def _default_rules() -> Iterator[tuple[tuple[Currency, Priced], FeeRule]]:
    for currency, checkout in CHECKOUT_OFFERS.items():
        for method in currency.spec.methods:
            rule_id = f"default-{currency.value}-{method.value}".lower()
            yield (currency, method), FeeRule(rule_id, checkout.fee_basis_points, checkout.vat_basis_points)
    inflow = InflowMethod.VIRTUAL_ACCOUNT
    for currency, account in ACCOUNT_OFFERS.items():
        rule_id = f"default-{currency.value}-{inflow.value}".lower()
        yield (currency, inflow), FeeRule(rule_id, 0, fixed_minor=account.fee_minor)


DEFAULT_FEE_RULES: dict[tuple[Currency, Priced], FeeRule] = dict(_default_rules())
DEFAULT_FEE_RULE_BY_ID = {rule.id: rule for rule in DEFAULT_FEE_RULES.values()}
