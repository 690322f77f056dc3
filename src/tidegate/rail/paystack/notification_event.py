"""What Paystack's events mean. There is none for a failed payment: those are found by asking."""

from __future__ import annotations

import structlog

from tidegate.infra.db import Database
from tidegate.rail.event import (
    AttemptOutcome,
    CreditReversed,
    DisputeChanged,
    DisputeStatus,
    Notification,
    PollRequested,
    PollSubject,
    RailEvent,
)
from tidegate.rail.paystack import reference, state, store, wire
from tidegate.rail.paystack.signed_notification import PaystackNotification
from tidegate.rail.paystack.wire import PaystackUnreadable

DISPUTE = "charge.dispute."
# By whom it was accepted: the merchant, or Paystack after the time for an answer.
_ACCEPTED = "-accepted"

log = structlog.get_logger("paystack")


async def events_of(db: Database, notification: PaystackNotification) -> list[Notification]:
    """Raises NotificationUnreadable. Events that are not used are acknowledged and forgotten."""
    try:
        if notification.event == "charge.success":
            return [Notification(id=notification.id, event=await _success(db, notification))]
        if notification.event.startswith("refund."):
            return await _refunds(db, notification)
        if notification.event.startswith(DISPUTE):
            return _dispute(notification)
    except PaystackUnreadable as error:
        raise notification.unreadable(error) from None
    log.info("an event of Paystack is not used", kind=notification.event[:100])
    return []


async def _success(db: Database, notification: PaystackNotification) -> AttemptOutcome:
    found = notification.read(wire.PaystackTransaction)
    if found.status not in state.PAID:
        raise PaystackUnreadable(f"its transaction is {found.status[:50]!r}")
    own = reference.read(found.reference)
    asked = wire.money(found.requested_amount or found.amount, found.currency)
    if own is None:
        # Money that we did not ask for, which must not be lost: it becomes suspense.
        return AttemptOutcome(
            business_id="", reference=found.reference[:100], state=state.succeeded(found, asked=asked)
        )
    async with db.connection() as tx:
        started = await store.find_attempt(tx, *own)
    outcome = state.succeeded(found, asked=started.asked if started else asked)
    return AttemptOutcome(business_id=own[0], reference=own[1], state=outcome)


async def _refunds(db: Database, notification: PaystackNotification) -> list[Notification]:
    """It names the transaction, not the refund: all refunds of it are asked about."""
    found = notification.read(wire.PaystackRefundEvent)
    own = reference.read(found.transaction_reference)
    if own is None:
        return []
    async with db.connection() as tx:
        orders = await store.list_payouts_of(tx, own[0], found.transaction_reference)
    return [
        Notification(
            id=f"{notification.id}:{order.reference}",
            event=PollRequested(subject=PollSubject(order.kind), business_id=own[0], reference=order.reference),
        )
        for order in orders
    ]


def _dispute(notification: PaystackNotification) -> list[Notification]:
    found = notification.read(wire.PaystackDispute)
    if found.transaction is None or found.transaction.id is None:
        raise PaystackUnreadable("it names no transaction")
    transaction_id, dispute_id = str(found.transaction.id), str(found.id)
    amount = wire.money(found.refund_amount or found.transaction.amount, found.currency or found.transaction.currency)
    status = DisputeStatus.OPEN
    if notification.event == DISPUTE + "resolve":
        status = _dispute_end(found.resolution or "")
    reason = f"{found.category or 'dispute'} {found.resolution or found.status or ''}".strip()
    changed = DisputeChanged(
        dispute_id=dispute_id, transaction_id=transaction_id, amount=amount, status=status,
        due_at=wire.moment(found.due_at), reason=reason,
    )  # fmt: skip
    events: list[RailEvent] = [changed]
    if status is DisputeStatus.LOST:
        events.append(
            CreditReversed(
                account_number=None,
                transaction_id=transaction_id,
                reversal_id=f"dispute-{dispute_id}",
                amount=amount,
                reason=reason,
            )
        )
    return [Notification(id=f"{notification.id}:{number}", event=event) for number, event in enumerate(events)]


def _dispute_end(resolution: str) -> DisputeStatus:
    """Anything else is for an operator: a guess would take money from a merchant, or give it."""
    if resolution == "declined":
        return DisputeStatus.WON
    if resolution.endswith(_ACCEPTED):
        return DisputeStatus.LOST
    raise PaystackUnreadable(f"its resolution is {resolution[:50]!r}")
