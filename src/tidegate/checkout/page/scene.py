"""What a payment looks like to its payer at this moment. Pure: the same payment at the same time is the same scene."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from tidegate.core.method import Method
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.change import Situation
from tidegate.payment.model import Ending, Payment, Status
from tidegate.payment.transition import is_final
from tidegate.rail.interface import (
    Action,
    AddressAction,
    DialAction,
    OtpAction,
    PinAction,
    PromptAction,
    RedirectAction,
    TransferAction,
)


class Scene(StrEnum):
    CHOOSE = "choose"  # a tab for each method; one of them may be waiting for the payer
    SHORT = "short"  # part of the money is here
    PIN = "pin"
    OTP = "otp"
    ADDRESS = "address"
    ISSUER = "issuer"  # the payer is wanted on a page of the bank
    WORKING = "working"  # the bank has it; nobody knows the outcome yet
    PAID = "paid"
    CANCELLED = "cancelled"
    USED_UP = "used_up"
    EXPIRED = "expired"
    DISABLED = "disabled"
    CLOSED = "closed"  # the business takes no payments


class Step(StrEnum):
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


ENDINGS = frozenset(
    {Scene.PAID, Scene.CANCELLED, Scene.USED_UP, Scene.EXPIRED, Scene.DISABLED, Scene.CLOSED},
)
_QUESTIONS: dict[type[Action], Scene] = {
    PinAction: Scene.PIN,
    OtpAction: Scene.OTP,
    AddressAction: Scene.ADDRESS,
    RedirectAction: Scene.ISSUER,
}
_STEPS: dict[type[Action], Step] = {
    TransferAction: Step.ACCOUNT,
    PromptAction: Step.PROMPT,
    DialAction: Step.DIAL,
}


def scene_of(situation: Situation, *, now: datetime, goes_back: bool = False) -> Scene:
    """`goes_back`: the payer wants to choose again, in spite of the bank's question."""
    payment, attempt = situation.payment, situation.attempt
    if is_final(payment.status):
        return _final(payment)
    if attempt is not None and attempt.is_unknown:
        return Scene.WORKING
    if now >= payment.expires_at:
        return Scene.EXPIRED  # The worker writes it down in a moment.
    if payment.held.minor:
        return Scene.SHORT
    if attempt is None or attempt.status is not AttemptStatus.WAITING:
        return _to_begin(situation)
    # What was begun may be finished, whatever the shop has closed since.
    question = _QUESTIONS.get(type(attempt.action))  # type: ignore[arg-type]
    return Scene.CHOOSE if question is None or goes_back else question


def _final(payment: Payment) -> Scene:
    if payment.status is Status.SUCCESS:
        return Scene.PAID
    if payment.status is Status.EXPIRED:
        return Scene.EXPIRED
    return Scene.CANCELLED if payment.ending is Ending.CANCELLED else Scene.USED_UP


def _to_begin(situation: Situation) -> Scene:
    """Nothing new begins where the shop has closed."""
    if situation.payment.is_disabled:
        return Scene.DISABLED
    return Scene.CHOOSE if situation.business.is_active else Scene.CLOSED


def step_of(situation: Situation, method: Method, *, now: datetime) -> Step:
    attempt = situation.attempt
    if attempt is None or attempt.method is not method:
        return Step.FORM
    if attempt.account_number and (attempt.status is AttemptStatus.EXPIRED or not attempt.takes_money_at(now)):
        return Step.ACCOUNT_CLOSED
    if attempt.status is not AttemptStatus.WAITING:
        return Step.FORM
    return _STEPS.get(type(attempt.action), Step.FORM)  # type: ignore[arg-type]


def selected_method(situation: Situation, asked: Method | None) -> Method:
    """The one in the address, else the one under way or tried last, else the merchant's choice."""
    order, attempt = situation.payment.order, situation.attempt
    if asked in order.methods:
        assert asked is not None
        return asked
    return attempt.method if attempt is not None else order.default_method


def resend_of(attempt: Attempt, *, can_resend: bool, now: datetime) -> Resend:
    """Of what the payer waits for; `can_resend` is what its rail says."""
    if not can_resend:
        return Resend.NEVER
    if attempt.resends_left <= 0:
        return Resend.NO_MORE
    return Resend.LATER if attempt.resend_from is not None and now < attempt.resend_from else Resend.NOW
