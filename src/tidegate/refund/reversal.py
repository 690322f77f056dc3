"""Reversals of checkout transfers by their bank: the wallet is debited, or owes the amount."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import structlog

from tidegate.collection import reversal_store as receipt_reversals
from tidegate.collection.reversal_store import ReceiptReversal
from tidegate.core.clock import Clock
from tidegate.core.fee import Fee, fee_within
from tidegate.core.money import Money
from tidegate.dispute import commands as dispute
from tidegate.dispute import store as dispute_store
from tidegate.infra import leased_work
from tidegate.infra.db import Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import RoundResult, WorkKind
from tidegate.ledger import postings
from tidegate.ledger import store as ledger
from tidegate.payment import attempt_store, event
from tidegate.rail import notification_store
from tidegate.rail.deps import PaymentDeps
from tidegate.refund import reversal_store, subject_store
from tidegate.refund.model import share
from tidegate.refund.reversal_store import Reversible
from tidegate.refund.subject_store import SubjectKey
from tidegate.webhook import outbox_store
from tidegate.webhook.model import EVENT_CHANNEL

APPLY = WorkKind(
    receipt_reversals.APPLY_TO_CHECKOUTS, partial(receipt_reversals.list_of_receipts, is_in_suspense=False)
)
COLLECT = WorkKind(reversal_store.COLLECT, reversal_store.list_owing)

log = structlog.get_logger("reversal")


async def apply_due(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker."""
    return await leased_work.run_round(deps.db, APPLY, partial(_apply, deps), clock)


async def _apply(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    """False when it was applied concurrently."""
    async with deps.db.transaction() as tx:
        one = await receipt_reversals.find_of_receipt(tx, lease.id, is_in_suspense=False)
        if one is None or not await receipt_reversals.mark_applied(tx, one, now=now):
            return False
        assert one.payment_id is not None  # Only money in suspense has none.
        await subject_store.lock(tx, SubjectKey(one.business_id, one.payment_id, None))
        found = await reversal_store.get(tx, one)
        if one.amount != one.received and not await _is_part_of_dispute(tx, one):
            await _alert(tx, one, f"of which {one.received} had arrived", now)
            return True
        await dispute.release(tx, one.business_id, one.rail, one.transaction_id, now=now)
        kept = one.amount - found.sent_back
        if kept.minor > 0:
            await _undo(tx, one, found, kept, deps=deps, now=now)
        if found.sent_back.minor > 0:
            # The bank has the money twice: the books show it, and an operator must claim it.
            await _alert(tx, one, f"of which {found.sent_back} had been sent back", now)
            await _post_held(tx, one, found.sent_back, now)
    deps.db.notify(EVENT_CHANNEL)
    return True


async def _is_part_of_dispute(tx: Tx, one: ReceiptReversal) -> bool:
    """A payer may dispute a part; otherwise a bank takes back a whole transfer."""
    is_part = one.amount < one.received
    return is_part and await dispute_store.is_disputed(tx, one.business_id, one.rail, one.transaction_id)


async def _undo(
    tx: Tx, one: ReceiptReversal, found: Reversible, kept: Money, *, deps: PaymentDeps, now: datetime
) -> None:
    if not found.is_paid:
        await reversal_store.release(tx, one, kept, now=now)
        await _post_held(tx, one, kept, now)
        return
    fee = _fee_of(found, kept)
    owed = max(
        kept - fee.total - await ledger.lock_balance(tx, one.business_id, kept.currency), Money.zero(kept.currency)
    )
    if owed.minor:
        log.error("merchant owes the rest of a reversal", pay_code=found.pay_code, owed=str(owed))
    await reversal_store.count(tx, one, kept, owed=owed, now=now)
    journal = postings.credit_reversed(cause=_cause(one), received=kept, fee=fee, owed=owed, event_at=now)
    await ledger.post(tx, one.business_id, journal, now)
    snapshot = await attempt_store.find_by_pay_code(tx, one.business_id, found.pay_code)
    assert snapshot is not None
    total = found.reversed + kept
    taken = event.ReversalEvent(transaction_id=one.transaction_id, amount=kept, total=total, reason=one.reason)
    reversed_event = event.charge_reversed(snapshot, taken, names=deps.names, public_ids=deps.public_ids, now=now)
    await outbox_store.insert(tx, one.business_id, reversed_event, now=now)


def _fee_of(found: Reversible, kept: Money) -> Fee:
    """Our fee is returned in proportion; the last part returns all that is left of it."""
    left = found.fee_left
    if found.reversed + kept != found.received:
        fee, vat = share(found.fee.fee, kept, found.received), share(found.fee.vat, kept, found.received)
        left = Fee(min(fee, left.fee), min(vat, left.vat))
    return fee_within(kept, left)


async def _post_held(tx: Tx, one: ReceiptReversal, held: Money, now: datetime) -> None:
    journal = postings.held_reversed(cause=_cause(one), held=held, event_at=now)
    await ledger.post(tx, one.business_id, journal, now)


def _cause(one: ReceiptReversal) -> str:
    return f"{one.rail}/{one.transaction_id}"


async def _alert(tx: Tx, one: ReceiptReversal, which: str, now: datetime) -> None:
    why = f"{one.amount} of {one.transaction_id} was taken back, {which}"
    log.error("reversal contradicts the recorded credit", why=why)
    await notification_store.quarantine(tx, one.rail, notification_store.reversal_in_doubt(one.id), why=why, now=now)


async def collect_debts(deps: PaymentDeps, clock: Clock) -> RoundResult:
    """One round of the worker: wallets with debts and a balance pay."""
    return await leased_work.run_round(deps.db, COLLECT, partial(_collect, deps), clock)


async def _collect(deps: PaymentDeps, lease: Lease, now: datetime) -> bool:
    async with deps.db.transaction() as tx:
        debt = await reversal_store.find_owing(tx, lease.business_id, int(lease.id))
        if debt is None:
            return False
        await subject_store.lock(tx, SubjectKey(debt.business_id, debt.payment_id, None))
        part = min(debt.owed, await ledger.lock_balance(tx, debt.business_id, debt.owed.currency))
        if part.minor == 0 or not await reversal_store.pay_debt(tx, debt, part, now=now):
            return False
        journal = postings.debt_collected(cause=f"{debt.pay_code}/{debt.version}", collected=part, event_at=now)
        await ledger.post(tx, debt.business_id, journal, now)
    return True
