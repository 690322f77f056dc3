"""What happens to money that arrives for a payment: the merchant's three policies, and the tolerance."""

from __future__ import annotations

import msgspec

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.money import Money
from tidegate.money_return.reason import ReturnReason


class VariancePolicy(DescribedEnum):
    ACCEPT = "accept", "Any amount settles the payment; `varianceType` tells the difference."
    TOP_UP = "top_up", "A short transfer waits for the rest; an excess is returned."
    RETURN = "return", "A short transfer is returned; an excess is returned."


class Variance(DescribedEnum):
    UNDERPAYMENT = "underpayment", "Less arrived than was expected."
    OVERPAYMENT = "overpayment", "More arrived than was expected."


class Terms(msgspec.Struct, frozen=True):
    """The merchant's settings that decide about incoming money."""

    policy: VariancePolicy
    tolerance: Money


class SettlePayment(msgspec.Struct, frozen=True):
    """The payment is paid. `kept` includes what was held before; `back` is the excess to return."""

    kept: Money
    back: Money
    variance: Variance | None


class HoldTransfer(msgspec.Struct, frozen=True):
    """Held until the rest arrives."""


class ReturnTransfer(msgspec.Struct, frozen=True):
    reason: ReturnReason


VarianceDecision = SettlePayment | HoldTransfer | ReturnTransfer


def judge(received: Money, *, held: Money, expected: Money, terms: Terms) -> VarianceDecision:
    """Money for an open payment. Several transfers add up only under the policy that waits for the rest."""
    total = held + received
    nothing = Money.zero(expected.currency)
    if abs((total - expected).minor) <= terms.tolerance.minor:
        return SettlePayment(total, nothing, None)
    if total < expected:
        return _judge_short(total, nothing, terms.policy)
    if terms.policy is VariancePolicy.ACCEPT:
        return SettlePayment(total, nothing, Variance.OVERPAYMENT)
    return SettlePayment(expected, total - expected, None)


def _judge_short(total: Money, nothing: Money, policy: VariancePolicy) -> VarianceDecision:
    if policy is VariancePolicy.ACCEPT:
        return SettlePayment(total, nothing, Variance.UNDERPAYMENT)
    if policy is VariancePolicy.TOP_UP:
        return HoldTransfer()
    return ReturnTransfer(ReturnReason.TOO_LITTLE)
