"""What the page shows for a payment at a moment. Pure: the same payment at the same time is in the same state."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from tidegate.core.method import Method
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import Ending, Payment, PaymentStatus
from tidegate.payment.transition import is_final
from tidegate.rail.action import (
    Action,
    AddressAction,
    DialAction,
    OtpAction,
    PinAction,
    PromptAction,
    RedirectAction,
    TransferAction,
)


class PageState(StrEnum):
    CHOOSE = "choose"  # a tab for each method; one of them may be waiting for the payer
    SHORT = "short"  # part of the money is here
    PIN = "pin"
    OTP = "otp"
    ADDRESS = "address"
    ISSUER = "issuer"  # the payer continues on the bank's own page
    WORKING = "working"  # at the bank; the outcome is not known yet
    PAID = "paid"
    CANCELLED = "cancelled"
    USED_UP = "used_up"
    EXPIRED = "expired"
    DISABLED = "disabled"
    CLOSED = "closed"  # the business takes no payments


class PanelStep(StrEnum):
    """What a method's own panel shows."""

    FORM = "form"
    ACCOUNT = "account"
    ACCOUNT_CLOSED = "account_closed"
    PROMPT = "prompt"
    DIAL = "dial"


class Resend(StrEnum):
    """Whether a prompt or code may be asked for again."""

    NEVER = "never"
    LATER = "later"
    NOW = "now"
    NO_MORE = "no_more"


RESULTS = frozenset(
    {PageState.PAID, PageState.CANCELLED, PageState.USED_UP, PageState.EXPIRED, PageState.DISABLED, PageState.CLOSED}
)
QUESTIONS: dict[type[Action], PageState] = {
    PinAction: PageState.PIN,
    OtpAction: PageState.OTP,
    AddressAction: PageState.ADDRESS,
    RedirectAction: PageState.ISSUER,
}
STEPS: dict[type[Action], PanelStep] = {
    TransferAction: PanelStep.ACCOUNT,
    PromptAction: PanelStep.PROMPT,
    DialAction: PanelStep.DIAL,
}


def state_of(snapshot: PaymentSnapshot, *, now: datetime, goes_back: bool = False) -> PageState:
    """`goes_back`: the payer chooses a method again instead of answering the bank."""
    payment, attempt = snapshot.payment, snapshot.attempt
    if is_final(payment.status):
        return _final(payment)
    if attempt is not None and attempt.is_unknown:
        return PageState.WORKING
    if now >= payment.expires_at:
        return PageState.EXPIRED  # The worker writes it down in a moment.
    if payment.held.minor and attempt is not None and attempt.account_number:
        return PageState.SHORT
    if attempt is None or attempt.status is not AttemptStatus.WAITING:
        return _to_begin(snapshot)
    # An attempt under way can be finished, whatever was disabled since.
    question = QUESTIONS.get(type(attempt.action))  # type: ignore[arg-type]
    return PageState.CHOOSE if question is None or goes_back else question


def _final(payment: Payment) -> PageState:
    if payment.status is PaymentStatus.SUCCESS:
        return PageState.PAID
    if payment.status is PaymentStatus.EXPIRED:
        return PageState.EXPIRED
    return PageState.CANCELLED if payment.ending is Ending.CANCELLED else PageState.USED_UP


def _to_begin(snapshot: PaymentSnapshot) -> PageState:
    """A new attempt needs an active business and an enabled payment."""
    if snapshot.payment.is_disabled:
        return PageState.DISABLED
    return PageState.CHOOSE if snapshot.business.is_active else PageState.CLOSED


def step_of(snapshot: PaymentSnapshot, method: Method, *, now: datetime) -> PanelStep:
    attempt = snapshot.attempt
    if attempt is None or attempt.method is not method:
        return PanelStep.FORM
    if attempt.account_number and (attempt.status is AttemptStatus.EXPIRED or not attempt.takes_money_at(now)):
        return PanelStep.ACCOUNT_CLOSED
    if attempt.status is not AttemptStatus.WAITING:
        return PanelStep.FORM
    return STEPS.get(type(attempt.action), PanelStep.FORM)  # type: ignore[arg-type]


def selected_method(snapshot: PaymentSnapshot, asked: Method | None) -> Method:
    """The one in the address, else the one under way or tried last, else the merchant's choice."""
    order, attempt = snapshot.payment.order, snapshot.attempt
    if asked in order.methods:
        assert asked is not None
        return asked
    return attempt.method if attempt is not None else order.default_method


def resend_of(attempt: Attempt, *, can_resend: bool, now: datetime) -> Resend:
    """Of the prompt or code that the payer waits for; `can_resend` is the rail's answer."""
    if not can_resend:
        return Resend.NEVER
    if attempt.resends_left <= 0:
        return Resend.NO_MORE
    return Resend.LATER if attempt.resend_from is not None and now < attempt.resend_from else Resend.NOW
