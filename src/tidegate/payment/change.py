"""A change of a payment, with everything that must be written together with it or not at all."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Any

import msgspec

from tidegate.core.money import Money
from tidegate.infra.lease_store import Lease
from tidegate.ledger.model import Journal
from tidegate.merchant.model import Business
from tidegate.money_return.model import GoingBack
from tidegate.money_return.reason import ReturnReason
from tidegate.payment.attempt import Attempt
from tidegate.payment.model import Payment
from tidegate.rail.told import ToldBy
from tidegate.webhook.model import Event


class Situation(msgspec.Struct, frozen=True):
    """What a decision is made on. `attempt` is the one spoken of, or the newest; None before the first."""

    business: Business
    payment: Payment
    attempt: Attempt | None


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    rail: str
    transaction_id: str
    amount: Money
    taken: str
    # Why it goes back; of money in suspense, why nobody is known to own it.
    reason: ReturnReason | str | None
    payer: dict[str, Any]


class Outcome(Enum):
    WRITTEN = "written"
    TOLD_BEFORE = "the notification was acted on before; nothing was written"
    ALREADY_RECEIVED = "its money is known under another notification; nothing was written"
    STALE = "the payment has changed meanwhile; nothing was written"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """`payment.version` is the one the change was decided on."""

    payment: Payment
    now: datetime
    attempt: Attempt | None = None
    told_by: ToldBy | None = None
    receipt: Receipt | None = None
    going_back: GoingBack | None = None
    journal: Journal | None = None
    event: Event | None = None
    # Written only while this lease is held.
    lease: Lease | None = None


def after(situation: Situation, change: Change) -> Situation:
    """How things stand once the change is written."""
    payment = msgspec.structs.replace(change.payment, version=change.payment.version + 1, updated_at=change.now)
    return Situation(situation.business, payment, change.attempt or situation.attempt)
