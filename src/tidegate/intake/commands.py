"""Receives notifications: reads them, finds the owner, and records the effect."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
import structlog

from tidegate.account.model import AccountStatus
from tidegate.collection import reversal
from tidegate.collection import settle as inflow
from tidegate.collection import store as collection_store
from tidegate.collection.model import AccountSnapshot
from tidegate.core.clock import Clock
from tidegate.core.errors import Invalid, NotFound, Problem, Unauthenticated
from tidegate.core.money import ACCOUNT_OFFERS, Currency, Money
from tidegate.intake import store
from tidegate.intake.store import Recorded
from tidegate.ledger import postings
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.money_return import store as money_return_store
from tidegate.payment import settle
from tidegate.payment.change import PaymentSnapshot, Receipt
from tidegate.payment.decide import IncomingTransfer, WrongCurrency
from tidegate.payment.destination_store import Destination
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.interface import (
    AttemptOutcome,
    CreditReversed,
    MoneyArrived,
    NotificationRefused,
    NotificationUnreadable,
    RailEvent,
    RawNotification,
    ReturnConfirmed,
    Succeeded,
)
from tidegate.rail.notification import AlreadyReceived, DuplicateNotification, NotificationRef

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
        notifications = rail.read(raw, now=now)
    except NotificationRefused as refused:
        raise Unauthenticated("the notification's signature is not the rail's") from refused
    except NotificationUnreadable as unreadable:
        await _quarantine(deps, NotificationRef(rail=rail_name, id=unreadable.id, body=raw.body), str(unreadable), now)
        raise Invalid(Problem("body", str(unreadable))) from unreadable
    for notification in notifications:
        ref = NotificationRef(rail=rail_name, id=notification.id, body=raw.body)
        await _route(deps, notification.event, ref, clock)
    return len(notifications)


async def _route(deps: PaymentDeps, event: RailEvent, ref: NotificationRef, clock: Clock) -> None:
    try:
        if isinstance(event, AttemptOutcome):
            await _attempt_ended(deps, event, ref, clock.now_of(event.business_id))
        elif isinstance(event, MoneyArrived):
            await _money_arrived(deps, event, ref, clock)
        elif isinstance(event, CreditReversed):
            await reversal.record(deps, event, ref=ref, clock=clock)
        else:
            await _return_confirmed(deps, event, ref, clock.now_of(event.business_id))
    except AlreadyReceived:
        await _same_money_again(deps, event, ref, clock.now())
    except DuplicateNotification:
        await _same_notification_again(deps, ref, clock.now())


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
        receipt = _unclaimed(ref, outcome.state.transaction_id, outcome.state.amount, {}, str(wrong))
        await _suspend(deps, outcome.business_id, receipt, ref, account_number=None, now=now)
        return
    if snapshot is not None:
        return
    if isinstance(outcome.state, Succeeded):
        receipt = _unclaimed(
            ref,
            outcome.state.transaction_id,
            outcome.state.amount,
            {},
            f"no attempt has the reference {outcome.reference}",
        )
        await _suspend(deps, PLATFORM_BUSINESS_ID, receipt, ref, account_number=None, now=now)
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
            ref, transfer.transaction_id, transfer.amount, _payer(transfer), "no account has this number"
        )
        await _suspend(deps, PLATFORM_BUSINESS_ID, receipt, ref, account_number=transfer.account_number, now=now)


async def _owner_of(deps: PaymentDeps, transfer: MoneyArrived, rail: str) -> PaymentSnapshot | AccountSnapshot | None:
    """The account of a checkout, or a permanent one. The likelier kind is searched first, and the other too unless
    the first is open: the rail may have reused the number.
    """
    destination = Destination(rail, transfer.account_number, transfer.transaction_id)
    finders: list[Callable[[PaymentDeps, Destination], Awaitable[PaymentSnapshot | AccountSnapshot | None]]] = [
        settle.find_by_destination,
        _find_account,
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


async def _find_account(deps: PaymentDeps, destination: Destination) -> AccountSnapshot | None:
    async with deps.db.connection() as tx:
        return await collection_store.find_account_snapshot(tx, *destination)


async def _for_a_checkout(
    deps: PaymentDeps, snapshot: PaymentSnapshot, transfer: MoneyArrived, ref: NotificationRef, now: datetime
) -> None:
    expected = snapshot.payment.expected.currency
    if transfer.amount.currency is not expected:
        receipt = _in_wrong_currency(ref, transfer, expected)
        await _suspend(
            deps, snapshot.business.id, receipt, ref, account_number=transfer.account_number, now=now,
            payment_id=snapshot.payment.id,
        )  # fmt: skip
        return
    arrival = IncomingTransfer(
        rail=ref.rail,
        transaction_id=transfer.transaction_id,
        amount=transfer.amount,
        payer=_payer(transfer),
        valued_at=transfer.valued_at,
    )
    await settle.record_arrival(deps, transfer.account_number, arrival, ref=ref, now=now, known=snapshot)


async def _for_an_account(
    deps: PaymentDeps, place: AccountSnapshot, transfer: MoneyArrived, ref: NotificationRef, now: datetime
) -> None:
    expected = place.account.currency
    if transfer.amount.currency is expected:
        await inflow.record_arrival(deps, place, transfer, ref=ref, now=now)
        return
    receipt = _in_wrong_currency(ref, transfer, expected)
    await _suspend(deps, place.business.id, receipt, ref, account_number=transfer.account_number, now=now)


def _in_wrong_currency(ref: NotificationRef, transfer: MoneyArrived, expected: Currency) -> Receipt:
    reason = f"the account takes {expected}, not {transfer.amount.currency}"
    return _unclaimed(ref, transfer.transaction_id, transfer.amount, _payer(transfer), reason)


def _payer(transfer: MoneyArrived) -> dict[str, Any]:
    payer: dict[str, Any] = msgspec.to_builtins(transfer.payer)
    return payer


async def _return_confirmed(deps: PaymentDeps, confirmed: ReturnConfirmed, ref: NotificationRef, now: datetime) -> None:
    async with deps.db.connection() as tx:
        known = await money_return_store.find(tx, confirmed.business_id, confirmed.reference, rail=ref.rail)
        collection = None
        if known is not None and known.collection_id is not None:
            collection = await collection_store.find_by_id(tx, confirmed.business_id, known.collection_id)
    if known is None:
        await _note(deps, ref, "suspense", "no return has this reference", now)
        return
    if collection is not None:
        await inflow.confirm_return(deps, collection, sent_as=confirmed.transaction_id, now=now)
    else:
        journal = postings.return_done(cause=confirmed.reference, returned=known.amount, event_at=now)
        async with deps.db.connection() as tx:
            await money_return_store.confirm(
                tx, confirmed.business_id, confirmed.reference, journal, sent_as=confirmed.transaction_id, now=now
            )
    await _note(deps, ref, "done", None, now)


async def _same_notification_again(deps: PaymentDeps, ref: NotificationRef, now: datetime) -> None:
    """A repeat has no effect. A different body under the same identifier is quarantined for an operator."""
    async with deps.db.connection() as tx:
        before = await store.get_body(tx, ref.rail, ref.id)
    if before == ref.body:
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
    if recorded is not None and recorded.is_same_as(notified):
        await _note(deps, ref, "done", "this transaction was notified before", now)
        return
    contradiction = f"{transaction_id} was recorded as {recorded} and is now notified as {notified}"
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
    deps: PaymentDeps, business_id: str, receipt: Receipt, ref: NotificationRef, *, account_number: str | None,
    now: datetime, payment_id: int | None = None,
) -> None:  # fmt: skip
    log.error("money without an owner", rail=receipt.rail, transaction_id=receipt.transaction_id, why=receipt.reason)
    cause = f"{receipt.rail}/{receipt.transaction_id}"
    journal = postings.receipt_unclaimed(cause=cause, received=receipt.amount, event_at=now)
    async with deps.db.connection() as tx:
        is_new = await store.put_into_suspense(
            tx, business_id, receipt, journal, ref, account_number=account_number, payment_id=payment_id, now=now
        )
    if not is_new:
        raise DuplicateNotification


async def _quarantine(deps: PaymentDeps, ref: NotificationRef, why: str, now: datetime) -> None:
    await _note(deps, ref, "quarantined", why, now)


async def _note(deps: PaymentDeps, ref: NotificationRef, state: str, note: str | None, now: datetime) -> None:
    async with deps.db.connection() as tx:
        await store.note(tx, ref, state=state, note=note, now=now)
