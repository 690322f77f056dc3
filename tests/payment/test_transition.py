"""The state machine of a payment: what each state allows, and what money does in each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import IllegalTransition
from tidegate.core.fee import DEFAULT_FEE_RULES, FeeBearer, fee_on
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.payment import transition
from tidegate.payment.model import Customer, Payment, PaymentOrder, PaymentStatus
from tidegate.payment.transition import ALLOWED, ATTEMPTS_MAX
from tidegate.payment.variance import (
    HoldTransfer,
    ReturnTransfer,
    SettlePayment,
    Terms,
    Variance,
    VariancePolicy,
    judge,
)

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
RULE = DEFAULT_FEE_RULES[Currency.NGN, Method.BANK_TRANSFER]
FINAL = (PaymentStatus.SUCCESS, PaymentStatus.FAILED, PaymentStatus.EXPIRED)


def naira(minor: int) -> Money:
    return Money(minor, Currency.NGN)


def payment(
    status: PaymentStatus = PaymentStatus.PENDING, *, asked: int = 10_000, expected: int | None = None, held: int = 0
) -> Payment:
    order = PaymentOrder(
        reference="R",
        asked=naira(asked),
        fee_bearer=FeeBearer.BUSINESS if expected in (None, asked) else FeeBearer.CUSTOMER,
        methods=(Method.BANK_TRANSFER,),
        default_method=Method.BANK_TRANSFER,
        customer=Customer("Ada", "ada@example.com", None),
        redirect_url=None,
        success_message=None,
        metadata=None,
    )
    return Payment(
        id=1, business_id="b", pay_code="p", status=status, variance=None, order=order, reference="R",
        expected=naira(expected or asked), fee_rule_id=RULE.id, received=naira(0), held=naira(held), returned=naira(0),
        refunded=naira(0), reversed=naira(0), fee=None, settled=None, method_chosen=None,
        attempts=1, attempts_by_method={}, ending=None, is_disabled=False, version=0, paid_at=None,
        expires_at=NOW + timedelta(hours=2), created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def receive(
    before: Payment, minor: int, policy: VariancePolicy, tolerance: int = 0, *, is_in_time: bool = True
) -> transition.ReceiptOutcome:
    return transition.receive(
        before, naira(minor), terms=Terms(policy, naira(tolerance)), rule=RULE, method=Method.BANK_TRANSFER,
        is_in_time=is_in_time, now=NOW,
    )  # fmt: skip


STEPS: dict[str, Callable[[Payment], Payment]] = {
    "begin": lambda p: transition.begin_attempt(p, method=Method.CARD, expected=p.expected, fee_rule_id=RULE.id),
    "await payer": transition.await_payer,
    "await rail": transition.await_rail,
    "fail attempt": lambda p: transition.fail_attempt(p, now=NOW),
    "cancel": transition.cancel,
    "expire": transition.expire,
    "disable": lambda p: transition.disable(p, is_disabled=True),
    "enable": lambda p: transition.disable(p, is_disabled=False),
}


@pytest.mark.parametrize("status", FINAL)
@pytest.mark.parametrize("step", STEPS)
def test_final_is_final(status: PaymentStatus, step: str) -> None:
    with pytest.raises(IllegalTransition):
        STEPS[step](payment(status))


def test_every_state_says_what_it_allows() -> None:
    assert set(ALLOWED) == set(PaymentStatus)
    assert {status for status in PaymentStatus if transition.is_final(status)} == set(FINAL)
    assert all(PaymentStatus.INITIATED not in after for after in ALLOWED.values())


def test_a_payment_with_an_unknown_outcome_does_not_expire() -> None:
    with pytest.raises(IllegalTransition):
        transition.expire(payment(PaymentStatus.PROCESSING))


def test_the_attempts_are_counted() -> None:
    last = payment(PaymentStatus.PROCESSING)
    for _ in range(ATTEMPTS_MAX):
        last = STEPS["begin"](last)
    assert transition.fail_attempt(last, now=NOW).status is PaymentStatus.PENDING, "a transfer may still be made"
    order = msgspec.structs.replace(last.order, methods=(Method.CARD,))
    assert transition.fail_attempt(msgspec.structs.replace(last, order=order), now=NOW).status is PaymentStatus.FAILED
    with pytest.raises(IllegalTransition):
        STEPS["begin"](last)


def test_a_failure_after_the_end_of_the_session_ends_the_payment() -> None:
    late = payment(PaymentStatus.PROCESSING)
    assert transition.fail_attempt(late, now=late.expires_at).status is PaymentStatus.EXPIRED


policies = st.sampled_from(VariancePolicy)
amounts = st.integers(1, 10**9)


@given(amounts, st.integers(0, 10**9), amounts, policies, st.integers(0, 1_000))
def test_a_verdict_accounts_for_every_minor_unit(
    received: int, held: int, expected: int, policy: VariancePolicy, tolerance: int
) -> None:
    verdict = judge(naira(received), held=naira(held), expected=naira(expected), terms=Terms(policy, naira(tolerance)))
    if isinstance(verdict, SettlePayment):
        assert verdict.kept.minor + verdict.back.minor == received + held
        assert verdict.kept.minor > 0
        assert verdict.back.minor >= 0
        if policy is not VariancePolicy.ACCEPT:
            assert abs(verdict.kept.minor - expected) <= tolerance
            assert verdict.variance is None
    elif isinstance(verdict, HoldTransfer):
        assert policy is VariancePolicy.TOP_UP
        assert received + held < expected
    else:
        assert policy is VariancePolicy.RETURN
        assert received + held < expected


@given(st.sampled_from(list(PaymentStatus)), amounts, policies, st.integers(0, 1_000), st.booleans())
def test_money_is_always_taken_kept_or_sent_back(
    status: PaymentStatus, received: int, policy: VariancePolicy, tolerance: int, is_in_time: bool
) -> None:
    before = payment(status)
    taken = receive(before, received, policy, tolerance, is_in_time=is_in_time)
    after = taken.payment
    assert after.received.minor + after.held.minor + after.returned.minor == received
    if status in FINAL:
        assert isinstance(taken.verdict, ReturnTransfer)
        assert after.status is status
    if after.status is PaymentStatus.SUCCESS and status is not PaymentStatus.SUCCESS:
        assert after.fee is not None
        assert after.settled is not None
        # What was received is what was settled, the fee and the tax.
        assert after.received == after.settled + after.fee.total
        assert after.settled.minor >= 0


@given(amounts)
def test_a_customer_who_pays_exactly_lets_the_merchant_keep_the_amount(asked: int) -> None:
    total = asked + fee_on(naira(asked), RULE).total.minor
    after = receive(payment(asked=asked, expected=total), total, VariancePolicy.ACCEPT).payment
    assert after.settled == naira(asked)


def test_on_a_variance_the_fee_is_taken_on_what_was_received() -> None:
    after = receive(payment(asked=10_000, expected=10_151), 5_000, VariancePolicy.ACCEPT).payment
    assert after.variance is Variance.UNDERPAYMENT
    assert after.fee == fee_on(naira(5_000), RULE)
