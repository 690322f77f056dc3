"""From pawaPay's answers to the state of an attempt or a payout. Pure."""

from __future__ import annotations

from tidegate.rail.action import FailureReason
from tidegate.rail.pawapay import wire
from tidegate.rail.pawapay.wire import PawapayTransaction, PawapayUnreadable
from tidegate.rail.state import AttemptState, Failed, PayoutState, Running, StillWaiting, Succeeded

COMPLETED, FAILED = "COMPLETED", "FAILED"
_REASONS = {
    "PAYMENT_NOT_APPROVED": FailureReason.NOT_APPROVED,
    "INSUFFICIENT_BALANCE": FailureReason.INSUFFICIENT_FUNDS,
    "PAYER_NOT_FOUND": FailureReason.NO_SUCH_WALLET,
    "INVALID_PHONE_NUMBER": FailureReason.NO_SUCH_WALLET,
    "PAYER_LIMIT_REACHED": FailureReason.LIMIT_REACHED,
    "WALLET_LIMIT_REACHED": FailureReason.LIMIT_REACHED,
    "AMOUNT_OUT_OF_BOUNDS": FailureReason.LIMIT_REACHED,
    "PROVIDER_TEMPORARILY_UNAVAILABLE": FailureReason.RAIL_UNAVAILABLE,
    "PAYMENT_IN_PROGRESS": FailureReason.ANOTHER_UNDER_WAY,
    "TRANSACTION_ALREADY_IN_PROCESS": FailureReason.ANOTHER_UNDER_WAY,
    # Of our request, not of the payer.
    "INVALID_AMOUNT": FailureReason.NOT_STARTED,
    "INVALID_CURRENCY": FailureReason.NOT_STARTED,
    "INVALID_PROVIDER": FailureReason.NOT_STARTED,
}


def failure_of(code: str) -> FailureReason:
    return _REASONS.get(code, FailureReason.DECLINED)


def of_deposit(found: PawapayTransaction) -> AttemptState:
    """Only COMPLETED and FAILED are ends; whatever else it says, it goes on."""
    if found.status == COMPLETED:
        return succeeded(found)
    return Failed(failure_of(found.code)) if found.status == FAILED else StillWaiting()


def succeeded(found: PawapayTransaction) -> Succeeded:
    if not found.deposit_id:
        raise PawapayUnreadable("a completed deposit has no id")
    return Succeeded(found.deposit_id, wire.money(found.amount, found.currency))


def of_refund(found: PawapayTransaction) -> PayoutState:
    if found.status == COMPLETED:
        if not found.refund_id:
            raise PawapayUnreadable("a completed refund has no id")
        return Succeeded(found.refund_id, wire.money(found.amount, found.currency))
    return Failed(FailureReason.DECLINED) if found.status == FAILED else Running()
