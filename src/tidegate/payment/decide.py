"""From the current state and a rail's report to the change to write. Pure: reads nothing, writes nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from tidegate.core import ids
from tidegate.core.fee import FeeRule
from tidegate.core.method import MethodNames
from tidegate.core.money import Money
from tidegate.core.public_id import PublicIds
from tidegate.ledger import postings
from tidegate.ledger.model import Journal
from tidegate.merchant.model import Business
from tidegate.money_return.model import ReturnRequest
from tidegate.money_return.reason import ReturnReason
from tidegate.payment import transition
from tidegate.payment.attempt import RESEND_PAUSE, Attempt, AttemptStatus, ended, next_poll_at
from tidegate.payment.change import PaymentChange, PaymentSnapshot, Receipt
from tidegate.payment.event import charge_successful
from tidegate.payment.model import Payment
from tidegate.payment.transition import ReceiptOutcome
from tidegate.payment.variance import HoldTransfer, ReturnTransfer, Terms, VariancePolicy
from tidegate.rail.action import FailureReason, TransferAction, is_polled
from tidegate.rail.notification import NotificationRef
from tidegate.rail.state import AttemptState, Failed, StillWaiting, Succeeded, Waiting

# A rail that still reports "waiting" after this time will not take the money any more.
POLLED_AFTER_THE_END_FOR = timedelta(days=1)
# A polled account: how long after it has closed.
POLLED_AFTER_CLOSING_FOR = timedelta(hours=1)


class WrongCurrency(Exception):
    """Money that names this payment but is in another currency."""


class IncomingTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """Money for a payment, whether notified or found by polling."""

    rail: str
    transaction_id: str
    amount: Money
    payer: dict[str, Any]
    # When the bank booked it; the notification may come much later.
    valued_at: datetime | None = None


def on_state(
    snapshot: PaymentSnapshot,
    state: AttemptState,
    *,
    rule: FeeRule,
    names: MethodNames,
    public_ids: PublicIds,
    ref: NotificationRef | None,
    now: datetime,
) -> PaymentChange | None:
    """None when the report changes nothing: it is old, or repeats what is recorded."""
    payment, attempt = snapshot.payment, snapshot.attempt
    assert attempt is not None
    if isinstance(state, Succeeded):
        if state.amount.currency is not payment.expected.currency:
            raise WrongCurrency(f"the payment is in {payment.expected.currency}, not {state.amount.currency}")
        arrival = IncomingTransfer(
            rail=attempt.rail,
            transaction_id=state.transaction_id,
            amount=state.amount,
            payer=msgspec.to_builtins(state.payer) if state.payer else {},
            valued_at=state.paid_at,
        )
        return on_arrival(snapshot, arrival, rule=rule, names=names, public_ids=public_ids, ref=ref, now=now)
    if not attempt.is_open:
        return _poll_ended(snapshot, ref=ref, now=now)
    state = _completed(attempt, state)
    if isinstance(state, Failed):
        failed = ended(attempt, AttemptStatus.FAILED, failure=state.reason)
        moved = payment if transition.is_final(payment.status) else transition.fail_attempt(payment, now=now)
        return PaymentChange(payment=moved, attempt=failed, ref=ref, now=now)
    if transition.is_final(payment.status):
        return _keep_asking(snapshot, ref=ref, now=now)
    if isinstance(state, Waiting):
        return PaymentChange(
            payment=transition.await_payer(payment),
            attempt=_waiting(attempt, state, now),
            ref=ref,
            now=now,
        )
    return _still_running(snapshot, now=now, ref=ref)


def on_time_out(snapshot: PaymentSnapshot, *, is_poll: bool, now: datetime) -> PaymentChange | None:
    """The rail did not answer. It may have the attempt, so the outcome is unknown and is polled for. A poll changes
    nothing at the rail, so the payer still has to act.
    """
    attempt = snapshot.attempt
    if attempt is None:
        return None
    if not attempt.is_open:
        return _poll_ended(snapshot, ref=None, now=now)
    if transition.is_final(snapshot.payment.status):
        return _keep_asking(snapshot, ref=None, now=now)
    if is_poll and attempt.status is AttemptStatus.WAITING:
        return PaymentChange(payment=snapshot.payment, attempt=_polled_later(attempt, now), now=now)
    return _still_running(snapshot, now=now, ref=None)


def _poll_ended(snapshot: PaymentSnapshot, *, ref: NotificationRef | None, now: datetime) -> PaymentChange | None:
    """Money sent at the last moment may be on its way to the account, and its notification may be lost."""
    attempt = snapshot.attempt
    assert attempt is not None
    if attempt.next_poll_at is None:
        return None
    closed_at = attempt.expires_at if attempt.account_number else None
    is_polled = closed_at is not None and now < closed_at + POLLED_AFTER_CLOSING_FOR
    later = _polled_later(attempt, now) if is_polled else msgspec.structs.replace(attempt, next_poll_at=None)
    return PaymentChange(payment=snapshot.payment, attempt=later, ref=ref, now=now)


def _polled_later(attempt: Attempt, now: datetime) -> Attempt:
    return msgspec.structs.replace(attempt, polls=attempt.polls + 1, next_poll_at=next_poll_at(attempt.polls, now=now))


def _keep_asking(snapshot: PaymentSnapshot, *, ref: NotificationRef | None, now: datetime) -> PaymentChange | None:
    """The payment has ended, but this attempt may still take the payer's money, which must then be returned."""
    payment, attempt = snapshot.payment, snapshot.attempt
    if attempt is None or attempt.next_poll_at is None:
        return None
    if now > payment.expires_at + POLLED_AFTER_THE_END_FOR:
        return PaymentChange(payment=payment, attempt=ended(attempt, AttemptStatus.EXPIRED), ref=ref, now=now)
    return PaymentChange(payment=payment, attempt=_polled_later(attempt, now), ref=ref, now=now)


def _still_running(snapshot: PaymentSnapshot, *, now: datetime, ref: NotificationRef | None) -> PaymentChange:
    attempt = snapshot.attempt
    assert attempt is not None
    running = msgspec.structs.replace(_polled_later(attempt, now), status=AttemptStatus.RUNNING, failure=None)
    return PaymentChange(payment=transition.await_rail(snapshot.payment), attempt=running, ref=ref, now=now)


def _completed(attempt: Attempt, state: AttemptState) -> AttemptState:
    """With the action that the rail does not repeat. After the last answer it has failed."""
    if isinstance(state, StillWaiting) and (action := attempt.action or state.action):
        return Waiting(action, attempt.failure if attempt.status is AttemptStatus.WAITING else None)
    if isinstance(state, Waiting) and _is_asked_too_often(attempt, state):
        return Failed(state.problem or FailureReason.DECLINED)
    return state


def _is_asked_too_often(attempt: Attempt, state: Waiting) -> bool:
    """The payer has used all answers, even if the rail would accept more."""
    return _asks_the_same(attempt, state) and attempt.answers_left <= 0


def _asks_the_same(attempt: Attempt, state: Waiting) -> bool:
    return type(state.action) is type(attempt.action)


def _waiting(attempt: Attempt, state: Waiting, now: datetime) -> Attempt:
    changes: dict[str, Any] = {
        "status": AttemptStatus.WAITING,
        "action": state.action,
        # What was wrong with the last answer; cleared when the attempt moves on.
        "failure": state.problem,
        "next_poll_at": None,
    }
    if not _asks_the_same(attempt, state):
        changes |= {"answers": 0, "resends": 0, "resend_from": now + RESEND_PAUSE}
    if isinstance(state.action, TransferAction):
        changes["account_number"] = state.action.destination
        changes["account_id"] = attempt.account_id or ids.new_account_id()
        changes["expires_at"] = _earlier(attempt.expires_at, state.action.expires_at)
    if is_polled(state.action):
        changes |= {"polls": attempt.polls + 1, "next_poll_at": next_poll_at(attempt.polls, now=now)}
    return msgspec.structs.replace(attempt, **changes)


def _earlier(ours: datetime | None, of_rail: datetime | None) -> datetime | None:
    return min(ours, of_rail) if ours and of_rail else ours or of_rail


def on_arrival(
    snapshot: PaymentSnapshot,
    arrival: IncomingTransfer,
    *,
    rule: FeeRule,
    names: MethodNames,
    public_ids: PublicIds,
    ref: NotificationRef | None,
    now: datetime,
) -> PaymentChange:
    """Money is always recorded: kept, held or returned."""
    attempt = snapshot.attempt
    assert attempt is not None
    taken = transition.receive(
        _priced_by(attempt, snapshot.payment),
        arrival.amount,
        terms=terms_of(snapshot.business, arrival.amount),
        rule=rule,
        method=attempt.method,
        is_in_time=_is_in_time(snapshot.payment, attempt, arrival, now),
        now=now,
    )
    if isinstance(taken.verdict, ReturnTransfer):
        taken = msgspec.structs.replace(taken, payment=_after_return(snapshot.payment, attempt, taken, now))
    receipt = _receipt(arrival, taken)
    change = PaymentChange(
        payment=taken.payment,
        attempt=_after_money(attempt, taken),
        ref=ref,
        receipt=receipt,
        going_back=_going_back(arrival, taken),
        journal=_journal(snapshot, arrival, taken, now),
        now=now,
    )
    if taken.fee is None or change.attempt is None:
        return change
    event = charge_successful(
        snapshot.business, taken.payment, change.attempt, receipt, names=names, public_ids=public_ids, now=now
    )
    return msgspec.structs.replace(change, event=event)


def _priced_by(attempt: Attempt, payment: Payment) -> Payment:
    """The payer was quoted the amount of this attempt, whatever was begun afterwards."""
    return msgspec.structs.replace(payment, expected=attempt.expected, fee_rule_id=attempt.fee_rule_id)


def _is_in_time(payment: Payment, attempt: Attempt, arrival: IncomingTransfer, now: datetime) -> bool:
    """Only an account closes. An approval by phone or card counts, however late the notification is."""
    if attempt.account_number is None:
        return True
    # The bank's value date counts where it is plausible.
    valued_at = arrival.valued_at or now
    moment = valued_at if attempt.created_at <= valued_at <= now else now
    return attempt.takes_money_at(moment) and moment < payment.expires_at


def _after_return(before: Payment, attempt: Attempt, taken: ReceiptOutcome, now: datetime) -> Payment:
    """The price stays the same; if the attempt itself is over, the payment stops waiting for it."""
    after = msgspec.structs.replace(taken.payment, expected=before.expected, fee_rule_id=before.fee_rule_id)
    if attempt.account_number is None and attempt.is_open and not transition.is_final(after.status):
        return transition.fail_attempt(after, now=now)
    return after


def terms_of(business: Business, amount: Money) -> Terms:
    tolerance = Money(business.variance_tolerance_minor, amount.currency)
    return Terms(VariancePolicy(business.variance_policy), tolerance)


def _after_money(attempt: Attempt, taken: ReceiptOutcome) -> Attempt:
    if taken.fee is not None:
        return ended(attempt, AttemptStatus.SUCCEEDED)
    if attempt.is_open and attempt.account_number is None:
        # Its money came and was returned: nothing is left to wait for.
        return ended(attempt, AttemptStatus.FAILED, failure=FailureReason.RETURNED)
    return attempt


def _receipt(arrival: IncomingTransfer, taken: ReceiptOutcome) -> Receipt:
    verdict = taken.verdict
    word = {ReturnTransfer: "returned", HoldTransfer: "held"}.get(type(verdict), "settled")
    return Receipt(
        rail=arrival.rail,
        transaction_id=arrival.transaction_id,
        amount=arrival.amount,
        outcome=word,
        reason=verdict.reason if isinstance(verdict, ReturnTransfer) else None,
        payer=arrival.payer,
    )


def _going_back(arrival: IncomingTransfer, taken: ReceiptOutcome) -> ReturnRequest | None:
    verdict = taken.verdict
    if isinstance(verdict, HoldTransfer):
        return None
    back, reason = (
        (arrival.amount, verdict.reason)
        if isinstance(verdict, ReturnTransfer)
        else (verdict.back, ReturnReason.TOO_MUCH)
    )
    if back.minor == 0:
        return None
    return ReturnRequest(
        rail=arrival.rail,
        reference=ids.new_return_reference(),
        transaction_id=arrival.transaction_id,
        amount=back,
        reason=reason,
    )


def _journal(snapshot: PaymentSnapshot, arrival: IncomingTransfer, taken: ReceiptOutcome, now: datetime) -> Journal:
    verdict = taken.verdict
    cause = f"{arrival.rail}/{arrival.transaction_id}"
    if isinstance(verdict, ReturnTransfer):
        return postings.receipt_returning(cause=cause, returned=arrival.amount, event_at=now)
    if isinstance(verdict, HoldTransfer):
        return postings.receipt_held(cause=cause, received=arrival.amount, event_at=now)
    assert taken.fee is not None
    # One per payment, enforced by a unique key: the second guard beside the payment's version.
    return postings.checkout_settled(
        cause=f"payment/{snapshot.payment.id}",
        received=arrival.amount,
        held=snapshot.payment.held,
        back=verdict.back,
        fee=taken.fee,
        event_at=now,
    )
