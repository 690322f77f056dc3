"""pawaPay's callbacks: who may send them, and what they say."""

from __future__ import annotations

import hashlib

import msgspec
import structlog

from tidegate.infra.db import Database, Tx
from tidegate.rail.event import (
    NUL,
    AttemptOutcome,
    Notification,
    PollRequested,
    PollSubject,
    RailEvent,
    RawNotification,
)
from tidegate.rail.interface import NotificationRefused, NotificationUnreadable
from tidegate.rail.pawapay import state, store
from tidegate.rail.pawapay.wire import PawapayTransaction, PawapayUnreadable
from tidegate.rail.state import Failed, Succeeded

BODY_BYTES_MAX = 64 * 1024
ID_CHARACTERS_MAX = 36

log = structlog.get_logger("pawapay")


async def events_of(db: Database, raw: RawNotification) -> list[Notification]:
    """Of a callback whose signature is right. Raises NotificationUnreadable."""
    digest = hashlib.sha256(raw.body).hexdigest()
    try:
        transaction = _read(raw.body)
        event = await _event(db, transaction)
    except PawapayUnreadable as error:
        raise NotificationUnreadable(f"unreadable:{digest}", str(error)) from None
    if event is None:
        return []
    # Two deliveries may differ in their bytes; the money is recognised by the deposit.
    return [
        Notification(
            id=f"{transaction.deposit_id or transaction.refund_id}:{transaction.status[:30]}:{digest}", event=event
        )
    ]


async def hints_of(db: Database, raw: RawNotification) -> list[Notification]:
    """Of a callback without a valid signature: it says only that something of ours may have changed."""
    try:
        transaction = _read(raw.body)
    except PawapayUnreadable as error:
        raise NotificationRefused(f"it is not signed, and not understood: {error}") from None
    async with db.connection() as tx:
        hint = await _about(tx, transaction)
    if hint is None:
        raise NotificationRefused("it is not signed, and about nothing of ours")
    digest = hashlib.sha256(raw.body).hexdigest()
    return [Notification(id=f"hint:{digest}", event=hint)]


def _read(body: bytes) -> PawapayTransaction:
    try:
        transaction = msgspec.json.decode(body, type=PawapayTransaction)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise PawapayUnreadable(f"the body is not a callback: {error}") from None
    if any(len(one or "") > ID_CHARACTERS_MAX for one in (transaction.deposit_id, transaction.refund_id)):
        raise PawapayUnreadable("an id is too long")
    if NUL in body:
        raise PawapayUnreadable("a text in it has a NUL character")
    return transaction


async def _event(db: Database, transaction: PawapayTransaction) -> RailEvent | None:
    if transaction.refund_id or not transaction.deposit_id:
        async with db.connection() as tx:
            return await _about(tx, transaction)
    if transaction.status not in (state.COMPLETED, state.FAILED):
        return None
    outcome = state.of_deposit(transaction)
    assert isinstance(outcome, Succeeded | Failed)
    async with db.connection() as tx:
        deposit = await store.find_deposit_by_id(tx, transaction.deposit_id)
    if deposit is not None:
        return AttemptOutcome(business_id=deposit.business_id, reference=deposit.reference, state=outcome)
    if isinstance(outcome, Succeeded):
        # Money that we did not ask for, which must not be lost: it becomes suspense.
        return AttemptOutcome(business_id="", reference=transaction.deposit_id, state=outcome)
    log.info("a callback of pawaPay is not ours", deposit_id=transaction.deposit_id)
    return None


async def _about(tx: Tx, transaction: PawapayTransaction) -> PollRequested | None:
    if transaction.refund_id:
        payout = await store.find_payout_by_id(tx, transaction.refund_id)
        return payout and PollRequested(
            subject=PollSubject(payout.kind), business_id=payout.business_id, reference=payout.reference
        )
    deposit = await store.find_deposit_by_id(tx, transaction.deposit_id) if transaction.deposit_id else None
    return deposit and PollRequested(
        subject=PollSubject.ATTEMPT, business_id=deposit.business_id, reference=deposit.reference
    )
