"""Credits that a bank takes back: recorded when told, applied once their credit is known."""

from __future__ import annotations

from datetime import datetime

import msgspec
import structlog

from tidegate.collection import event, reversal_store, store
from tidegate.collection.model import Change, Collection, CollectionStatus, Credited
from tidegate.collection.reason import InflowReason
from tidegate.collection.reversal_store import Reversal
from tidegate.core.errors import InsufficientBalance
from tidegate.infra.db import StaleChange, Tx
from tidegate.ledger import recipes
from tidegate.ledger.model import Conversion, Journal
from tidegate.rail.interface import CreditReversed
from tidegate.rail.till import Till
from tidegate.rail.told import ToldBefore, ToldBy
from tidegate.webhook.model import NEWS

BATCH = 50
OWED = "the wallet no longer holds it: the merchant owes it"

log = structlog.get_logger("inflow")


async def record(till: Till, news: CreditReversed, *, told_by: ToldBy, now: datetime) -> None:
    """Raises ToldBefore. One that comes before its credit waits for it."""
    async with till.db.connection() as tx:
        if not await reversal_store.insert(tx, news, told_by, now=now):
            raise ToldBefore
        due = await reversal_store.find_due(tx, told_by.rail, news)
    if due is not None:
        await _apply(till, due, now)


async def apply_due(till: Till, now: datetime) -> int:
    """A round of the worker: those whose credit has come meanwhile."""
    async with till.db.connection() as tx:
        due = await reversal_store.list_due(tx, limit=BATCH)
    return sum([await _apply(till, reversal, now) for reversal in due])


async def _apply(till: Till, reversal: Reversal, now: datetime) -> bool:
    for is_owed in (False, True):
        try:
            async with till.db.transaction() as tx:
                is_done = await _apply_in(tx, reversal, now, is_owed=is_owed)
            till.db.ring(NEWS)
            return is_done
        except InsufficientBalance:
            log.error("a merchant owes a credit that its bank took back", reference=reversal.collection.reference)
        except StaleChange:
            return False  # The next round sees how it stands by then.
    return False


async def _apply_in(tx: Tx, reversal: Reversal, now: datetime, *, is_owed: bool) -> bool:
    """False when another worker is at it."""
    if not await reversal_store.mark_applied(tx, reversal, now=now):
        return False
    collection = reversal.collection
    if collection.amount != reversal.amount or collection.status is CollectionStatus.REVERSED:
        # It was sent back already, or another amount was credited: somebody must ask the bank.
        log.error("a reversal does not fit its credit", reference=collection.reference, reversal=reversal.id)
        await reversal_store.quarantine(tx, reversal, why=_contradiction(reversal), now=now)
        return True
    await store.change(tx, _undone(collection, now, is_owed=is_owed))
    return True


def _contradiction(reversal: Reversal) -> str:
    collection = reversal.collection
    return (
        f"{reversal.amount} of {collection.reference} was taken back, which is {collection.status} {collection.amount}"
    )


def _undone(collection: Collection, now: datetime, *, is_owed: bool) -> Change:
    credited = collection.credited
    after = msgspec.structs.replace(
        collection,
        status=CollectionStatus.REVERSED if credited else CollectionStatus.FAILED,
        reason=InflowReason.TAKEN_BACK,
        note=OWED if is_owed else collection.note,
        updated_at=now,
    )
    if credited is None or is_owed:
        journal = recipes.held_reversed(cause=collection.cause, held=collection.amount, event_at=now)
    else:
        journal = _reversing(collection, credited, now)
    # What was never credited was never told of either.
    told = event.collection_returned(after) if credited else None
    return Change(collection=after, journal=journal, event=told, now=now)


def _reversing(collection: Collection, credited: Credited, now: datetime) -> Journal:
    conversion = None
    if credited.exchanged is not None:
        spread = credited.exchanged.spread
        conversion = Conversion(
            received=collection.amount, worth=credited.gross + spread, converted=credited.gross, spread=spread
        )
    return recipes.credit_reversed(
        cause=collection.cause, received=collection.amount, fee=credited.fee, conversion=conversion, event_at=now
    )
