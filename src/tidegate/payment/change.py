"""A change of a payment, and everything that is written in the same statement."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Any

import msgspec

from tidegate.core.money import Money
from tidegate.infra.lease_store import Lease
from tidegate.ledger.model import Journal
from tidegate.merchant.model import Business
from tidegate.money_return.model import ReturnRequest
from tidegate.money_return.reason import ReturnReason
from tidegate.payment.attempt import Attempt
from tidegate.payment.model import Payment
from tidegate.rail.notification import NotificationRef
from tidegate.webhook.model import Event


class PaymentSnapshot(msgspec.Struct, frozen=True):
    """The input of a decision. `attempt` is the one reported on, or the newest; None before the first."""

    business: Business
    payment: Payment
    attempt: Attempt | None


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    rail: str
    transaction_id: str
    amount: Money
    outcome: str
    # Why it is returned; for money in suspense, why it has no owner.
    reason: ReturnReason | str | None
    payer: dict[str, Any]
    # The account that the rail named, empty for none; None where it is the attempt's own.
    arrived_at: str | None = None


class ChangeOutcome(Enum):
    """As `apply_payment_changes` names them. Unless it is WRITTEN, nothing was."""

    WRITTEN = "written"
    # The notification was processed before.
    DUPLICATE = "duplicate"
    # The money is recorded under another notification.
    ALREADY_RECEIVED = "already_received"
    # The payment has changed since it was read.
    STALE = "stale"


class PaymentChange(msgspec.Struct, frozen=True, kw_only=True):
    """`payment.version` is the version the change was decided on."""

    payment: Payment
    now: datetime
    attempt: Attempt | None = None
    ref: NotificationRef | None = None
    receipt: Receipt | None = None
    going_back: ReturnRequest | None = None
    journal: Journal | None = None
    event: Event | None = None
    # Written only while this lease is held.
    lease: Lease | None = None


def after(snapshot: PaymentSnapshot, change: PaymentChange) -> PaymentSnapshot:
    """The state after the change is written."""
    payment = msgspec.structs.replace(change.payment, version=change.payment.version + 1, updated_at=change.now)
    return PaymentSnapshot(snapshot.business, payment, change.attempt or snapshot.attempt)


def is_only_polled_later(snapshot: PaymentSnapshot, change: PaymentChange) -> bool:
    """Whether nothing has changed, and the change only says when to poll again."""
    was, later = snapshot.attempt, change.attempt
    if was is None or later is None or later.next_poll_at is None:
        return False
    same = msgspec.structs.replace(later, polls=was.polls, next_poll_at=was.next_poll_at)
    nothing_else = PaymentChange(payment=snapshot.payment, now=change.now, attempt=same, lease=change.lease)
    return same == was and msgspec.structs.replace(change, attempt=same) == nothing_else
