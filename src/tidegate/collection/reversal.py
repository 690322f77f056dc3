"""Credits that a bank reverses: recorded when notified, applied once the credit is known."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import msgspec
import structlog

from tidegate.collection import event, return_confirmation, reversal_store, store
from tidegate.collection.model import Collection, CollectionChange, CollectionStatus, Credited
from tidegate.collection.reason import InflowReason
from tidegate.collection.reversal_store import InflowReversal
from tidegate.core.clock import Clock
from tidegate.core.money import Money
from tidegate.infra import leased_work
from tidegate.infra.db import StaleChange, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.ledger import postings
from tidegate.ledger import store as ledger
from tidegate.ledger.model import Conversion, Journal
from tidegate.rail import notification_store
from tidegate.rail.bankfiles import store as bank_store
from tidegate.rail.bankfiles.rail import NAME as BANKFILES
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import CreditReversed
from tidegate.rail.notification import DuplicateNotification, NotificationRef
from tidegate.webhook.model import EVENT_CHANNEL

APPLY = WorkKind(reversal_store.APPLY, reversal_store.list_due)
APPLY_UNCLAIMED = WorkKind(
    reversal_store.APPLY_UNCLAIMED, partial(reversal_store.list_of_receipts, is_in_suspense=True)
)
COLLECT = WorkKind(reversal_store.COLLECT, reversal_store.list_owing)
OWED = "the wallet held less than the reversal: the rest is debited from later credits"

log = structlog.get_logger("inflow")


async def record(deps: PaymentDeps, reversed_credit: CreditReversed, *, ref: NotificationRef, clock: Clock) -> None:
    """Raises DuplicateNotification. A reversal that precedes its credit waits for it."""
    async with deps.db.connection() as tx:
        account_number = reversed_credit.account_number
        if account_number is None:
            account_number = await reversal_store.find_account_number(tx, ref.rail, reversed_credit.transaction_id)
        if not await reversal_store.insert(tx, reversed_credit, ref, account_number=account_number, now=clock.now()):
            raise DuplicateNotification
        due = await reversal_store.find_due(tx, f"{ref.rail}/{account_number}/{reversed_credit.transaction_id}")
    if due is not None:
        await _apply(deps, due, clock.now_of(due.collection.business_id))


async def apply_due(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: reversals whose credit is now known."""
    return await leased_work.run_round(deps.db, APPLY, partial(_apply_due, deps), clock)


async def apply_unclaimed(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: reversals of money in suspense, which has no inflow."""
    return await leased_work.run_round(deps.db, APPLY_UNCLAIMED, partial(_apply_unclaimed, deps), clock)


async def _apply_due(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    async with deps.db.connection() as tx:
        due = await reversal_store.find_due(tx, lease.id)
    return due is not None and await _apply(deps, due, now)


async def _apply(deps: PaymentDeps, reversal: InflowReversal, now: datetime) -> bool:
    try:
        async with deps.db.transaction() as tx:
            is_done = await _apply_in(tx, reversal, now)
    except StaleChange:
        return False  # The next round reads it again.
    deps.db.notify(EVENT_CHANNEL)
    return is_done


async def _apply_in(tx: Tx, reversal: InflowReversal, now: datetime) -> bool:
    """False when another worker has applied it."""
    if not await reversal_store.mark_applied(tx, reversal, now=now):
        return False
    collection = reversal.collection
    if collection.amount != reversal.amount:
        await _alert(tx, reversal, now)
        return True
    if await _ends_return(tx, reversal, now):
        return True
    if collection.status is CollectionStatus.REVERSED:
        # It was also returned, so the bank has the money twice: booked, and an operator must reclaim it.
        await _alert(tx, reversal, now)
        journal = postings.held_reversed(cause=collection.cause, held=collection.amount, event_at=now)
        await ledger.post(tx, collection.business_id, journal, now)
        return True
    held = await reversal_store.lock_wallet(tx, collection)
    await store.change(tx, _undone(collection, held, now))
    return True


async def _ends_return(tx: Tx, reversal: InflowReversal, now: datetime) -> bool:
    """The bank itself has sent back what a file of ours was still to return. False when that may have left too."""
    sent_back = reversal.collection.sent_back
    if reversal.rail != BANKFILES or sent_back is None or sent_back.confirmed_at is not None:
        return False
    why = "the bank has taken back the credit that it would return"
    if not await bank_store.withdraw_payout(tx, reversal.collection.business_id, sent_back.reference, why=why):
        return False
    return await return_confirmation.confirm_in(tx, reversal.collection, sent_as=f"reversal/{reversal.id}", now=now)


async def _alert(tx: Tx, reversal: InflowReversal, now: datetime) -> None:
    log.error("a reversal does not match its credit", reference=reversal.collection.reference, reversal=reversal.id)
    collection = reversal.collection
    taken = f"the bank has taken back {reversal.amount} of {collection.reference}"
    if reversal.amount != collection.amount:
        why = f"{taken}, which is of {collection.amount}: only a whole credit is debited here"
    else:
        why = f"{taken}, which was being returned: both may have left; ask the bank"
    await notification_store.quarantine(
        tx, reversal.rail, notification_store.reversal_in_doubt(reversal.id), why=why, now=now
    )


def _undone(collection: Collection, held: Money, now: datetime) -> CollectionChange:
    """`held` is the wallet's balance. What it does not cover of the credit, the merchant owes."""
    credited = collection.credited
    after = msgspec.structs.replace(
        collection,
        status=CollectionStatus.REVERSED if credited else CollectionStatus.FAILED,
        reason=InflowReason.TAKEN_BACK,
        updated_at=now,
    )
    if credited is None:
        journal = postings.held_reversed(cause=collection.cause, held=collection.amount, event_at=now)
        return CollectionChange(collection=after, journal=journal, now=now)
    if held < credited.net:
        after = msgspec.structs.replace(after, owed=credited.net - held, note=OWED)
        log.error("a merchant owes a reversed credit", reference=after.reference, owed=str(after.owed))
    journal = _reversing(collection, credited, after.owed, now)
    return CollectionChange(collection=after, journal=journal, event=event.collection_returned(after), now=now)


def _reversing(collection: Collection, credited: Credited, owed: Money | None, now: datetime) -> Journal:
    conversion = None
    if credited.applied_rate is not None:
        spread = credited.applied_rate.spread
        conversion = Conversion(
            received=collection.amount, worth=credited.gross + spread, converted=credited.gross, spread=spread
        )
    return postings.credit_reversed(
        cause=collection.cause,
        received=collection.amount,
        fee=credited.fee,
        conversion=conversion,
        owed=owed,
        event_at=now,
    )


async def _apply_unclaimed(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    """Of unclaimed money: it leaves suspense. An operator may be deciding on it at the same moment."""
    async with deps.db.transaction() as tx:
        one = await reversal_store.find_of_receipt(tx, lease.id, is_in_suspense=True)
        outcome = await reversal_store.lock_unclaimed(tx, one.business_id, one.receipt_id) if one else None
        if one is None or outcome is None or not await reversal_store.mark_applied(tx, one, now=now):
            return False
        if one.amount != one.received:
            why = f"{one.amount} of {one.transaction_id} was reversed, of which {one.received} had arrived"
            await notification_store.quarantine(
                tx, one.rail, notification_store.reversal_in_doubt(one.id), why=why, now=now
            )
            return True
        if outcome == "decided":
            # The bank has the money twice: booked, and an operator must reclaim it.
            why = f"{one.amount} of {one.transaction_id} was reversed after an operator had returned or closed it"
            await notification_store.quarantine(
                tx, one.rail, notification_store.reversal_in_doubt(one.id), why=why, now=now
            )
        cause = f"{one.rail}/{one.transaction_id}"
        await ledger.post(tx, one.business_id, postings.held_reversed(cause=cause, held=one.amount, event_at=now), now)
    return True


async def collect_debts(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: debits what is owed from wallets that have a balance again."""
    return await leased_work.run_round(deps.db, COLLECT, partial(_collect, deps), clock)


async def _collect(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    async with deps.db.transaction() as tx:
        collection = await reversal_store.find_owing(tx, lease.business_id, int(lease.id))
        owed = collection.owed if collection else None
        if collection is None or owed is None:
            return False
        held = await reversal_store.lock_wallet(tx, collection)
        part = min(owed, held)
        if part.minor == 0 or not await reversal_store.pay_debt(tx, collection, part, now=now):
            return False
        cause = f"{collection.reference}/{collection.version}"
        journal = postings.debt_collected(cause=cause, collected=part, event_at=now)
        await ledger.post(tx, collection.business_id, journal, now)
    return True
