"""A refund whose rail gives no answer, or an impossible one: an operator who has asked there says how it ended."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import NotFound
from tidegate.infra import leased_work
from tidegate.infra.db import Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.intake import store as intake_store
from tidegate.rail import notification_store
from tidegate.rail.action import FailureReason
from tidegate.rail.bankfiles import store as bank_store
from tidegate.rail.deps import PaymentDeps
from tidegate.refund import send, store
from tidegate.refund.model import Leg, RefundStatus
from tidegate.webhook.model import EVENT_CHANNEL


async def end_by_hand(
    deps: PaymentDeps, business_id: str, reference: str, *, is_paid: bool, note: str, by: Actor, now: datetime,
    sent_as: str | None = None, also: InSameTransaction = nothing_else,
) -> Leg:  # fmt: skip
    """Of the part `reference`: booked as if the rail had said so, under the identifier `sent_as`. Whatever its bank
    file would still pay is withdrawn, and what the rail was in contradiction about is closed."""
    async with deps.db.transaction() as tx:
        await also(tx)
        async with leased_work.instead_of_a_worker(tx, send.POLL, business_id, reference):
            ended = await _end(tx, business_id, reference, is_paid=is_paid, sent_as=sent_as, now=now)
        await audit.insert(
            tx, business_id, by, action="refund.ended", subject=reference,
            details={"amount": str(ended.amount), "outcome": ended.status.value, "note": note}, now=now,
        )  # fmt: skip
    deps.db.notify(EVENT_CHANNEL)
    return ended


async def _end(tx: Tx, business_id: str, reference: str, *, is_paid: bool, sent_as: str | None, now: datetime) -> Leg:
    await bank_store.close_payout(tx, business_id, reference, why="ended by hand")
    found = await store.find_open_leg(tx, business_id, reference)
    if found is None:
        raise NotFound("there is no such part of a refund, or it has ended; `tidegate refund show` tells")
    refund_id, leg = found
    ended = _ended(leg, is_paid=is_paid)
    sent_as = (sent_as or f"by hand/{reference}") if is_paid else None
    if not await send.end_leg(tx, business_id, refund_id, ended, sent_as=sent_as, now=now):
        raise NotFound("this part of the refund has ended meanwhile; `tidegate refund show` tells how")
    await intake_store.close_quarantined(tx, leg.rail, notification_store.refund_in_doubt(reference))
    return ended


def _ended(leg: Leg, *, is_paid: bool) -> Leg:
    if is_paid:
        return msgspec.structs.replace(leg, status=RefundStatus.SUCCESSFUL)
    return msgspec.structs.replace(leg, status=RefundStatus.FAILED, failure=FailureReason.DECLINED)
