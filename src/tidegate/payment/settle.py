"""Notifications and answers of rails become changes of payments, each written completely or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial

import msgspec
import structlog

from tidegate.core.errors import NotFound, Unavailable
from tidegate.core.fee import FeeRule
from tidegate.infra import lease_store, leased_work
from tidegate.infra.batcher import BATCH_MAX
from tidegate.infra.db import Database, StaleChange, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import LeaseLost
from tidegate.merchant import store as merchant_store
from tidegate.payment import attempt_store, decide, destination_store, sweep_store
from tidegate.payment.change import ChangeOutcome, PaymentChange, PaymentSnapshot, after, is_only_polled_later
from tidegate.payment.decide import IncomingTransfer
from tidegate.rail.action import FailureReason
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.notification import AlreadyReceived, Destination, DuplicateNotification, NotificationRef
from tidegate.rail.state import AttemptState, Failed
from tidegate.webhook.model import EVENT_CHANNEL

# Concurrent changes of one payment are decided one after the other. Each batch writes one of them, so the number of
# tries must cover the number that may wait.
TRIES = 2 * BATCH_MAX

FindSnapshot = Callable[[], Awaitable[PaymentSnapshot | None]]
DecideChange = Callable[[PaymentSnapshot, FeeRule], PaymentChange | None]
Unchanged = Callable[[], Awaitable[None]]

log = structlog.get_logger("payment")


async def _nothing() -> None:
    pass


async def record_state(
    deps: PaymentDeps,
    business_id: str,
    reference: str,
    state: AttemptState,
    *,
    ref: NotificationRef | None,
    now: datetime,
    lease: Lease | None = None,
    unchanged: Unchanged = _nothing,
) -> PaymentSnapshot | None:
    """Applies the state of an attempt. None when no attempt has the reference, or it belongs to a rail other than the
    reporting one. `unchanged` is called when the state changes nothing. Raises LeaseLost.
    """

    def choose(snapshot: PaymentSnapshot, rule: FeeRule) -> PaymentChange | None:
        change = decide.on_state(
            snapshot,
            state,
            rule=rule,
            names=deps.names,
            public_ids=deps.public_ids,
            ref=ref,
            now=now,
        )
        return _leased(change, lease)

    rail = ref.rail if ref else None
    find = partial(_find_by_reference, deps, business_id, reference, rail, lease)
    try:
        return await _change(deps, find, choose, unchanged=unchanged)
    except attempt_store.AccountNumberTaken:
        log.error("rail issued an account number that is already open", reference=reference)
    # The rail would answer a repeat with the same number; the payer may start another attempt, which gets a new one.
    failed = Failed(FailureReason.NOT_STARTED)
    return await record_state(deps, business_id, reference, failed, ref=ref, now=now, lease=lease)


async def record_time_out(
    deps: PaymentDeps, business_id: str, reference: str, *, now: datetime, lease: Lease | None = None
) -> PaymentSnapshot | None:
    """With a lease, of a poll."""

    def choose(snapshot: PaymentSnapshot, _: FeeRule) -> PaymentChange | None:
        return _leased(decide.on_time_out(snapshot, is_poll=lease is not None, now=now), lease)

    return await _change(deps, partial(_find_by_reference, deps, business_id, reference, None, lease), choose)


async def record_arrival(
    deps: PaymentDeps,
    account_number: str,
    arrival: IncomingTransfer,
    *,
    ref: NotificationRef | None,
    now: datetime,
    known: PaymentSnapshot | None = None,
) -> PaymentSnapshot | None:
    """Money on a temporary account. None when no attempt has that account. `known` saves the lookup."""

    def choose(snapshot: PaymentSnapshot, rule: FeeRule) -> PaymentChange | None:
        return decide.on_arrival(
            snapshot,
            arrival,
            rule=rule,
            names=deps.names,
            public_ids=deps.public_ids,
            ref=ref,
            now=now,
        )

    destination = Destination(arrival.rail, account_number, arrival.transaction_id)
    return await _change(deps, partial(find_by_destination, deps, destination), choose, known)


async def _find_by_reference(
    deps: PaymentDeps, business_id: str, reference: str, rail: str | None, lease: Lease | None
) -> PaymentSnapshot | None:
    async with deps.db.connection() as tx:
        if lease is not None and not await lease_store.lock(tx, lease):
            raise LeaseLost
        return await attempt_store.find_by_reference(tx, business_id, reference, rail=rail)


async def find_by_destination(deps: PaymentDeps, destination: Destination) -> PaymentSnapshot | None:
    """Batched with what waits at the same moment; on a cluster by itself, since its business is not known yet."""
    name = ("destination", destination if deps.db.is_cluster else None)
    return await deps.batching.do(name, destination, partial(_find_by_destinations, deps.db))


async def _find_by_destinations(db: Database, destinations: Sequence[Destination]) -> list[PaymentSnapshot | None]:
    async with db.connection() as tx:
        return await destination_store.find_by_destinations(tx, destinations)


def _leased(change: PaymentChange | None, lease: Lease | None) -> PaymentChange | None:
    return change and msgspec.structs.replace(change, lease=lease)


async def _change(
    deps: PaymentDeps,
    find: FindSnapshot,
    choose: DecideChange,
    known: PaymentSnapshot | None = None,
    *,
    unchanged: Unchanged = _nothing,
) -> PaymentSnapshot | None:
    """Read, decide, write on the version that was read; start again when it has changed."""
    for _ in range(TRIES):
        snapshot, known = known or await find(), None
        if snapshot is None:
            return None
        change = choose(snapshot, await _rule_of(deps, snapshot))
        if change is None or await _is_put_off(deps, snapshot, change):
            await unchanged()
            return snapshot
        outcome = await _write(deps, change)
        if outcome is ChangeOutcome.ALREADY_RECEIVED:
            if change.ref is not None:
                raise AlreadyReceived
            return await find()  # The rail's notification came before its answer to us.
        if outcome is ChangeOutcome.DUPLICATE:
            raise DuplicateNotification
        if outcome is ChangeOutcome.WRITTEN:
            _notify_senders(deps, change)
            return after(snapshot, change)
    raise changing_too_fast()


async def _is_put_off(deps: PaymentDeps, snapshot: PaymentSnapshot, change: PaymentChange) -> bool:
    """A poll that finds nothing new is put off, and the payment keeps its version: the form that a payer is
    filling in stays valid.
    """
    if change.lease is None or change.attempt is None or snapshot.attempt is None:
        return False
    if not is_only_polled_later(snapshot, change):
        return False
    async with leased_work.writing(deps.db, change.lease) as tx:
        await sweep_store.poll_later(tx, change.attempt, was=snapshot.attempt.next_poll_at)
    return True


async def _write(deps: PaymentDeps, change: PaymentChange) -> ChangeOutcome:
    """Batched with what waits at the same moment; on a cluster, of the same business."""
    write_all = partial(_write_all, deps.db)
    try:
        if deps.db.is_cluster:
            return await deps.batching.do(change.payment.business_id, change, write_all)
        return await deps.batching.do("changes", change, write_all, at_once=2)
    except StaleChange:
        return ChangeOutcome.STALE
    except AlreadyReceived:
        return ChangeOutcome.ALREADY_RECEIVED


async def _write_all(db: Database, changes: Sequence[PaymentChange]) -> list[ChangeOutcome]:
    async with db.connection() as tx:
        return await attempt_store.apply_all(tx, changes)


def _notify_senders(deps: PaymentDeps, change: PaymentChange) -> None:
    """Wakes the webhook senders, which otherwise poll."""
    if change.event is not None:
        deps.db.notify(EVENT_CHANNEL)


def changing_too_fast() -> Unavailable:
    return Unavailable("too many concurrent changes of this payment; retry after 1 s", retry_after_s=1)


async def _rule_of(deps: PaymentDeps, snapshot: PaymentSnapshot) -> FeeRule:
    rule = snapshot.business.fee_rule_by_id(_rule_id_of(snapshot))
    if rule is not None:
        return rule
    async with deps.db.connection() as tx:
        return await rule_of(tx, snapshot)


async def rule_of(tx: Tx, snapshot: PaymentSnapshot) -> FeeRule:
    """The rule that priced the attempt, even if it has ended since."""
    rule_id = _rule_id_of(snapshot)
    rule = snapshot.business.fee_rule_by_id(rule_id)
    rule = rule or await merchant_store.find_fee_rule(tx, snapshot.business.id, rule_id)
    if rule is None:
        raise NotFound(f"the fee rule {rule_id} does not exist")
    return rule


def _rule_id_of(snapshot: PaymentSnapshot) -> str:
    return snapshot.attempt.fee_rule_id if snapshot.attempt else snapshot.payment.fee_rule_id
