"""The state machine of a payment as pure functions: from a payment to a payment, or a refusal."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from tidegate.core.errors import IllegalTransition
from tidegate.core.fee import Fee, FeeRule, fee_on, fee_within
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.money_return.reason import ReturnReason
from tidegate.payment.model import Ending, Payment, PaymentStatus
from tidegate.payment.variance import HoldTransfer, ReturnTransfer, SettlePayment, Terms, judge

# Per method: a payer with no card attempts left may still pay by transfer.
ATTEMPTS_MAX = 5

ALLOWED: dict[PaymentStatus, frozenset[PaymentStatus]] = {
    PaymentStatus.INITIATED: frozenset(
        {
            PaymentStatus.PENDING,
            PaymentStatus.PROCESSING,
            PaymentStatus.SUCCESS,
            PaymentStatus.FAILED,
            PaymentStatus.EXPIRED,
        }
    ),
    PaymentStatus.PENDING: frozenset(
        {
            PaymentStatus.PENDING,
            PaymentStatus.PROCESSING,
            PaymentStatus.SUCCESS,
            PaymentStatus.FAILED,
            PaymentStatus.EXPIRED,
        }
    ),
    PaymentStatus.PROCESSING: frozenset(
        {
            PaymentStatus.PENDING,
            PaymentStatus.PROCESSING,
            PaymentStatus.SUCCESS,
            PaymentStatus.FAILED,
            PaymentStatus.EXPIRED,
        }
    ),
    PaymentStatus.SUCCESS: frozenset(),
    PaymentStatus.FAILED: frozenset(),
    PaymentStatus.EXPIRED: frozenset(),
}


def is_final(status: PaymentStatus) -> bool:
    return not ALLOWED[status]


def is_open(payment: Payment, *, now: datetime) -> bool:
    """Whether the payer may start an attempt."""
    return is_under_way(payment, now=now) and not payment.is_disabled


def is_under_way(payment: Payment, *, now: datetime) -> bool:
    """Whether a started attempt may still be finished, even if the merchant has disabled the link since."""
    return not is_final(payment.status) and now < payment.expires_at


def attempts_left(payment: Payment, method: Method) -> int:
    return ATTEMPTS_MAX - payment.attempts_by_method.get(method, 0)


def methods_left(payment: Payment) -> tuple[Method, ...]:
    """The offered methods with attempts left. A transfer is always one: its account can be opened again, and a payment
    must not fail while its account may be paid."""
    return tuple(
        method
        for method in payment.order.methods
        if method is Method.BANK_TRANSFER or attempts_left(payment, method) > 0
    )


def _move(payment: Payment, status: PaymentStatus, **changes: object) -> Payment:
    if status not in ALLOWED[payment.status]:
        raise IllegalTransition(f"this payment is {payment.status.value}; it cannot become {status.value}")
    return msgspec.structs.replace(payment, status=status, **changes)


def begin_attempt(payment: Payment, *, method: Method, expected: Money, fee_rule_id: str) -> Payment:
    """Before the rail is called; from then on it may have the attempt. The chosen method sets the price."""
    if attempts_left(payment, method) <= 0:
        raise IllegalTransition("no attempts by this method are left; choose another payment method")
    return _move(
        payment,
        PaymentStatus.PROCESSING,
        attempts=payment.attempts + 1,
        attempts_by_method={**payment.attempts_by_method, method: payment.attempts_by_method.get(method, 0) + 1},
        method_chosen=method,
        expected=expected,
        fee_rule_id=fee_rule_id,
    )


def stay_open(payment: Payment, notified_within: timedelta | None, *, now: datetime) -> Payment:
    """Money that was sent in time must find the payment open, however late the rail tells of it."""
    if notified_within is None:
        return payment
    return msgspec.structs.replace(payment, expires_at=max(payment.expires_at, now + notified_within))


def resume_attempt(payment: Payment, *, expected: Money, fee_rule_id: str) -> Payment:
    """Back to an earlier attempt by transfer, at its own price. It was counted when it began."""
    return _move(
        payment, PaymentStatus.PENDING, attempts=payment.attempts + 1, expected=expected, fee_rule_id=fee_rule_id
    )


def disable(payment: Payment, *, is_disabled: bool) -> Payment:
    """Disables the link, or enables it again. A final status stays."""
    if is_final(payment.status):
        word = "disabled" if is_disabled else "enabled"
        raise IllegalTransition(f"this payment is {payment.status.value}, which is final; it cannot be {word}")
    return msgspec.structs.replace(payment, is_disabled=is_disabled)


def await_payer(payment: Payment) -> Payment:
    return _move(payment, PaymentStatus.PENDING)


def await_rail(payment: Payment) -> Payment:
    return _move(payment, PaymentStatus.PROCESSING)


def fail_attempt(payment: Payment, *, now: datetime) -> Payment:
    """A failed attempt fails the payment only when no attempts are left or the session has expired."""
    if not methods_left(payment):
        return _move(payment, PaymentStatus.FAILED, ending=Ending.ATTEMPTS_USED_UP)
    if now >= payment.expires_at:
        return _move(payment, PaymentStatus.EXPIRED)
    return _move(payment, PaymentStatus.PENDING)


def cancel(payment: Payment) -> Payment:
    return _move(payment, PaymentStatus.FAILED, ending=Ending.CANCELLED)


def expire(payment: Payment) -> Payment:
    if payment.status is PaymentStatus.PROCESSING:
        raise IllegalTransition("the outcome of an attempt is not known yet; wait for it")
    return _move(payment, PaymentStatus.EXPIRED)


class ReceiptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The payment after money has arrived, and what happens to the money."""

    payment: Payment
    verdict: SettlePayment | HoldTransfer | ReturnTransfer
    fee: Fee | None = None


def receive(
    payment: Payment, received: Money, *, terms: Terms, rule: FeeRule, method: Method, is_in_time: bool, now: datetime
) -> ReceiptOutcome:
    """Total: any money, at any time, in any state. What cannot be kept is returned."""
    if is_final(payment.status):
        is_paid = payment.status is PaymentStatus.SUCCESS
        return _send_back(payment, received, ReturnReason.ALREADY_PAID if is_paid else ReturnReason.PAYMENT_ENDED)
    if not is_in_time:
        return _send_back(payment, received, ReturnReason.ACCOUNT_CLOSED)
    verdict = judge(received, held=payment.held, expected=payment.expected, terms=terms)
    if isinstance(verdict, ReturnTransfer):
        return _send_back(payment, received, verdict.reason)
    if isinstance(verdict, HoldTransfer):
        held = _move(payment, PaymentStatus.PENDING, held=payment.held + received)
        return ReceiptOutcome(payment=held, verdict=verdict)
    return _settle(payment, verdict, rule=rule, method=method, now=now)


def _send_back(payment: Payment, received: Money, reason: ReturnReason) -> ReceiptOutcome:
    after = msgspec.structs.replace(payment, returned=payment.returned + received)
    return ReceiptOutcome(payment=after, verdict=ReturnTransfer(reason))


def _settle(
    payment: Payment, verdict: SettlePayment, *, rule: FeeRule, method: Method, now: datetime
) -> ReceiptOutcome:
    # Without a variance the fee is the quoted one, on the amount asked for.
    base = payment.order.asked if verdict.variance is None else verdict.kept
    fee = fee_within(verdict.kept, fee_on(base, rule))
    paid = _move(
        payment,
        PaymentStatus.SUCCESS,
        variance=verdict.variance,
        received=verdict.kept,
        held=Money.zero(payment.expected.currency),
        returned=payment.returned + verdict.back,
        fee=fee,
        settled=verdict.kept - fee.total,
        method_chosen=method,
        paid_at=now,
    )
    return ReceiptOutcome(payment=paid, verdict=verdict, fee=fee)
