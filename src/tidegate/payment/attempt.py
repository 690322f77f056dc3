"""One attempt to pay, on one rail."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.rail.action import Action, FailureReason

# Delays between polls of an attempt whose outcome is unknown.
POLL_AFTER_S = (5, 10, 20, 30, 60, 120, 300)
# How long `start` may take before the worker polls the rail for the attempt's state.
START_GRACE = timedelta(seconds=30)
ACCOUNT_OPEN_FOR = timedelta(minutes=30)
# Wrong answers to one challenge, such as a PIN; the last one fails the attempt.
ANSWERS_MAX = 3
# Limit on resending a prompt, a USSD code or a one-time code; each resend waits for the pause.
RESENDS_MAX = 3
RESEND_PAUSE = timedelta(seconds=30)


class AttemptStatus(DescribedEnum):
    STARTING = "starting", "Being sent to the bank or operator."
    WAITING = "waiting", "The payer has to act; see `action`."
    RUNNING = "running", "The bank or operator has it; the outcome is not known."
    SUCCEEDED = "succeeded", "It was paid."
    FAILED = "failed", "It was refused; see `failure`."
    REPLACED = "replaced", "The payer started another attempt."
    EXPIRED = "expired", "Its account or code has expired."


OPEN = frozenset({AttemptStatus.STARTING, AttemptStatus.WAITING, AttemptStatus.RUNNING})
UNKNOWN = frozenset({AttemptStatus.STARTING, AttemptStatus.RUNNING})


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    business_id: str
    payment_id: int
    number: int
    reference: str
    rail: str
    method: Method
    status: AttemptStatus
    expected: Money
    fee_rule_id: str
    action: Action | None
    # What may be stored and shown: brand, first six and last four digits of a card; a masked phone; a bank's name.
    details: dict[str, Any]
    account_id: str | None
    account_number: str | None
    # Why it failed; while waiting, what was wrong with the payer's last answer.
    failure: FailureReason | None
    expires_at: datetime | None
    polls: int
    next_poll_at: datetime | None
    # Answers given to the current challenge.
    answers: int = 0
    # Resends of the current prompt or code, and the earliest time of the next.
    resends: int = 0
    resend_from: datetime | None = None
    said_sent_at: datetime | None = None
    created_at: datetime

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def is_unknown(self) -> bool:
        return self.status in UNKNOWN

    @property
    def answers_left(self) -> int:
        return ANSWERS_MAX - self.answers

    @property
    def resends_left(self) -> int:
        return RESENDS_MAX - self.resends

    def takes_money_at(self, now: datetime) -> bool:
        """A temporary account closes; no other method does."""
        return self.expires_at is None or self.account_number is None or now < self.expires_at


def ended(attempt: Attempt, status: AttemptStatus, *, failure: FailureReason | None = None) -> Attempt:
    """Ends the attempt and stops polling for it."""
    return msgspec.structs.replace(attempt, status=status, failure=failure, next_poll_at=None)


def next_poll_at(polls: int, *, now: datetime) -> datetime:
    return now + timedelta(seconds=POLL_AFTER_S[min(polls, len(POLL_AFTER_S) - 1)])
