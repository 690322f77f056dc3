"""Starting and reading refunds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core import ids
from tidegate.core.errors import ChangedElsewhere, Conflict, NotFound, RefundNeedsApproval
from tidegate.core.money import Money
from tidegate.infra.db import Database, Tx
from tidegate.ledger import postings
from tidegate.merchant.model import ApiKey
from tidegate.refund import model, store, subject_store
from tidegate.refund.model import RefundExchange, RefundRate, RefundRequest, RefundView, Subject
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


@dataclass(frozen=True)
class ChosenRate:
    """By the operator, for an inflow that was converted."""

    rate: RefundRate
    # How old the rate of the day may be.
    lasts: timedelta


async def begin(
    tx: Tx, business_id: str, request: RefundRequest, *, by: Actor, now: datetime, refuse: RefuseAbove = any_amount,
    chosen: ChosenRate | None = None, version: int | None = None, proposed_by: Actor | None = None,
) -> RefundView:  # fmt: skip
    """The wallet is debited at once, in the same transaction; the rail is called afterwards. `version` is the one that
    was looked at, where that matters; `proposed_by` the one of the staff whose proposal `by` approved."""
    key = await _key_of(tx, business_id, request.reference)
    await subject_store.lock(tx, key)
    subject = await subject_store.get(tx, key)
    if version not in (None, subject.version):
        raise ChangedElsewhere(f"this {subject.kind} has changed meanwhile; look again and decide anew")
    if chosen is not None:
        subject = await _with_rate(tx, subject, chosen.lasts, now)
    amount = model.amount_of(subject, request.amount_in(subject.received.currency))
    refuse(amount)
    exchange = model.exchange_of(subject, amount, chosen.rate if chosen else None)
    refund, legs = model.begin(subject, amount, reason=request.reason, note=request.note, now=now, exchange=exchange)
    fee = None if exchange else refund.fee_returned
    journal = postings.refund_started(cause=refund.reference, refunded=refund.debited, fee=fee, event_at=now)
    made = await store.insert(tx, refund, legs, journal)
    proposed = {"proposedBy": proposed_by.actor} if proposed_by else {}
    await audit.insert(
        tx, business_id, by, action="refund.started", subject=refund.reference,
        details={"of": subject.cause, "amount": str(amount), **_exchanged(exchange)} | proposed, now=now,
    )  # fmt: skip
    return RefundView(made, subject)


async def look_at(tx: Tx, business_id: str, reference: str, *, rate_lasts: timedelta, now: datetime) -> Subject:
    """What could be refunded, with the rate of the day where it was converted."""
    subject = await subject_store.get(tx, await _key_of(tx, business_id, reference))
    return await _with_rate(tx, subject, rate_lasts, now)


async def find_reference(tx: Tx, business_id: str, reference: str) -> str | None:
    """Our own reference of what could be refunded, by any of its references."""
    key = await subject_store.find_key(tx, business_id, reference)
    return (await subject_store.get(tx, key)).reference if key else None


async def _key_of(tx: Tx, business_id: str, reference: str) -> SubjectKey:
    key = await subject_store.find_key(tx, business_id, reference)
    if key is None:
        if ids.looks_like_refund_reference(reference):
            raise Conflict("a refund cannot be refunded")
        raise NotFound(NOTHING_TO_REFUND)
    return key


async def _with_rate(tx: Tx, subject: Subject, rate_lasts: timedelta, now: datetime) -> Subject:
    if subject.conversion is None:
        return subject
    today = await subject_store.find_rate(
        tx, subject.business_id, subject.received.currency, subject.conversion.worth.currency,
        quoted_after=now - rate_lasts,
    )  # fmt: skip
    return replace(subject, conversion=replace(subject.conversion, today=today))


def _exchanged(exchange: RefundExchange | None) -> dict[str, str]:
    return {} if exchange is None else {"rate": exchange.chosen.value, "debited": str(exchange.debited)}


async def get(db: Database, business_id: str, reference: str) -> RefundView:
    async with db.connection() as tx:
        refund = await store.find(tx, business_id, reference)
        if refund is None:
            raise NotFound(NO_REFUND)
        subject = await subject_store.get(tx, SubjectKey(business_id, refund.payment_id, refund.collection_id))
    return RefundView(refund, subject)
