"""What a page asks about its payment; two payments of one shape have the same page, but for what is written into it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tidegate.checkout.model import ReturnStatus
from tidegate.checkout.page.cost import Cost
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.scene import ENDINGS, Scene, Step, attempts_left, step_of
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.merchant.model import Business
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.transition import is_final
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
    can_be_repeated: bool


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    language: str
    scene: Scene
    chosen: Method
    methods: tuple[Method, ...]
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
    has_variance: bool
    # By the method that was chosen last.
    expects_what_is_asked: bool
    is_final: bool
    # Money that moves without the payment changing; and how much of it has arrived where it came from.
    may_move_unseen: bool
    sent_back: int

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
        has_variance=payment.variance is not None,
        expects_what_is_asked=payment.expected.minor == payment.order.asked.minor,
        is_final=is_final(payment.status),
        may_move_unseen=_may_move_unseen(look),
        sent_back=sum(back.status is ReturnStatus.CONFIRMED for back in returns) if returns else 0,
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
        can_be_repeated=attempts_left(look.situation.payment) > 0,
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
    return attempt is not None and attempt.account_number is not None and look.scene in ENDINGS
