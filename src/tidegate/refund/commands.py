"""Starting and reading refunds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core import ids
from tidegate.core.errors import Conflict, NotFound, RefundNeedsApproval
from tidegate.core.money import Money
from tidegate.infra.db import Database, Tx
from tidegate.ledger import postings
from tidegate.merchant.model import ApiKey
from tidegate.refund import model, store, subject_store
from tidegate.refund.model import RefundView
from tidegate.refund.request import RefundRequest
from tidegate.refund.subject_store import SubjectKey

NOTHING_TO_REFUND = "no payment or collection has this reference"
NO_REFUND = "no refund has this reference"


# Raises when the amount is more than the caller may refund.
RefuseAbove = Callable[[Money], None]


def any_amount(_: Money) -> None:
    """No limit."""


def limit_of(key: ApiKey) -> RefuseAbove:
    def refuse(amount: Money) -> None:
        if not key.may_refund(amount):
            most = Money((key.refund_max or {}).get(amount.currency, 0), amount.currency)
            raise RefundNeedsApproval(
                f"this key may refund at most {most} at once; a person of the business must approve {amount}"
            )

    return refuse


async def begin(
    tx: Tx, business_id: str, request: RefundRequest, *, by: Actor, now: datetime, refuse: RefuseAbove = any_amount
) -> RefundView:
    """The wallet is debited at once, in the same transaction; the rail is called afterwards."""
    key = await subject_store.find_key(tx, business_id, request.reference)
    if key is None:
        if ids.looks_like_refund_reference(request.reference):
            raise Conflict("a refund cannot be refunded")
        raise NotFound(NOTHING_TO_REFUND)
    await subject_store.lock(tx, key)
    subject = await subject_store.get(tx, key)
    amount = model.amount_of(subject, request.amount_in(subject.received.currency))
    refuse(amount)
    refund, legs = model.begin(subject, amount, reason=request.reason, note=request.note, now=now)
    journal = postings.refund_started(cause=refund.reference, refunded=amount, fee=refund.fee_returned, event_at=now)
    made = await store.insert(tx, refund, legs, journal)
    await audit.insert(
        tx, business_id, by, action="refund.started", subject=refund.reference,
        details={"of": subject.cause, "amount": str(amount)}, now=now,
    )  # fmt: skip
    return RefundView(made, subject)


async def get(db: Database, business_id: str, reference: str) -> RefundView:
    async with db.connection() as tx:
        refund = await store.find(tx, business_id, reference)
        if refund is None:
            raise NotFound(NO_REFUND)
        subject = await subject_store.get(tx, SubjectKey(business_id, refund.payment_id, refund.collection_id))
    return RefundView(refund, subject)
