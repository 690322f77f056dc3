"""A dispute whose rail does not tell how it ended: an operator who has asked there says it."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.collection import reversal_store
from tidegate.core.errors import NotFound
from tidegate.dispute import commands, store
from tidegate.dispute.commands import EndedOtherwise
from tidegate.dispute.store import Dispute, DisputedMoney
from tidegate.infra.db import Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import CreditReversed, DisputeChanged, DisputeStatus
from tidegate.rail.notification import NotificationRef
from tidegate.webhook.model import EVENT_CHANNEL


async def end_by_hand(
    deps: PaymentDeps, business_id: str, subject: str, *, is_won: bool, note: str, by: Actor, now: datetime,
    also: InSameTransaction = nothing_else,
) -> Dispute:  # fmt: skip
    """Of the dispute `rail/id`: booked as if the rail had said so. Won, what is held goes back to the wallet; lost, the
    disputed money is taken from it."""
    rail, _, dispute_id = subject.partition("/")
    status = DisputeStatus.WON if is_won else DisputeStatus.LOST
    async with deps.db.transaction() as tx:
        await also(tx)
        dispute = await store.find(tx, business_id, rail, dispute_id)
        if dispute is None or not await _end(deps, tx, dispute, status, now):
            raise NotFound("there is no such dispute, or it has ended; `tidegate dispute list` shows the open ones")
        await audit.insert(
            tx, business_id, by, action="dispute.ended", subject=subject,
            details={"amount": str(dispute.amount), "outcome": status.value, "note": note}, now=now,
        )  # fmt: skip
    deps.db.notify(EVENT_CHANNEL)
    return dispute


async def _end(deps: PaymentDeps, tx: Tx, dispute: Dispute, status: DisputeStatus, now: datetime) -> bool:
    money = DisputedMoney(business_id=dispute.business_id, payment_id=dispute.payment_id)
    changed = DisputeChanged(
        dispute_id=dispute.id, transaction_id=dispute.transaction_id, amount=dispute.amount, status=status,
        due_at=dispute.due_at, reason=dispute.reason,
    )  # fmt: skip
    try:
        is_ended = await commands.change(deps, tx, dispute.rail, money, changed, now=now)
    except EndedOtherwise:
        return False
    if is_ended and status is DisputeStatus.LOST:
        await _take(tx, dispute, now)
    return is_ended


async def _take(tx: Tx, dispute: Dispute, now: datetime) -> None:
    """Under the identifier of the rail's own reversal, should that still come."""
    reversal = CreditReversed(
        account_number=None, transaction_id=dispute.transaction_id, reversal_id=f"dispute-{dispute.id}",
        amount=dispute.amount, reason=dispute.reason,
    )  # fmt: skip
    ref = NotificationRef(rail=dispute.rail, id=f"dispute-{dispute.id}-ended-by-hand", body=b"")
    number = await reversal_store.find_account_number(tx, dispute.rail, dispute.transaction_id)
    await reversal_store.insert(tx, reversal, ref, account_number=number, now=now)
