"""The end of a return, as its rail notifies or answers it."""

from __future__ import annotations

from datetime import datetime

import structlog

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.collection import return_confirmation
from tidegate.collection import store as collection_store
from tidegate.collection.return_confirmation import Posting
from tidegate.core.clock import Clock
from tidegate.core.errors import NotFound
from tidegate.infra import leased_work
from tidegate.infra.db import Tx
from tidegate.infra.leased_work import RoundResult
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.intake import store as intake_store
from tidegate.ledger import postings
from tidegate.money_return import commands as money_return
from tidegate.money_return import store
from tidegate.money_return.model import KnownReturn
from tidegate.rail import notification_store
from tidegate.rail.bankfiles import store as bank_store
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.interface import ReturnMoney
from tidegate.rail.state import Failed, Succeeded
from tidegate.webhook.model import EVENT_CHANNEL

log = structlog.get_logger("returns")


async def send(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: returns that are due are requested from their rails."""
    return await money_return.send(deps, clock, record_end=_record_end)


async def _record_end(
    deps: PaymentDeps, rail: str, money: ReturnMoney, state: Succeeded | Failed, now: datetime
) -> None:
    if isinstance(state, Succeeded):
        await confirm(deps, rail, money.business_id, money.reference, sent_as=state.transaction_id, now=now)
    else:
        await fail(deps, rail, money.business_id, money.reference, why=state.reason, now=now)


async def confirm(
    deps: PaymentDeps, rail: str, business_id: str, reference: str, *, sent_as: str, now: datetime
) -> bool:
    """Books it, once. False when the rail has no such return."""
    async with deps.db.connection() as tx:
        known = await store.find(tx, business_id, reference, rail=rail)
        collection = None
        if known is not None and known.collection_id is not None:
            collection = await collection_store.find_by_id(tx, business_id, known.collection_id)
    if known is None:
        return False
    if collection is not None:
        await return_confirmation.confirm(deps, collection, sent_as=sent_as, now=now)
        return True
    journal = postings.return_done(cause=reference, returned=known.amount, event_at=now)
    async with deps.db.connection() as tx:
        await store.confirm(tx, business_id, reference, journal, sent_as=sent_as, now=now)
    return True


async def end_by_hand(
    deps: PaymentDeps, business_id: str, reference: str, *, note: str, by: Actor, now: datetime,
    sent_as: str | None = None, also: InSameTransaction = nothing_else,
) -> str:  # fmt: skip
    """The operator has paid it back by another way, or has found it at the rail as `sent_as`, and says how: booked as
    if the rail had confirmed it."""
    async with deps.db.transaction() as tx:
        await also(tx)
        async with leased_work.instead_of_a_worker(tx, money_return.SEND, business_id, reference):
            known = await _end(tx, business_id, reference, sent_as=sent_as, now=now)
        await intake_store.close_quarantined(tx, known.rail, notification_store.return_in_doubt(reference))
        await audit.insert(
            tx, business_id, by, action="return.ended", subject=reference,
            details={"amount": str(known.amount), "note": note}, now=now,
        )  # fmt: skip
    deps.db.notify(EVENT_CHANNEL)
    return reference


async def _end(tx: Tx, business_id: str, reference: str, *, sent_as: str | None, now: datetime) -> KnownReturn:
    await bank_store.close_payout(tx, business_id, reference, why="ended by hand")
    known = await store.lock(tx, business_id, reference)
    if known is None:
        raise NotFound("there is no such return, or it has ended; `tidegate return list` shows the open ones")
    sent_as = sent_as or f"by hand/{reference}"
    await _confirm_in(tx, known, sent_as=sent_as, now=now, post=postings.return_done)
    return known


async def _set_off(tx: Tx, known: KnownReturn, now: datetime) -> bool:
    """The bank took the credit back while the return was under way, and has not made the return: the payer has the
    money once, and nothing need be done. False where it took nothing back.
    """
    transaction_id = await store.find_reversal(tx, known.business_id, known.reference)
    if transaction_id is None:
        return False
    await _confirm_in(tx, known, sent_as=f"reversal/{transaction_id}", now=now, post=postings.return_offset)
    for reversal_id in await store.list_reversal_ids(tx, known.rail, transaction_id):
        await intake_store.close_quarantined(tx, known.rail, notification_store.reversal_in_doubt(reversal_id))
    return True


async def _confirm_in(tx: Tx, known: KnownReturn, *, sent_as: str, now: datetime, post: Posting) -> None:
    if known.collection_id is not None:
        collection = await collection_store.find_by_id(tx, known.business_id, known.collection_id)
        assert collection is not None
        await return_confirmation.confirm_in(tx, collection, sent_as=sent_as, now=now, post=post)
    else:
        journal = post(cause=known.reference, returned=known.amount, event_at=now)
        await store.confirm(tx, known.business_id, known.reference, journal, sent_as=sent_as, now=now)


async def fail(deps: PaymentDeps, rail: str, business_id: str, reference: str, *, why: str, now: datetime) -> bool:
    """False when the rail has no such return, or it has left already: then the money has come back."""
    async with deps.db.transaction() as tx:
        known = await store.find(tx, business_id, reference, rail=rail)
        is_failed = known is not None and await store.fail(tx, business_id, reference, why=why)
        is_set_off = known is not None and is_failed and await _set_off(tx, known, now)
    if is_set_off:
        deps.db.notify(EVENT_CHANNEL)
    elif is_failed:
        log.error("a rail did not return money; an operator must", rail=rail, reference=reference, why=why)
    return is_failed
