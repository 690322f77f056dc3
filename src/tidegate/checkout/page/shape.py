"""What a page asks about its payment; two payments of one shape have the same page, but for what is written into it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tidegate.checkout.model import ReturnStatus
from tidegate.checkout.page.cost import Cost
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.scene import Resend, Scene, Step, resend_of, step_of
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.merchant.model import Business
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.transition import attempts_left, is_final
from tidegate.rail.interface import DialAction, FailureReason, PromptAction

# From this many characters on, the amount is set smaller.
LONG_AMOUNT = 13
# Reasons that are an answer to a question; when they end an attempt, it was asked too often.
_WRONG_ANSWERS = frozenset({FailureReason.WRONG_PIN, FailureReason.WRONG_OTP, FailureReason.WRONG_ADDRESS})


class Reach(StrEnum):
    """The best way to reach the shop."""

    URL = "url"
    EMAIL = "email"
    PHONE = "phone"


class CostShape(msgspec.Struct, frozen=True):
    has_fee: bool
    has_vat: bool
    is_long: bool


class Tried(msgspec.Struct, frozen=True):
    """The attempt under way, or the last one."""

    method: Method
    step: Step
    is_open: bool
    # Keys of what is said about it: why it came to nothing, or why the payer is asked again.
    failure: str | None
    problem: str | None
    has_account: bool
    # Somebody has to say yes, on a phone.
    is_answered: bool
    resend: Resend
    # To what the bank asks.
    answers_left: int
    has_said_sent: bool
    # The account cannot be kept open longer.
    closes_last: bool


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    language: str
    scene: Scene
    chosen: Method
    methods: tuple[Method, ...]
    # Attempts left by each of them.
    tries: tuple[int, ...]
    costs: tuple[CostShape, ...]
    currency: Currency
    tried: Tried | None
    asked: Method | None
    goes_back: bool
    policy: str
    reach: Reach | None
    has_own_colours: bool
    has_logo: bool
    has_description: bool
    has_phone: bool
    has_variance: bool
    # By the method that was chosen last.
    expects_what_is_asked: bool
    is_final: bool
    # Money that moves without the payment changing; and how much of it has arrived where it came from.
    may_move_unseen: bool
    sent_back: int
    # Money may still come to a payment that has ended unpaid, and is then shown at once.
    is_watched: bool

    @property
    def step(self) -> Step:
        return self.tried.step if self.tried else Step.FORM


def shape_of(look: Look) -> Shape:
    situation = look.situation
    payment, attempt, business = situation.payment, situation.attempt, situation.business
    returns = look.movements.returns
    return Shape(
        language=look.words.language,
        scene=look.scene,
        chosen=look.chosen,
        methods=look.methods,
        tries=tuple([attempts_left(payment, method) for method in look.methods]),
        costs=tuple([_cost_shape(look, cost) for cost in look.costs]),
        currency=payment.order.asked.currency,
        tried=_tried(look, attempt) if attempt else None,
        asked=look.asked,
        goes_back=look.goes_back,
        policy=business.variance_policy,
        reach=_reach(business),
        has_own_colours=business.brand.accent is not None,
        has_logo=business.brand.logo_hash is not None,
        has_description=look.description != "",
        has_phone=look.phone is not None,
        has_variance=payment.variance is not None,
        expects_what_is_asked=payment.expected.minor == payment.order.asked.minor,
        is_final=is_final(payment.status),
        may_move_unseen=_may_move_unseen(look),
        sent_back=sum(back.status is ReturnStatus.CONFIRMED for back in returns) if returns else 0,
        is_watched=not is_final(payment.status) or look.may_get_money,
    )


def _cost_shape(look: Look, cost: Cost) -> CostShape:
    fee = cost.fee
    is_long = len(look.words.money_format.digits(cost.expected)) >= LONG_AMOUNT
    return CostShape(True, fee.vat.minor != 0, is_long) if fee else _WITHOUT_FEE[is_long]


# By whether the amount is long.
_WITHOUT_FEE = (CostShape(False, False, False), CostShape(False, False, True))


def _tried(look: Look, attempt: Attempt) -> Tried:
    return Tried(
        method=attempt.method,
        step=step_of(look.situation, attempt.method, now=look.now),
        is_open=attempt.is_open,
        failure=_failure(attempt),
        problem=attempt.failure.value if attempt.is_open and attempt.failure else None,
        has_account=attempt.account_number is not None,
        is_answered=attempt.is_open and isinstance(attempt.action, PromptAction | DialAction),
        resend=resend_of(attempt, can_resend=look.can_resend, now=look.now),
        answers_left=attempt.answers_left,
        has_said_sent=attempt.said_sent_at is not None,
        closes_last=attempt.expires_at == look.situation.payment.expires_at,
    )


def _failure(attempt: Attempt) -> str | None:
    """Why it came to nothing."""
    if attempt.status is not AttemptStatus.FAILED:
        return None
    reason = attempt.failure or FailureReason.DECLINED
    return "too_many_tries" if reason in _WRONG_ANSWERS else reason.value


def _reach(business: Business) -> Reach | None:
    support = business.support
    if support.url:
        return Reach.URL
    if support.email:
        return Reach.EMAIL
    return Reach.PHONE if support.phone else None


def _may_move_unseen(look: Look) -> bool:
    payment, attempt = look.situation.payment, look.situation.attempt
    if payment.held.minor or payment.returned.minor:
        return True
    # Somebody may still send money to the account that was shown.
    has_account = attempt is not None and attempt.account_number is not None
    return look.may_get_money or (look.scene is Scene.PAID and has_account)
