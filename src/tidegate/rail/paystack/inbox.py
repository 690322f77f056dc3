"""What Paystack's events mean. There is none for a failed payment: those are found by asking."""

from __future__ import annotations

import structlog

from tidegate.infra.db import Database
from tidegate.rail.event import (
    AskAbout,
    Asked,
    AttemptOutcome,
    CreditReversed,
    DisputeChanged,
    DisputeStatus,
    Notification,
    RailEvent,
)
from tidegate.rail.paystack import reference, state, store, wire
from tidegate.rail.paystack.notice import PaystackNews
from tidegate.rail.paystack.wire import PaystackUnreadable

DISPUTE = "charge.dispute."
_DISPUTE_ENDS = {"declined": DisputeStatus.WON}

log = structlog.get_logger("paystack")


async def events_of(db: Database, news: PaystackNews) -> list[Notification]:
    """Raises NotificationUnreadable. Events that are not used are acknowledged and forgotten."""
    try:
        if news.event == "charge.success":
            return [Notification(id=news.id, event=await _success(db, news))]
        if news.event.startswith("refund."):
            return await _refunds(db, news)
        if news.event.startswith(DISPUTE):
            return _dispute(news)
    except PaystackUnreadable as error:
        raise news.unreadable(error) from None
    log.info("an event of Paystack is not used", kind=news.event[:100])
    return []


async def _success(db: Database, news: PaystackNews) -> AttemptOutcome:
    found = news.read(wire.PaystackTransaction)
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


async def _refunds(db: Database, news: PaystackNews) -> list[Notification]:
    """It names the transaction, not the refund: all refunds of it are asked about."""
    notice = news.read(wire.RefundNews)
    own = reference.read(notice.transaction_reference)
    if own is None:
        return []
    async with db.connection() as tx:
        orders = await store.list_payouts_of(tx, own[0], notice.transaction_reference)
    return [
        Notification(
            id=f"{news.id}:{order.reference}",
            event=AskAbout(subject=Asked(order.kind), business_id=own[0], reference=order.reference),
        )
        for order in orders
    ]


def _dispute(news: PaystackNews) -> list[Notification]:
    notice = news.read(wire.PaystackDispute)
    if notice.transaction is None or notice.transaction.id is None:
        raise PaystackUnreadable("it names no transaction")
    transaction_id, dispute_id = str(notice.transaction.id), str(notice.id)
    amount = wire.money(
        notice.refund_amount or notice.transaction.amount, notice.currency or notice.transaction.currency
    )
    status = DisputeStatus.OPEN
    if news.event == DISPUTE + "resolve":
        status = _DISPUTE_ENDS.get(notice.resolution or "", DisputeStatus.LOST)
    reason = f"{notice.category or 'dispute'} {notice.resolution or notice.status or ''}".strip()
    changed = DisputeChanged(
        dispute_id=dispute_id, transaction_id=transaction_id, amount=amount, status=status,
        due_at=wire.moment(notice.due_at), reason=reason,
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
    return [Notification(id=f"{news.id}:{number}", event=event) for number, event in enumerate(events)]
