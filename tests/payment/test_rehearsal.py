"""The policy that was not chosen, tried on what really happened."""

from __future__ import annotations

import pytest

from tidegate.core.money import Currency, Money
from tidegate.payment.rehearsal import PastTransfer, RehearsedEnd, end_of, rehearse
from tidegate.payment.variance import Terms, VariancePolicy


def ngn(minor: int) -> Money:
    return Money(minor, Currency.NGN)


def sent(*minor: int, pay_code: str = "P") -> list[PastTransfer]:
    return [PastTransfer(pay_code, "ORDER-1", ngn(10_000), ngn(one)) for one in minor]


def terms(policy: VariancePolicy) -> Terms:
    return Terms(policy, ngn(0))


@pytest.mark.parametrize(
    ("transfers", "policy", "end"),
    [
        ((12_000,), VariancePolicy.ACCEPT, RehearsedEnd(True, ngn(12_000), ngn(0))),
        ((12_000,), VariancePolicy.RETURN, RehearsedEnd(True, ngn(10_000), ngn(2_000))),
        ((4_000,), VariancePolicy.ACCEPT, RehearsedEnd(True, ngn(4_000), ngn(0))),
        ((4_000,), VariancePolicy.TOP_UP, RehearsedEnd(False, ngn(0), ngn(4_000))),
        ((4_000,), VariancePolicy.RETURN, RehearsedEnd(False, ngn(0), ngn(4_000))),
        ((4_000, 6_000), VariancePolicy.ACCEPT, RehearsedEnd(True, ngn(4_000), ngn(6_000))),
        ((4_000, 6_000), VariancePolicy.TOP_UP, RehearsedEnd(True, ngn(10_000), ngn(0))),
        ((4_000, 10_000), VariancePolicy.RETURN, RehearsedEnd(True, ngn(10_000), ngn(4_000))),
    ],
)
def test_the_end_of_a_payment_by_policy(transfers: tuple[int, ...], policy: VariancePolicy, end: RehearsedEnd) -> None:
    assert end_of(sent(*transfers), terms(policy)) == end


def test_only_payments_that_end_differently_are_named() -> None:
    past = [*sent(10_000, pay_code="A"), *sent(4_000, 6_000, pay_code="B"), *sent(4_000, pay_code="C")]
    tried = rehearse(past, today=VariancePolicy.TOP_UP, then=VariancePolicy.RETURN, tolerance_minor=0)
    assert (tried.payments, [one.pay_code for one in tried.differences]) == (3, ["B"])
    assert tried.differences[0].received == ngn(10_000)
