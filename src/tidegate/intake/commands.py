"""Receives notifications: reads them, finds the owner, and records the effect."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
import structlog

from tidegate.account.model import AccountStatus
from tidegate.collection import reversal
from tidegate.collection import settle as inflow
from tidegate.collection.model import AccountSnapshot
from tidegate.core.clock import Clock
from tidegate.core.errors import NotFound, Unauthenticated
from tidegate.core.money import ACCOUNT_OFFERS, Currency, Money
from tidegate.dispute import commands as dispute
from tidegate.dispute.commands import EndedOtherwise
from tidegate.intake import returns, store
from tidegate.intake.contradiction import note_of
from tidegate.intake.store import Recorded
from tidegate.ledger import postings
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.money_return import store as money_return_store
from tidegate.payment import settle, sweep_store
from tidegate.payment.change import PaymentSnapshot, Receipt
from tidegate.payment.decide import IncomingTransfer, WrongCurrency
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import (
    AttemptOutcome,
    CreditReversed,
    DisputeChanged,
    MoneyArrived,
    Notification,
    PollRequested,
    PollSubject,
    RailEvent,
    RawNotification,
    ReturnConfirmed,
    ReturnFailed,
)
from tidegate.rail.interface import NotificationRefused, NotificationUnreadable
from tidegate.rail.notification import AlreadyReceived, Destination, DuplicateNotification, NotificationRef
from tidegate.rail.state import Party, Succeeded
from tidegate.refund import store as refund_store

log = structlog.get_logger("intake")


async def receive(deps: PaymentDeps, rail_name: str, raw: RawNotification, clock: Clock) -> int:
    """Returns how many events the notification held. Everything acknowledged here is recorded.

    A rail signs in real time; its events happen at the time of their business.
    """
    now = clock.now()
    rail = deps.rails.get(rail_name)
    if rail is None:
        raise NotFound("no rail has this name")
    try:
        notifications = await rail.read(raw, now=now)
    except NotificationRefused as refused:
        raise Unauthenticated("the notification's signature is not the rail's") from refused
    except NotificationUnreadable as unreadable:
        # Recorded, so it is acknowledged: a rail would repeat it for days, and it would not become readable.
        log.error("a rail sent what is not understood", rail=rail_name, why=str(unreadable))
        await _quarantine(deps, NotificationRef(rail=rail_name, id=unreadable.id, body=raw.body), str(unreadable), now)
        return 0
    await record_all(deps, rail_name, notifications, raw.body, clock)
    return len(notifications)


async def record_all(
    deps: PaymentDeps, rail_name: str, notifications: Sequence[Notification], body: bytes, clock: Clock
) -> None:
    """Each is tried, so that one does not hold up the others; the first failure is raised at the end."""
    failure: Exception | None = None
    for notification in notifications:
        stored = body if notification.body is None else notification.body
        ref = NotificationRef(rail=rail_name, id=notification.id, body=stored)
        try:
            await _route(deps, notification.event, ref, clock)
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure


async def _route(deps: PaymentDeps, event: RailEvent, ref: NotificationRef, clock: Clock) -> None:
    try:
        await _record(deps, event, ref, clock)
    except AlreadyReceived:
        await _same_money_again(deps, event, ref, clock.now())
    except DuplicateNotification:
        await _same_notification_again(deps, ref, clock.now())


async def _record(deps: PaymentDeps, event: RailEvent, ref: NotificationRef, clock: Clock) -> None:
    match event:
        case AttemptOutcome():
            await _attempt_ended(deps, event, ref, clock.now_of(event.business_id))
        case MoneyArrived():
            await _money_arrived(deps, event, ref, clock)
        case CreditReversed():
            await reversal.record(deps, event, ref=ref, clock=clock)
        case ReturnConfirmed() | ReturnFailed():
            await _return_ended(deps, event, ref, clock.now_of(event.business_id))
        case DisputeChanged():
            await _dispute_changed(deps, event, ref, clock)
        case PollRequested():
            await _poll_now(deps, event, ref, clock.now_of(event.business_id))


async def _attempt_ended(deps: PaymentDeps, outcome: AttemptOutcome, ref: NotificationRef, now: datetime) -> None:
    try:
        snapshot = await settle.record_state(
            deps,
            outcome.business_id,
            outcome.reference,
            outcome.state,
            ref=ref,
            now=now,
            # An event that changes nothing is recorded too.
            unchanged=partial(_note, deps, ref, "done", None, now),
        )
    except WrongCurrency as wrong:
        assert isinstance(outcome.state, Succeeded)
        receipt = _unclaimed(
            ref, outcome.state.transaction_id, outcome.state.amount, _party(outcome.state.payer), str(wrong)
        )
        await _suspend(deps, outcome.business_id, receipt, ref, notified=None, now=now)
        return
    if snapshot is not None:
        return
    if isinstance(outcome.state, Succeeded):
        receipt = _unclaimed(
            ref,
            outcome.state.transaction_id,
            outcome.state.amount,
            _party(outcome.state.payer),
            f"no attempt has the reference {outcome.reference}",
        )
        await _suspend(deps, PLATFORM_BUSINESS_ID, receipt, ref, notified=None, now=now)
    else:
        await _note(deps, ref, "suspense", f"no attempt has the reference {outcome.reference}", now)


async def _money_arrived(deps: PaymentDeps, transfer: MoneyArrived, ref: NotificationRef, clock: Clock) -> None:
    owner = await _owner_of(deps, transfer, ref.rail)
    now = clock.now_of(owner.business.id if owner else PLATFORM_BUSINESS_ID)
    if isinstance(owner, PaymentSnapshot):
        await _for_a_checkout(deps, owner, transfer, ref, now)
    elif isinstance(owner, AccountSnapshot):
        await _for_an_account(deps, owner, transfer, ref, now)
    else:
        receipt = _unclaimed(
            ref, transfer.transaction_id, transfer.amount, _party(transfer.payer), "no account has this number"
        )
        await _suspend(deps, PLATFORM_BUSINESS_ID, receipt, ref, notified=transfer, now=now)


async def _owner_of(deps: PaymentDeps, transfer: MoneyArrived, rail: str) -> PaymentSnapshot | AccountSnapshot | None:
    """The account of a checkout, or a permanent one. The likelier kind is searched first, and the other too unless
    the first is open: the rail may have reused the number.
    """
    destination = Destination(rail, transfer.account_number, transfer.transaction_id)
    finders: list[Callable[[PaymentDeps, Destination], Awaitable[PaymentSnapshot | AccountSnapshot | None]]] = [
        settle.find_by_destination,
        inflow.find_account,
    ]
    if transfer.amount.currency in ACCOUNT_OFFERS:
        finders.reverse()
    found = None
    for find in finders:
        owner = await find(deps, destination)
        if owner is not None and _is_open(owner):
            return owner
        found = found or owner
    return found


def _is_open(owner: PaymentSnapshot | AccountSnapshot) -> bool:
    if isinstance(owner, AccountSnapshot):
        return owner.account.status is AccountStatus.APPROVED
    return owner.attempt is not None and owner.attempt.is_open


async def _for_a_checkout(
    deps: PaymentDeps, snapshot: PaymentSnapshot, transfer: MoneyArrived, ref: NotificationRef, now: datetime
) -> None:
    expected = snapshot.payment.expected.currency
    if transfer.amount.currency is not expected:
        receipt = _in_wrong_currency(ref, transfer, expected)
        await _suspend(
            deps, snapshot.business.id, receipt, ref, notified=transfer, now=now, payment_id=snapshot.payment.id
        )
        return
    arrival = IncomingTransfer(
        rail=ref.rail,
        transaction_id=transfer.transaction_id,
        amount=transfer.amount,
        payer=_party(transfer.payer),
        valued_at=transfer.valued_at,
    )
    await settle.record_arrival(deps, transfer.account_number, arrival, ref=ref, now=now, known=snapshot)


async def _for_an_account(
    deps: PaymentDeps, snapshot: AccountSnapshot, transfer: MoneyArrived, ref: NotificationRef, now: datetime
) -> None:
    expected = snapshot.account.currency
    if transfer.amount.currency is expected:
        await inflow.record_arrival(deps, snapshot, transfer, ref=ref, now=now)
        return
    receipt = _in_wrong_currency(ref, transfer, expected)
    await _suspend(deps, snapshot.business.id, receipt, ref, notified=transfer, now=now)


def _in_wrong_currency(ref: NotificationRef, transfer: MoneyArrived, expected: Currency) -> Receipt:
    reason = f"the account takes {expected}, not {transfer.amount.currency}"
    return _unclaimed(ref, transfer.transaction_id, transfer.amount, _party(transfer.payer), reason)


def _party(party: Party | None) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(party) if party else {}
    return fields


async def _return_ended(
    deps: PaymentDeps, event: ReturnConfirmed | ReturnFailed, ref: NotificationRef, now: datetime
) -> None:
    business_id, reference = event.business_id, event.reference
    if isinstance(event, ReturnConfirmed):
        is_known = await returns.confirm(deps, ref.rail, business_id, reference, sent_as=event.transaction_id, now=now)
    else:
        is_known = await returns.fail(deps, ref.rail, business_id, reference, why=event.reason, now=now)
    note = None if is_known else "no return that is under way has this reference"
    await _note(deps, ref, "done" if is_known else "suspense", note, now)


async def _dispute_changed(deps: PaymentDeps, event: DisputeChanged, ref: NotificationRef, clock: Clock) -> None:
    now = clock.now()
    try:
        is_known = await dispute.record(deps, ref.rail, event, clock)
    except EndedOtherwise as contradiction:
        await _quarantine(deps, ref, str(contradiction), now)
        return
    note = None if is_known else f"no money has the transaction {event.transaction_id}"
    await _note(deps, ref, "done" if is_known else "suspense", note, now)


_POLL_NOW = {
    PollSubject.ATTEMPT: sweep_store.poll_now,
    PollSubject.REFUND: refund_store.poll_now,
    PollSubject.RETURN: money_return_store.poll_now,
}


async def _poll_now(deps: PaymentDeps, event: PollRequested, ref: NotificationRef, now: datetime) -> None:
    async with deps.db.connection() as tx:
        is_known = await _POLL_NOW[event.subject](tx, event.business_id, event.reference, rail=ref.rail, now=now)
    note = None if is_known else f"no {event.subject} has the reference {event.reference}"
    await _note(deps, ref, "done", note, now)


async def _same_notification_again(deps: PaymentDeps, ref: NotificationRef, now: datetime) -> None:
    """A repeat has no effect. A different body under the same identifier is quarantined for an operator."""
    async with deps.db.connection() as tx:
        before = await store.find_body(tx, ref.rail, ref.id)
    if before is None or before == ref.body:
        return
    log.error("a rail contradicts itself", rail=ref.rail, what=ref.id)
    digest = hashlib.sha256(ref.body).hexdigest()[:16]
    other = NotificationRef(rail=ref.rail, id=f"{ref.id}#{digest}", body=ref.body)
    await _quarantine(deps, other, f"{ref.id} was notified before with another body", now)


async def _same_money_again(deps: PaymentDeps, event: RailEvent, ref: NotificationRef, now: datetime) -> None:
    """One transaction under two identifiers. With another amount or account it is quarantined for an operator."""
    transaction_id, notified, business_id = await _known(deps, event, ref.rail)
    async with deps.db.connection() as tx:
        recorded = await store.find_recorded(tx, business_id, ref.rail, transaction_id)
        if recorded is None:
            # Of no attempt that we know: it is in suspense under the platform.
            recorded = await store.find_recorded(tx, PLATFORM_BUSINESS_ID, ref.rail, transaction_id)
    if recorded is not None and recorded.is_same_as(notified):
        # Money in suspense may get another owner: its notifications are never removed, so that none credits it again.
        state = "suspense" if recorded.is_in_suspense else "done"
        await _note(deps, ref, state, "this transaction was notified before", now)
        return
    contradiction = note_of(transaction_id, recorded, notified)
    log.error("a rail contradicts itself", rail=ref.rail, what=contradiction)
    await _quarantine(deps, ref, contradiction, now)


async def _known(deps: PaymentDeps, event: RailEvent, rail: str) -> tuple[str, Recorded, str]:
    if isinstance(event, AttemptOutcome) and isinstance(event.state, Succeeded):
        return event.state.transaction_id, Recorded(event.state.amount, None), event.business_id
    assert isinstance(event, MoneyArrived)
    owner = await _owner_of(deps, event, rail)
    notified = Recorded(event.amount, event.account_number)
    return event.transaction_id, notified, owner.business.id if owner else PLATFORM_BUSINESS_ID


def _unclaimed(ref: NotificationRef, transaction_id: str, amount: Money, payer: dict[str, Any], reason: str) -> Receipt:
    return Receipt(
        rail=ref.rail,
        transaction_id=transaction_id,
        amount=amount,
        outcome="suspense",
        reason=reason,
        payer=payer,
    )


async def _suspend(
    deps: PaymentDeps, business_id: str, receipt: Receipt, ref: NotificationRef, *, notified: MoneyArrived | None,
    now: datetime, payment_id: int | None = None,
) -> None:  # fmt: skip
    """`notified` is the transfer; None for money of an attempt, which came without an account."""
    log.error("money without an owner", rail=receipt.rail, transaction_id=receipt.transaction_id, why=receipt.reason)
    cause = f"{receipt.rail}/{receipt.transaction_id}"
    journal = postings.receipt_unclaimed(cause=cause, received=receipt.amount, event_at=now)
    async with deps.db.connection() as tx:
        is_new = await store.put_into_suspense(
            tx, business_id, receipt, journal, ref, account_number=notified.account_number if notified else None,
            payment_id=payment_id, notified=notified, now=now,
        )  # fmt: skip
    if not is_new:
        raise DuplicateNotification


async def _quarantine(deps: PaymentDeps, ref: NotificationRef, why: str, now: datetime) -> None:
    await _note(deps, ref, "quarantined", why, now)


async def _note(deps: PaymentDeps, ref: NotificationRef, state: str, note: str | None, now: datetime) -> None:
    async with deps.db.connection() as tx:
        await store.note(tx, ref, state=state, note=note, now=now)
