"""The state of an attempt, a refund or a return at the rail."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.core.money import Money
from tidegate.rail.action import Action, FailureReason


class Party(msgspec.Struct, frozen=True, kw_only=True):
    name: str | None = None
    account_number: str | None = None
    bank_name: str | None = None
    bank_code: str | None = None


class Waiting(msgspec.Struct, frozen=True):
    """The payer has to act; `problem` is what was wrong with the last answer."""

    action: Action
    problem: FailureReason | None = None


class StillWaiting(msgspec.Struct, frozen=True):
    """The payer has to act as before. `action` is how, where the rail keeps it: the answer that first said so may have
    been lost."""

    action: Action | None = None


class Running(msgspec.Struct, frozen=True):
    """The rail has the attempt; the outcome is not known."""


class Succeeded(msgspec.Struct, frozen=True):
    """`transaction_id` is the rail's own; the same money is recognised by it."""

    transaction_id: str
    amount: Money
    # Where the rail reports them.
    payer: Party | None = None
    paid_at: datetime | None = None


class Failed(msgspec.Struct, frozen=True):
    reason: FailureReason


AttemptState = Waiting | StillWaiting | Running | Succeeded | Failed
# Of a refund or a return: the payer has nothing to do.
PayoutState = Running | Succeeded | Failed
