"""Behaviour of attempts and payouts on the sandbox's rail: pure rules on values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum

from tidegate.core.errors import Conflict
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.rail.action import (
    Action,
    AddressAction,
    DialAction,
    FailureReason,
    OtpAction,
    PinAction,
    PromptAction,
    RedirectAction,
    TransferAction,
)
from tidegate.rail.instrument import Address, Authorization, Otp, Pin
from tidegate.rail.interface import RailTimeout
from tidegate.rail.state import AttemptState, Failed, Party, PayoutState, Running, Succeeded, Waiting

TEST_PIN = "1234"
TEST_OTP = "123456"
APPROVED_LATE_AFTER = timedelta(seconds=5)
SILENT_FOR = timedelta(seconds=10)
DIAL_CODE_LASTS = timedelta(minutes=10)
PAYOUT_TAKES = timedelta(seconds=2)
AT_ONCE = timedelta(0)
# A refund of an amount that ends in .13 is declined; one that ends in .17 is done, but the first answer is lost.
UNLUCKY_MINOR = 13
UNANSWERED_MINOR = 17


# Actions whose prompt or code this rail can send again.
RESENDS: frozenset[type[Action]] = frozenset({PromptAction, DialAction, OtpAction})


class Behaviour(StrEnum):
    CARD_SUCCEEDS = "card_succeeds"
    CARD_PIN = "card_pin"
    CARD_PIN_THEN_OTP = "card_pin_then_otp"
    CARD_3DS = "card_3ds"
    CARD_ADDRESS = "card_address"
    CARD_WITHOUT_MONEY = "card_without_money"
    CARD_OUT_OF_DATE = "card_out_of_date"
    CARD_NOT_FOR_TESTS = "card_not_for_tests"
    PHONE_APPROVES = "phone_approves"
    PHONE_APPROVES_LATE = "phone_approves_late"
    PHONE_WITHOUT_MONEY = "phone_without_money"
    PHONE_DECLINES = "phone_declines"
    PHONE_WITHOUT_WALLET = "phone_without_wallet"
    PHONE_IS_SILENT = "phone_is_silent"
    PHONE_WAITS = "phone_waits"
    USSD_WAITS = "ussd_waits"
    TRANSFER_WAITS = "transfer_waits"


class SandboxAnswer(Enum):
    """The answer of `start`, to the first call and every repeat."""

    STATE = "the state"
    ACCEPTED = "accepted; the outcome is notified or polled for"
    NOTHING = "no answer"


@dataclass(frozen=True, slots=True)
class Script:
    """How an attempt ends if the payer does not act; never, when `after` is None."""

    after: timedelta | None = None
    failure: FailureReason | None = None
    is_notified: bool = False
    answer: SandboxAnswer = SandboxAnswer.STATE


_WAITS = Script()
SCRIPTS: dict[Behaviour, Script] = {
    # Card rails answer at once, and notify a success as well.
    Behaviour.CARD_SUCCEEDS: Script(AT_ONCE, is_notified=True),
    Behaviour.CARD_PIN: _WAITS,
    Behaviour.CARD_PIN_THEN_OTP: _WAITS,
    Behaviour.CARD_3DS: _WAITS,
    Behaviour.CARD_ADDRESS: _WAITS,
    Behaviour.CARD_WITHOUT_MONEY: Script(AT_ONCE, FailureReason.INSUFFICIENT_FUNDS),
    Behaviour.CARD_OUT_OF_DATE: Script(AT_ONCE, FailureReason.DECLINED),
    Behaviour.CARD_NOT_FOR_TESTS: Script(AT_ONCE, FailureReason.NOT_A_TEST_CARD),
    Behaviour.PHONE_APPROVES: Script(AT_ONCE, is_notified=True, answer=SandboxAnswer.ACCEPTED),
    Behaviour.PHONE_APPROVES_LATE: Script(APPROVED_LATE_AFTER, is_notified=True, answer=SandboxAnswer.ACCEPTED),
    Behaviour.PHONE_WITHOUT_MONEY: Script(
        AT_ONCE, FailureReason.INSUFFICIENT_FUNDS, is_notified=True, answer=SandboxAnswer.ACCEPTED
    ),
    Behaviour.PHONE_DECLINES: Script(
        AT_ONCE, FailureReason.NOT_APPROVED, is_notified=True, answer=SandboxAnswer.ACCEPTED
    ),
    Behaviour.PHONE_WITHOUT_WALLET: Script(AT_ONCE, FailureReason.NO_SUCH_WALLET),
    Behaviour.PHONE_IS_SILENT: Script(SILENT_FOR, answer=SandboxAnswer.NOTHING),
    Behaviour.PHONE_WAITS: _WAITS,
    # No notification comes for a code that was not dialled.
    Behaviour.USSD_WAITS: Script(DIAL_CODE_LASTS, FailureReason.EXPIRED),
    Behaviour.TRANSFER_WAITS: _WAITS,
}


@dataclass(frozen=True, slots=True)
class SandboxAttempt:
    business_id: str
    reference: str
    method: Method
    amount: Money
    behaviour: Behaviour
    transaction_id: str
    started_at: datetime
    # The payer's current action, and the number of wrong answers to it.
    action: Action | None
    tries: int = 0
    # How and when it ends unless the payer acts first; no failure means success.
    failure: FailureReason | None = None
    ends_at: datetime | None = None

    @property
    def account_number(self) -> str | None:
        return self.action.account_number if isinstance(self.action, TransferAction) else None

    def has_ended(self, now: datetime) -> bool:
        return self.ends_at is not None and self.ends_at <= now

    def outcome(self) -> Succeeded | Failed:
        return Failed(self.failure) if self.failure else Succeeded(self.transaction_id, self.amount)

    def state(self, now: datetime) -> Waiting | Running | Succeeded | Failed:
        if self.has_ended(now):
            return self.outcome()
        return Waiting(self.action, _problem_of(self)) if self.action else Running()


def answer_to_start(attempt: SandboxAttempt, *, now: datetime) -> AttemptState:
    answer = SCRIPTS[attempt.behaviour].answer
    if answer is SandboxAnswer.NOTHING:
        raise RailTimeout("the operator did not answer")
    return Running() if answer is SandboxAnswer.ACCEPTED else attempt.state(now)


# What each step of a card expects, and the problem of a wrong answer.
_WANTED: dict[type[Action], type[Authorization]] = {
    PinAction: Pin,
    OtpAction: Otp,
    RedirectAction: Otp,
    AddressAction: Address,
}
_WRONG: dict[type[Authorization], FailureReason] = {
    Pin: FailureReason.WRONG_PIN,
    Otp: FailureReason.WRONG_OTP,
    Address: FailureReason.WRONG_ADDRESS,
}


def _problem_of(attempt: SandboxAttempt) -> FailureReason | None:
    """Why the same answer is requested again; wrong answers are counted per step."""
    return _WRONG[_WANTED[type(attempt.action)]] if attempt.action and attempt.tries else None


def authorize(attempt: SandboxAttempt, given: Authorization, *, now: datetime) -> SandboxAttempt:
    """An answer that is not expected, or no longer, changes nothing: it may be a repeat."""
    if attempt.has_ended(now) or attempt.action is None or _WANTED.get(type(attempt.action)) is not type(given):
        return attempt
    if not _is_right(given):
        return replace(attempt, tries=attempt.tries + 1)
    if attempt.behaviour is Behaviour.CARD_PIN_THEN_OTP and isinstance(attempt.action, PinAction):
        return replace(attempt, action=OtpAction(), tries=0)
    return end(attempt, None, now=now)


def _is_right(given: Authorization) -> bool:
    match given:
        case Pin():
            return given.pin == TEST_PIN
        case Otp():
            return given.otp == TEST_OTP
        case Address():
            return all(part.strip() for part in (given.line, given.city, given.country))


def end(attempt: SandboxAttempt, failure: FailureReason | None, *, now: datetime) -> SandboxAttempt:
    return replace(attempt, action=None, failure=failure, ends_at=now)


def on_the_phone(attempt: SandboxAttempt, failure: FailureReason | None, *, now: datetime) -> SandboxAttempt:
    """The payer approves, or declines for a reason."""
    if attempt.has_ended(now) or not isinstance(attempt.action, PromptAction | DialAction):
        raise Conflict(_why_not_on_the_phone(attempt, now))
    return end(attempt, failure, now=now)


def _why_not_on_the_phone(attempt: SandboxAttempt, now: datetime) -> str:
    match attempt.state(now):
        case Succeeded():
            return "this attempt is already approved"
        case Failed(reason=FailureReason.EXPIRED):
            return "the USSD code expired before it was dialled; start another attempt"
        case Failed(reason=reason):
            return f"this attempt has already failed ({reason}); start another one"
        case Running():
            return (
                "this test number answers by itself; to approve or decline, use one that does not end in 0000 to 0005"
            )
        case Waiting():
            return (
                f"this attempt is by {attempt.method}; only mobile money and USSD are approved or declined on a phone"
            )


# Reasons of a declined prompt, as failure reasons.
_DECLINES: dict[str, FailureReason] = {
    reason.value: reason
    for reason in (
        FailureReason.NOT_APPROVED,
        FailureReason.DECLINED,
        FailureReason.INSUFFICIENT_FUNDS,
        FailureReason.NO_SUCH_WALLET,
        FailureReason.WRONG_PIN,
        FailureReason.EXPIRED,
    )
}


def reason_to_decline(text: str | None) -> FailureReason:
    """A known reason, otherwise "not approved"."""
    return _DECLINES.get(text or "", FailureReason.NOT_APPROVED)


_SCHEME_ELSEWHERE = "sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class BankTransfer:
    """A transfer order of a payer. The bank chooses what is None."""

    account_number: str
    amount: Money
    payer: Party
    payee_name: str | None = None
    remittance: str | None = None
    scheme: str | None = None
    valued_at: datetime | None = None
    transaction_id: str | None = None
    # Delay of the notification after the money.
    delay: timedelta = AT_ONCE

    @property
    def travels_by(self) -> str:
        account = self.amount.currency.spec.account
        return self.scheme or (account.scheme if account else _SCHEME_ELSEWHERE)


class PayoutKind(StrEnum):
    RETURN = "return"
    REFUND = "refund"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payout:
    business_id: str
    kind: PayoutKind
    reference: str
    # Of the incoming payment, and of the payout.
    paid_transaction_id: str
    transaction_id: str
    amount: Money
    reason: str | None
    failure: FailureReason | None
    created_at: datetime
    ends_at: datetime

    def state(self, now: datetime) -> PayoutState:
        if now < self.ends_at:
            return Running()
        return Failed(self.failure) if self.failure else Succeeded(self.transaction_id, self.amount)


def is_unanswered(payout: Payout, *, now: datetime) -> bool:
    return payout.amount.minor % 100 == UNANSWERED_MINOR and now < payout.ends_at


def refund_failure(amount: Money) -> FailureReason | None:
    return FailureReason.DECLINED if amount.minor % 100 == UNLUCKY_MINOR else None
