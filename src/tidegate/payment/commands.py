"""Commands on checkout payments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import NotFound, Unavailable
from tidegate.infra.db import Database
from tidegate.merchant import field
from tidegate.merchant.model import Business
from tidegate.payment import store, transition
from tidegate.payment.model import Draft, Payment, PaymentOrder, draft
from tidegate.payment.row import PaymentRow
from tidegate.payment.settle import TRIES, changing_too_fast
from tidegate.payment.store import Inserted, PaymentKey

Insert = Callable[[Draft], Awaitable[Inserted | None]]
Find = Callable[[PaymentKey], Awaitable[PaymentRow | None]]


class ReferenceTaken(Exception):
    """`existing` is the pay code of the payment with this reference, set when its order is the same."""

    def __init__(self, reference: str, existing: str | None) -> None:
        super().__init__(reference)
        self.existing = existing


async def create(
    insert: Insert, business: Business, order: PaymentOrder, *, now: datetime, payment_link_id: str | None = None
) -> Draft:
    """The unique constraint decides which request was first; there is no lookup before the insert."""
    new = draft(order, business, now=now, payment_link_id=payment_link_id)
    # The second insert is needed only when a concurrent one committed after our statement began.
    inserted = await insert(new) or await insert(new)
    if inserted is None:
        raise Unavailable("another request is creating a payment with this reference; retry after 1 s", retry_after_s=1)
    if not inserted.is_new:
        is_same_order = inserted.fingerprint == new.fingerprint
        raise ReferenceTaken(new.reference, inserted.pay_code if is_same_order else None)
    return new


async def verify(find: Find, business: Business, reference: str) -> PaymentRow:
    row = await find(PaymentKey(business.id, reference)) if field.is_reference(reference) else None
    if row is None:
        raise _not_found()
    return row


async def set_disabled(
    db: Database, business: Business, reference: str, *, is_disabled: bool, now: datetime, by: Actor | None = None
) -> Payment:
    """Idempotent. Decided again when the payment changes concurrently.

    `by` is a person; what programs do is in the request log.
    """
    for _ in range(TRIES):
        async with db.transaction() as tx:
            before = await store.find(tx, PaymentKey(business.id, reference)) if field.is_reference(reference) else None
            if before is None:
                raise _not_found()
            after = transition.disable(before, is_disabled=is_disabled)
            if after == before:
                return before
            written = await store.set_disabled(tx, after, now=now)
            if written is not None and by is not None:
                action = "payment.disabled" if is_disabled else "payment.enabled"
                await audit.insert(tx, business.id, by, action=action, subject=before.pay_code, details={}, now=now)
        if written is not None:
            return written
    raise changing_too_fast()


def _not_found() -> NotFound:
    return NotFound("no payment of this business has that reference or pay code")
