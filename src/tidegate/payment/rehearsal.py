"""What would have become of past transfers under another policy: the same rule as when money arrives, on real history.

Nothing is written. Both policies are tried on the same transfers, so that a policy that was changed meanwhile does not
count as a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from tidegate.core.money import Money
from tidegate.payment.variance import HoldTransfer, SettlePayment, Terms, VariancePolicy, judge


class PastTransfer(NamedTuple):
    """Of one payment together, in the order of arrival. Transfers that came too late are not among them."""

    pay_code: str
    reference: str
    expected: Money
    amount: Money


class RehearsedEnd(msgspec.Struct, frozen=True):
    is_paid: bool
    kept: Money
    back: Money


class RehearsedDifference(msgspec.Struct, frozen=True):
    pay_code: str
    reference: str
    expected: Money
    received: Money
    today: RehearsedEnd
    then: RehearsedEnd


class Rehearsal(msgspec.Struct, frozen=True):
    policy: VariancePolicy
    payments: int
    differences: list[RehearsedDifference]


def rehearse(
    transfers: Iterable[PastTransfer], *, today: VariancePolicy, then: VariancePolicy, tolerance_minor: int
) -> Rehearsal:
    payments, differences = 0, []
    for pay_code, group in groupby(transfers, key=lambda one: one.pay_code):
        arrived = list(group)
        payments += 1
        first = arrived[0]
        tolerance = Money(tolerance_minor, first.expected.currency)
        ends = [end_of(arrived, Terms(policy, tolerance)) for policy in (today, then)]
        if ends[0] != ends[1]:
            received = sum((one.amount for one in arrived), Money.zero(first.expected.currency))
            differences.append(RehearsedDifference(pay_code, first.reference, first.expected, received, *ends))
    return Rehearsal(then, payments, differences)


def end_of(arrived: Sequence[PastTransfer], terms: Terms) -> RehearsedEnd:
    nothing = Money.zero(arrived[0].expected.currency)
    held = back = nothing
    kept: Money | None = None
    for one in arrived:
        if kept is not None:
            back += one.amount
            continue
        verdict = judge(one.amount, held=held, expected=one.expected, terms=terms)
        if isinstance(verdict, SettlePayment):
            kept, back = verdict.kept, back + verdict.back
        elif isinstance(verdict, HoldTransfer):
            held += one.amount
        else:
            back += one.amount
    if kept is None:
        # What was held goes back when the rest does not come.
        return RehearsedEnd(False, nothing, back + held)
    return RehearsedEnd(True, kept, back)
