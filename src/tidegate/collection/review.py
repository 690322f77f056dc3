"""Held inflows: an operator credits or returns them; after the time limit they are returned."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from tidegate.account import store as account_store
from tidegate.audit import store as audit
from tidegate.audit.model import OURSELVES, Actor
from tidegate.collection import decide, review_store, store
from tidegate.collection.model import REFERENCE, AccountSnapshot, Collection, CollectionChange, CollectionStatus
from tidegate.collection.reason import InflowReason
from tidegate.collection.rule import needs_rate
from tidegate.core.clock import Clock
from tidegate.core.errors import Conflict, IllegalTransition, NotFound
from tidegate.infra import leased_work
from tidegate.infra.db import StaleChange, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.rail.deps import PaymentDeps
from tidegate.webhook.model import EVENT_CHANNEL

RETURN_OVERDUE = WorkKind(review_store.RETURN_OVERDUE, review_store.list_overdue)
NO_COLLECTION = "no collection has this reference"


async def credit(
    deps: PaymentDeps,
    reference: str,
    *,
    note: str | None,
    by: Actor,
    now: datetime,
    also: InSameTransaction = nothing_else,
) -> Collection:
    async with deps.db.transaction() as tx:
        await also(tx)
        change = await _credited(tx, deps, reference, note=note, now=now)
        await _write(tx, change, by, "collection.credited")
    deps.db.notify(EVENT_CHANNEL)
    return change.collection


async def _credited(tx: Tx, deps: PaymentDeps, reference: str, *, note: str | None, now: datetime) -> CollectionChange:
    held = await _held(tx, reference)
    snapshot = await _snapshot_of(tx, held)
    change = decide.on_review_passed(snapshot, held, note=note, terms=deps.inflow_terms, now=now)
    if not isinstance(change, CollectionChange):
        raise Conflict(f"it cannot be credited: {change.sentence}; {_way_out(change)}")
    return change


async def check_credit(tx: Tx, deps: PaymentDeps, reference: str, *, now: datetime) -> None:
    """Raises what `credit` would refuse."""
    await _credited(tx, deps, reference, note=None, now=now)


async def check_return(tx: Tx, reference: str) -> None:
    """Raises what `send_back` would refuse."""
    await _held(tx, reference)


def _way_out(reason: InflowReason) -> str:
    if not needs_rate(reason):
        return "correct that first, or return it"
    return (
        "set one in the console under Rates or with `tidegate rate set`, in the sandbox also with POST /sandbox/rates"
    )


async def send_back(
    deps: PaymentDeps,
    reference: str,
    *,
    note: str | None,
    by: Actor,
    now: datetime,
    reason: InflowReason = InflowReason.REVIEW_REFUSED,
    also: InSameTransaction = nothing_else,
) -> Collection:
    async with deps.db.transaction() as tx:
        await also(tx)
        change = decide.on_review_refused(await _held(tx, reference), reason=reason, note=note, now=now)
        await _write(tx, change, by, "collection.sent_back")
    return change.collection


async def return_overdue(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: returns what was not decided in time."""
    return await leased_work.run_round(deps.db, RETURN_OVERDUE, partial(_return_overdue, deps), clock)


async def _return_overdue(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    try:
        async with deps.db.transaction() as tx:
            held = await review_store.find_overdue(tx, lease.business_id, lease.id, now)
            if held is None:
                return False
            await _write(tx, decide.on_hold_ended(held, now=now), OURSELVES, "collection.hold_ended")
    except Conflict:
        return False  # It was decided at the same time.
    return True


async def preview(tx: Tx, deps: PaymentDeps, held: Collection, *, now: datetime) -> CollectionChange | InflowReason:
    """What crediting it now would book. The reason when it cannot be credited."""
    snapshot = await _snapshot_of(tx, held)
    return decide.on_review_passed(snapshot, held, note=None, terms=deps.inflow_terms, now=now)


async def get_unscoped(deps: PaymentDeps, reference: str) -> Collection:
    """For operators."""
    async with deps.db.connection() as tx:
        return await _get(tx, reference)


async def _get(tx: Tx, reference: str) -> Collection:
    found = await review_store.find_unscoped(tx, reference) if REFERENCE.fullmatch(reference) else None
    if found is None:
        raise NotFound(NO_COLLECTION)
    return found


async def _held(tx: Tx, reference: str) -> Collection:
    found = await _get(tx, reference)
    if found.status is not CollectionStatus.PENDING:
        raise IllegalTransition(f"this collection is {found.status.value}; only a held one (pending) can be decided")
    return found


async def _snapshot_of(tx: Tx, held: Collection) -> AccountSnapshot:
    account = await account_store.find(tx, held.business_id, held.account_id)
    assert account is not None  # By the foreign key.
    assert account.details is not None  # Only an account with details receives money.
    snapshot = await store.find_account_snapshot(tx, held.rail, account.details.account_number, held.transaction_id)
    assert snapshot is not None
    return snapshot


async def _write(tx: Tx, change: CollectionChange, by: Actor, action: str) -> None:
    collection = change.collection
    try:
        await store.change(tx, change)
    except StaleChange:
        raise Conflict("this collection was decided at the same time; read it again") from None
    await audit.insert(
        tx, collection.business_id, by, action=action, subject=collection.reference,
        details={"note": collection.note} if collection.note else {}, now=change.now,
    )  # fmt: skip
