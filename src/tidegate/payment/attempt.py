"""One try to pay, on one rail."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.rail.interface import Action, FailureReason

# An outcome that was not told is asked for again: soon at first, then less and less often.
ASK_AFTER_S = (5, 10, 20, 30, 60, 120, 300)
# How long a rail may take to answer `start` before somebody else may ask what became of it.
START_GRACE = timedelta(seconds=30)
ACCOUNT_OPEN_FOR = timedelta(minutes=30)
# Answers to one question of the bank, such as its PIN; the last wrong one fails the attempt.
ANSWERS_MAX = 3
# A prompt, a code to dial or a one-time code is sent again this often at most, and not before the pause is over.
RESENDS_MAX = 3
RESEND_PAUSE = timedelta(seconds=30)


class AttemptStatus(StrEnum):
    STARTING = "starting"  # we are asking the rail; it may have the attempt already
    WAITING = "waiting"  # the payer must do something
    RUNNING = "running"  # the rail has it; the outcome is not known
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REPLACED = "replaced"  # the payer began another one
    EXPIRED = "expired"  # its account or code has lapsed


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
    # What may be shown of the means: brand, first six and last four of a card; a masked phone; a bank's name.
    details: dict[str, Any]
    account_id: str | None
    account_number: str | None
    # Why it failed; of one that waits, why the payer is asked again.
    failure: FailureReason | None
    expires_at: datetime | None
    asks: int
    next_ask_at: datetime | None
    # Given to what is asked now.
    answers: int = 0
    # Of what the payer waits for: how often it was sent again, and from when on it may be.
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
        """A temporary account closes; other methods have nothing that closes."""
        return self.expires_at is None or self.account_number is None or now < self.expires_at


def ended(attempt: Attempt, status: AttemptStatus, *, failure: FailureReason | None = None) -> Attempt:
    """Nobody is asked about it any more."""
    return msgspec.structs.replace(attempt, status=status, failure=failure, next_ask_at=None)


def next_ask_at(asks: int, *, now: datetime) -> datetime:
    return now + timedelta(seconds=ASK_AFTER_S[min(asks, len(ASK_AFTER_S) - 1)])
