"""What a rail tells of a dispute, and the money that is held for it.

While the bank decides, the merchant's share is moved out of the wallet, as far as the wallet covers it. A won dispute
moves it back. That of a lost one stays until the bank's reversal is booked, which takes it: see `refund/reversal.py`.
"""

from __future__ import annotations

from datetime import datetime

import structlog

from tidegate.core.clock import Clock
from tidegate.core.money import Money
from tidegate.dispute import store
from tidegate.dispute.store import Dispute, DisputedMoney, DisputedPayment
from tidegate.infra.db import Tx
from tidegate.ledger import postings
from tidegate.ledger import store as ledger
from tidegate.payment import attempt_store, event
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import DisputeChanged, DisputeStatus
from tidegate.webhook import outbox_store
from tidegate.webhook.model import EVENT_CHANNEL, Event

log = structlog.get_logger("dispute")


class EndedOtherwise(Exception):
    """The dispute has ended, and now the rail tells of another end. The text is for an operator."""


async def record(deps: PaymentDeps, rail: str, changed: DisputeChanged, clock: Clock) -> bool:
    """False when the disputed money is not in our books. Raises EndedOtherwise."""
    log.error("a payer disputes a payment", rail=rail, transaction_id=changed.transaction_id, status=changed.status)
    async with deps.db.transaction() as tx:
        money = await store.find_money(tx, rail, changed.transaction_id)
        if money is None:
            return False
        await change(deps, tx, rail, money, changed, now=clock.now_of(money.business_id))
    deps.db.notify(EVENT_CHANNEL)
    return True


async def change(
    deps: PaymentDeps, tx: Tx, rail: str, money: DisputedMoney, changed: DisputeChanged, *, now: datetime
) -> bool:
    """True when it has begun or ended by this."""
    payment = await store.lock_payment(tx, money.business_id, money.payment_id) if money.payment_id else None
    before = await store.lock(tx, money.business_id, rail, changed.dispute_id)
    if before is None:
        is_changed = await _begin(tx, rail, money, changed, payment=payment, now=now)
    else:
        is_changed = await _go_on(tx, before, changed, now)
    if is_changed and payment is not None and money.payment_id is not None:
        await store.show_on_payment(tx, money.business_id, money.payment_id, changed.status, now=now)
        notified = await _event(deps, tx, money.business_id, payment.pay_code, changed, rail=rail, now=now)
        await outbox_store.insert(tx, money.business_id, notified, now=now)
    return is_changed


async def _begin(
    tx: Tx, rail: str, money: DisputedMoney, changed: DisputeChanged, *, payment: DisputedPayment | None, now: datetime
) -> bool:
    held = Money.zero(changed.amount.currency)
    if changed.status is DisputeStatus.OPEN and payment is not None:
        balance = await ledger.lock_balance(tx, money.business_id, changed.amount.currency)
        held = min(share_of(changed.amount, payment), balance)
    if not await store.insert(tx, money, rail, changed, held=held, now=now):
        return False
    if held.minor > 0:
        journal = postings.dispute_held(cause=_cause(rail, changed.dispute_id), held=held, event_at=now)
        await ledger.post(tx, money.business_id, journal, now)
    return True


def share_of(disputed: Money, payment: DisputedPayment) -> Money:
    """The merchant's part of the disputed amount: our fee is returned when the bank takes the money back."""
    if payment.settled is None or payment.received.minor == 0 or disputed.currency is not payment.received.currency:
        return Money.zero(disputed.currency)
    minor = payment.settled.minor * min(disputed.minor, payment.received.minor) // payment.received.minor
    return Money(minor, disputed.currency)


async def _go_on(tx: Tx, before: Dispute, changed: DisputeChanged, now: datetime) -> bool:
    """True when it has ended. It ends once; what comes late about its time changes nothing."""
    if before.status is not DisputeStatus.OPEN:
        if changed.status not in (DisputeStatus.OPEN, before.status):
            raise EndedOtherwise(f"dispute {before.id} had ended as {before.status}, and is {changed.status} now")
        return False
    is_released = changed.status is DisputeStatus.WON and before.held.minor > 0
    held = Money.zero(before.held.currency) if is_released else before.held
    await store.update(tx, before, changed, held=held, now=now)
    if is_released:
        await _post_release(tx, before, now)
    return changed.status is not DisputeStatus.OPEN


async def release(tx: Tx, business_id: str, rail: str, transaction_id: str, *, now: datetime) -> None:
    """Before the bank's reversal of this money is booked, in its transaction: the wallet is debited by that instead."""
    for dispute in await store.lock_holding(tx, business_id, rail, transaction_id):
        await store.hold_nothing(tx, dispute, now=now)
        await _post_release(tx, dispute, now)


async def follow(
    tx: Tx, business_id: str, rail: str, transaction_id: str, *, owner: DisputedMoney, now: datetime
) -> None:
    """Money in suspense was assigned to a payment. Its ended disputes are shown there; no event is sent for them."""
    known = await store.list_about(tx, business_id, rail, transaction_id)
    for each in known:
        await store.give_to(tx, owner, each)
    if known and owner.payment_id is not None:
        status = DisputeStatus(known[-1]["status"])
        await store.show_on_payment(tx, owner.business_id, owner.payment_id, status, now=now)


async def _post_release(tx: Tx, dispute: Dispute, now: datetime) -> None:
    journal = postings.dispute_released(cause=_cause(dispute.rail, dispute.id), held=dispute.held, event_at=now)
    await ledger.post(tx, dispute.business_id, journal, now)


def _cause(rail: str, dispute_id: str) -> str:
    return f"{rail}/{dispute_id}"


async def _event(
    deps: PaymentDeps, tx: Tx, business_id: str, pay_code: str, changed: DisputeChanged, *, rail: str, now: datetime
) -> Event:  # fmt: skip
    snapshot = await attempt_store.find_by_pay_code(tx, business_id, pay_code)
    assert snapshot is not None
    return event.charge_disputed(snapshot, changed, rail=rail, names=deps.names, public_ids=deps.public_ids, now=now)
