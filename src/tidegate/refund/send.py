"""Calling rails for refunds, and recording the outcome."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import partial

import msgspec
import structlog

from tidegate.core.clock import Clock
from tidegate.core.errors import NotFound
from tidegate.infra import leased_work
from tidegate.infra.db import Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.ledger import postings
from tidegate.ledger import store as ledger
from tidegate.ledger.model import Journal
from tidegate.rail import notification_store
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.interface import RailBusy, RailRefused, RailTimeout, RefundMoney
from tidegate.rail.pause import LOOK_WHILE_PAUSED
from tidegate.rail.state import Failed, PayoutState, Succeeded
from tidegate.refund import event, model, store, subject_store
from tidegate.refund.model import Leg, Refund, RefundExchange, RefundStatus, RefundView
from tidegate.refund.subject_store import SubjectKey
from tidegate.webhook import outbox_store
from tidegate.webhook.model import EVENT_CHANNEL

POLL = WorkKind(store.POLL, store.list_to_poll, at_once_max=leased_work.AT_ONCE_WITH_RAILS_MAX)

log = structlog.get_logger("refund")


async def poll_rails(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: new refunds are sent to the rail, those in progress are polled for."""
    return await leased_work.run_round(deps.db, POLL, partial(_poll, deps), clock)


async def _poll(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    async with deps.db.connection() as tx:
        found = await store.find_to_poll(tx, lease.business_id, lease.id, now)
    if found is None:
        return False
    refund_id, polls, leg = found
    if leg.rail in deps.paused.names:
        async with leased_work.writing(deps.db, lease) as tx:
            again_at = now + LOOK_WHILE_PAUSED
            await store.poll_later(tx, lease.business_id, leg, next_poll_at=again_at, was_asked=False)
        return True
    state = await _poll_rail(deps, lease.business_id, leg, now, is_first=polls == 0)
    is_other = isinstance(state, Succeeded) and state.amount != leg.amount
    if isinstance(state, Succeeded | Failed) and not is_other:
        await _end(deps, lease, refund_id, _ended(leg, state), state=state, now=now)
    else:
        async with leased_work.writing(deps.db, lease) as tx:
            if isinstance(state, Succeeded):
                await _alert(tx, leg, state, now)
            await store.poll_later(tx, lease.business_id, leg, next_poll_at=model.next_poll_at(polls, now=now))
    return True


async def _poll_rail(
    deps: PaymentDeps, business_id: str, leg: Leg, now: datetime, *, is_first: bool
) -> PayoutState | None:
    """None when the rail did not answer, or not yet: it may have done the work."""
    money = RefundMoney(
        business_id=business_id, reference=leg.reference, transaction_id=leg.transaction_id, amount=leg.amount
    )
    try:
        rail = deps.rail(leg.rail)
        if not is_first:
            # A refund that never reached the rail is sent again, under the same reference.
            with suppress(NotFound):
                return await rail.poll_refund(money, now=now)
        return await rail.refund(money, now=now)
    except (RailTimeout, RailBusy, RailRefused) as error:
        log.warning("a rail did not take or tell of a refund", rail=leg.rail, reference=leg.reference, why=str(error))
        return None


async def _alert(tx: Tx, leg: Leg, state: Succeeded, now: datetime) -> None:
    """It is not ended: neither amount is known to be right, and an operator asks the rail."""
    why = f"{state.amount} was paid for the refund {leg.reference}, which is of {leg.amount}"
    log.error("a rail paid another amount than was asked for", rail=leg.rail, why=why)
    await notification_store.quarantine(
        tx, leg.rail, notification_store.refund_in_doubt(leg.reference), why=why, now=now
    )


def _ended(leg: Leg, state: Succeeded | Failed) -> Leg:
    if isinstance(state, Failed):
        return msgspec.structs.replace(leg, status=RefundStatus.FAILED, failure=state.reason)
    return msgspec.structs.replace(leg, status=RefundStatus.SUCCESSFUL)


async def _end(
    deps: PaymentDeps, lease: Lease, refund_id: int, leg: Leg, *, state: Succeeded | Failed, now: datetime
) -> None:
    sent_as = state.transaction_id if isinstance(state, Succeeded) else None
    async with leased_work.writing(deps.db, lease) as tx:
        is_ended = await end_leg(tx, lease.business_id, refund_id, leg, sent_as=sent_as, now=now)
    if is_ended:
        deps.db.notify(EVENT_CHANNEL)


async def end_leg(tx: Tx, business_id: str, refund_id: int, leg: Leg, *, sent_as: str | None, now: datetime) -> bool:
    """Writes the leg's outcome, its journal and, after the last leg, the refund's outcome. False when it had ended."""
    key = await subject_store.find_key_of(tx, business_id, refund_id)
    await subject_store.lock(tx, key)
    refund = await store.lock(tx, business_id, refund_id)
    if not await store.end_leg(tx, business_id, leg, sent_as=sent_as, now=now):
        return False
    await ledger.post(tx, business_id, _journal(refund, leg, now), now)
    await _complete(tx, refund, key, now)
    return True


def _journal(refund: Refund, leg: Leg, now: datetime) -> Journal:
    if refund.exchange is not None:
        return _exchanged(refund.exchange, leg, now)
    if leg.status is RefundStatus.SUCCESSFUL:
        return postings.refund_done(cause=leg.reference, refunded=leg.amount, event_at=now)
    return postings.refund_failed(cause=leg.reference, refunded=leg.amount, fee=leg.fee, event_at=now)


def _exchanged(exchange: RefundExchange, leg: Leg, now: datetime) -> Journal:
    """Of an inflow, which came in one transfer and has one leg."""
    if leg.status is RefundStatus.FAILED:
        return postings.refund_failed(cause=leg.reference, refunded=exchange.debited, event_at=now)
    return postings.refund_converted(
        cause=leg.reference, refunded=leg.amount, debited=exchange.debited, worth=exchange.worth, event_at=now
    )


async def _complete(tx: Tx, refund: Refund, key: SubjectKey, now: datetime) -> None:
    ended = model.completed(refund, await store.list_legs(tx, refund.business_id, refund.id), now=now)
    if ended is None:
        return
    await store.complete(tx, ended)
    view = RefundView(ended, await subject_store.get(tx, key))
    await outbox_store.insert(tx, ended.business_id, event.refund_ended(view), now=now)
