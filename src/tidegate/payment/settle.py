"""Notifications and answers of rails become changes of payments, each written completely or not at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial

import msgspec
import structlog

from tidegate.core.errors import NotFound, Unavailable
from tidegate.core.fee import FeeRule
from tidegate.infra import lease_store
from tidegate.infra.db import Database, StaleChange
from tidegate.infra.gathering import TOGETHER_MAX
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import LeaseLost
from tidegate.merchant import store as merchant_store
from tidegate.payment import attempt_store, decide, destination_store
from tidegate.payment.change import Change, Outcome, Situation, after
from tidegate.payment.decide import Arrival
from tidegate.payment.destination_store import Destination
from tidegate.rail.interface import AttemptState, Failed, FailureReason
from tidegate.rail.till import Till
from tidegate.rail.told import AlreadyReceived, ToldBefore, ToldBy
from tidegate.webhook.model import NEWS

# Concurrent changes of one payment are decided one after the other. Each batch writes one of them, so the number of
# tries must cover the number that may wait.
TRIES = 2 * TOGETHER_MAX

Find = Callable[[], Awaitable[Situation | None]]
Decide = Callable[[Situation, FeeRule], Change | None]
Unchanged = Callable[[], Awaitable[None]]

log = structlog.get_logger("payment")


async def _nothing() -> None:
    pass


async def record_state(
    till: Till,
    business_id: str,
    reference: str,
    state: AttemptState,
    *,
    told_by: ToldBy | None,
    now: datetime,
    lease: Lease | None = None,
    unchanged: Unchanged = _nothing,
) -> Situation | None:
    """Applies the state of an attempt. None when no attempt has the reference, or it belongs to a rail other than the
    reporting one. `unchanged` is called when the state changes nothing. Raises LeaseLost.
    """

    def choose(situation: Situation, rule: FeeRule) -> Change | None:
        change = decide.on_state(
            situation, state, rule=rule, names=till.names, public_ids=till.public_ids, told_by=told_by, now=now
        )
        return _leased(change, lease)

    rail = told_by.rail if told_by else None
    find = partial(_find_by_reference, till, business_id, reference, rail, lease)
    try:
        return await _change(till, find, choose, unchanged=unchanged)
    except attempt_store.AccountNumberTaken:
        log.error("rail issued an account number that is already open", reference=reference)
    # The rail would answer a repeat with the same number; the payer may start another attempt, which gets a new one.
    failed = Failed(FailureReason.NOT_STARTED)
    return await record_state(till, business_id, reference, failed, told_by=told_by, now=now, lease=lease)


async def record_time_out(
    till: Till, business_id: str, reference: str, *, now: datetime, lease: Lease | None = None
) -> Situation | None:
    def choose(situation: Situation, _: FeeRule) -> Change | None:
        return _leased(decide.on_time_out(situation, now=now), lease)

    return await _change(till, partial(_find_by_reference, till, business_id, reference, None, lease), choose)


async def record_arrival(
    till: Till,
    account_number: str,
    arrival: Arrival,
    *,
    told_by: ToldBy | None,
    now: datetime,
    known: Situation | None = None,
) -> Situation | None:
    """Money on a temporary account. None when no attempt has that account. `known` saves the lookup."""

    def choose(situation: Situation, rule: FeeRule) -> Change | None:
        return decide.on_arrival(
            situation, arrival, rule=rule, names=till.names, public_ids=till.public_ids, told_by=told_by, now=now
        )

    destination = Destination(arrival.rail, account_number, arrival.transaction_id)
    return await _change(till, partial(find_by_destination, till, destination), choose, known)


async def _find_by_reference(
    till: Till, business_id: str, reference: str, rail: str | None, lease: Lease | None
) -> Situation | None:
    async with till.db.connection() as tx:
        if lease is not None and not await lease_store.lock(tx, lease):
            raise LeaseLost
        return await attempt_store.find_by_reference(tx, business_id, reference, rail=rail)


async def find_by_destination(till: Till, destination: Destination) -> Situation | None:
    return await till.together.do("destination", destination, partial(_find_by_destinations, till.db))


async def _find_by_destinations(db: Database, destinations: Sequence[Destination]) -> list[Situation | None]:
    async with db.connection() as tx:
        return await destination_store.find_by_destinations(tx, destinations)


def _leased(change: Change | None, lease: Lease | None) -> Change | None:
    return change and msgspec.structs.replace(change, lease=lease)


async def _change(
    till: Till,
    find: Find,
    choose: Decide,
    known: Situation | None = None,
    *,
    unchanged: Unchanged = _nothing,
) -> Situation | None:
    """Read, decide, write on the version that was read; start again when it has changed."""
    for _ in range(TRIES):
        situation, known = known or await find(), None
        if situation is None:
            return None
        change = choose(situation, await _rule_of(till, situation))
        if change is None:
            await unchanged()
            return situation
        outcome = await _write(till, change)
        if outcome is Outcome.ALREADY_RECEIVED:
            if change.told_by is not None:
                raise AlreadyReceived
            return await find()  # The rail's notification came before its answer to us.
        if outcome is Outcome.TOLD_BEFORE:
            raise ToldBefore
        if outcome is Outcome.WRITTEN:
            _ring_for(till, change)
            return after(situation, change)
    raise changing_too_fast()


async def _write(till: Till, change: Change) -> Outcome:
    """Batched with other changes of the same business: they would wait for the same wallet lock anyway."""
    try:
        return await till.together.do(change.payment.business_id, change, partial(_write_all, till.db))
    except StaleChange:
        return Outcome.STALE
    except AlreadyReceived:
        return Outcome.ALREADY_RECEIVED


async def _write_all(db: Database, changes: Sequence[Change]) -> list[Outcome]:
    async with db.connection() as tx:
        return await attempt_store.apply_all(tx, changes)


def _ring_for(till: Till, change: Change) -> None:
    """Wakes the webhook senders, which otherwise poll."""
    if change.event is not None:
        till.db.ring(NEWS)


def changing_too_fast() -> Unavailable:
    return Unavailable("too many concurrent changes of this payment; retry after 1 s", retry_after_s=1)


async def _rule_of(till: Till, situation: Situation) -> FeeRule:
    """The rule that priced the attempt, even if it has ended since."""
    rule_id = situation.attempt.fee_rule_id if situation.attempt else situation.payment.fee_rule_id
    rule = situation.business.fee_rule_by_id(rule_id)
    if rule is None:
        async with till.db.connection() as tx:
            rule = await merchant_store.find_fee_rule(tx, situation.business.id, rule_id)
    if rule is None:
        raise NotFound(f"the fee rule {rule_id} does not exist")
    return rule
