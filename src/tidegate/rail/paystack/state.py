"""From Paystack's answers to the state of an attempt or a payout. Pure."""

from __future__ import annotations

import re
from datetime import datetime

from tidegate.core.money import Money
from tidegate.rail.action import (
    Action,
    DialAction,
    FailureReason,
    OtpAction,
    PromptAction,
    RedirectAction,
    TransferAction,
)
from tidegate.rail.paystack import wire
from tidegate.rail.paystack.wire import PaystackCharge, PaystackRefund, PaystackTransaction, PaystackUnreadable
from tidegate.rail.state import (
    AttemptState,
    Failed,
    Party,
    PayoutState,
    Running,
    StillWaiting,
    Succeeded,
    Waiting,
)

# By a part of Paystack's text, in this order.
_REASONS = (
    ("insufficient", FailureReason.INSUFFICIENT_FUNDS),
    ("limit exceeded", FailureReason.LIMIT_REACHED),
    ("exceeds", FailureReason.LIMIT_REACHED),
    ("incorrect pin", FailureReason.WRONG_PIN),
    ("invalid pin", FailureReason.WRONG_PIN),
    ("otp", FailureReason.WRONG_OTP),
    ("exceeded the time", FailureReason.EXPIRED),
    ("timeout", FailureReason.NOT_APPROVED),
    ("timed out", FailureReason.NOT_APPROVED),
    ("cancelled", FailureReason.NOT_APPROVED),
)
# The payer has paid. What was refunded or charged back later was paid too.
PAID = frozenset({"success", "reversed"})
_WAITING = frozenset({"abandoned", "ongoing"})
_OTP = frozenset({"send_otp"})
# Of a transaction: 64 bits.
_ID = re.compile(r"[0-9]{1,20}")


def failure_of(*texts: str | None) -> FailureReason:
    said = " ".join(text.lower() for text in texts if text)
    return next((reason for part, reason in _REASONS if part in said), FailureReason.DECLINED)


def of_transaction(found: PaystackTransaction, *, asked: Money, action: Action | None) -> AttemptState:
    """`action` is what the payer is asked to do, where it is known."""
    if found.status in PAID:
        return succeeded(found, asked=asked)
    if found.status == "failed":
        return Failed(failure_of(found.message, found.gateway_response))
    is_answered_elsewhere = isinstance(action, PromptAction | DialAction | TransferAction)
    if found.status in _WAITING or is_answered_elsewhere:
        return StillWaiting(action)
    return Running()


def succeeded(found: PaystackTransaction, *, asked: Money) -> Succeeded:
    if not _ID.fullmatch(str(found.id)):
        raise PaystackUnreadable("a successful transaction has no number of its own")
    sender = found.authorization
    payer = (
        Party(name=sender.sender_name, account_number=sender.sender_bank_account_number, bank_name=sender.sender_bank)
        if sender and (sender.sender_name or sender.sender_bank_account_number)
        else None
    )
    return Succeeded(str(found.id), paid(found, asked=asked), payer, wire.moment(found.paid_at))


def paid(found: PaystackTransaction, *, asked: Money | None) -> Money:
    """An account may pass Paystack's fee on to the payer. It is not ours: then what was requested was paid."""
    amount = wire.money(found.amount, found.currency)
    if found.requested_amount is None or found.fees is None or (fees := wire.hundredths(found.fees)) == 0:
        return amount
    requested = wire.money(found.requested_amount, found.currency)
    is_passed_on = amount.minor - fees == requested.minor and asked in (requested, None)
    return requested if is_passed_on else amount


def of_charge(charge: PaystackCharge, *, given: OtpAction | None = None) -> Waiting | Running | Failed | None:
    """None for a charge that has ended well: its transaction is then asked for. `given`: an OTP was sent for it."""
    if charge.status == "failed":
        return Failed(failure_of(charge.message))
    if charge.status in _OTP:
        return Waiting(OtpAction(charge.display_text), FailureReason.WRONG_OTP if given else None)
    if charge.status == "success":
        return None
    action = _action_of(charge)
    return Waiting(action) if action else Running()


def _action_of(charge: PaystackCharge) -> Action | None:
    match charge.status:
        case "pending_bank_transfer" if charge.account_number:
            return TransferAction(
                charge.account_number,
                charge.bank.name if charge.bank else "",
                "",
                charge.account_name or "",
                reference=charge.transaction_reference,
                expires_at=wire.moment(charge.account_expires_at),
                is_polled=True,
            )
        case "pay_offline" if charge.ussd_code:
            return DialAction(charge.ussd_code)
        case "pay_offline":
            return PromptAction(text=charge.display_text)
        case "open_url" if charge.url:
            return RedirectAction(charge.url, is_hosted=True)
    return None


def of_refund(refund: PaystackRefund) -> PayoutState:
    if refund.status == "processed":
        return Succeeded(str(refund.id), wire.money(refund.amount, refund.currency))
    if refund.status == "failed":
        return Failed(FailureReason.DECLINED)
    return Running()


def is_younger(started_at: datetime, seconds: float, *, now: datetime) -> bool:
    return (now - started_at).total_seconds() < seconds
