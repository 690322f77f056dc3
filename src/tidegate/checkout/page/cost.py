"""What a payment costs its payer by one method: the customer may bear a fee, and fees differ by method."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.core.fee import Fee, FeeBearer, fee_on
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.payment.change import Situation


class Cost(msgspec.Struct, frozen=True):
    expected: Money
    # On top of what is asked for; None where the shop bears it.
    fee: Fee | None


def costs_of(situation: Situation, methods: Sequence[Method]) -> tuple[Cost, ...]:
    """One for each method; a single one where it does not matter which is chosen."""
    order = situation.payment.order
    if order.fee_bearer is not FeeBearer.CUSTOMER:
        return (Cost(order.asked, None),)
    costs = tuple(_cost(situation, method) for method in methods)
    return costs if any(cost != costs[0] for cost in costs) else costs[:1]


def _cost(situation: Situation, method: Method) -> Cost:
    asked = situation.payment.order.asked
    fee = fee_on(asked, situation.business.fee_rule_for(asked.currency, method))
    if not fee.total.minor:
        return Cost(asked, None)
    # Once it is paid, as it was taken: prices may have changed since.
    return Cost(asked + fee.total, situation.payment.fee or fee)
