"""Refunds as JSON, in and out: the only module with the wire's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core.errors import Problem
from tidegate.core.money import Currency
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.infra.http.paging import PER_PAGE, PerPage
from tidegate.infra.http.query import Moment, period_problems
from tidegate.infra.http.strict_json import shown
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.field import Remark
from tidegate.refund.field import RefundAmount
from tidegate.refund.list_store import RefundFilter
from tidegate.refund.model import RefundRequest, RefundStatus, RefundView
from tidegate.refund.subject_store import SubjectKey
from tidegate.webhook.model import MEANING_OF_EVENT

_EVENTS = {name: words for name, words in MEANING_OF_EVENT.items() if name.startswith("refund.")}
OwnBusinessId = Annotated[str, Meta(pattern="^[0-9a-f]{24}$", description="Your business's id.")]
AnyReference = Annotated[
    str,
    Meta(min_length=1, max_length=100, description="Your reference, a pay code, or the reference of a collection."),
]


class CreateRefund(msgspec.Struct, kw_only=True, rename="camel"):
    trans_reference: AnyReference
    # Absent, never null: a client that has lost its number must not refund everything.
    amount: (
        Annotated[
            RefundAmount,
            Meta(
                description="By default the excess of an overpayment, otherwise all that remains; an unknown field is "
                "then refused, since it may be a mistyped amount."
            ),
        ]
        | UnsetType
    ) = UNSET
    currency: Annotated[Currency | None, Meta(description="If given, it must be the currency received.")] = None
    reason: Annotated[Remark | None, Meta(description="Shown to your customer.")] = None
    note: Annotated[Remark | None, Meta(description="Not shown to your customer.")] = None
    business: Annotated[OwnBusinessId | None, Meta(description="Your business's id, if you name it.")] = None


_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(CreateRefund))


def problems_without_amount(_fields: Mapping[str, Any], *, value: Any) -> Iterator[Problem]:
    """Elsewhere unknown fields are ignored; here a mistyped `amount` would refund everything."""
    if isinstance(value, dict) and "amount" not in value:
        for name in value.keys() - _FIELDS:
            yield Problem(shown(name), "is not a field of a refund; give `amount`, or leave this out to refund all")


def refund_request_from(request: CreateRefund) -> RefundRequest:
    return RefundRequest(
        reference=request.trans_reference,
        amount=None if request.amount is UNSET else request.amount,
        currency=request.currency,
        reason=str(request.reason) if request.reason is not None else None,
        note=str(request.note) if request.note is not None else None,
    )


class ListRefunds(msgspec.Struct, kw_only=True, rename="camel"):
    """Filters of the list of refunds."""

    business: OwnBusinessId
    trans_reference: AnyReference | UnsetType = UNSET
    status: Annotated[RefundStatus, Meta(description="Only refunds with this status.")] | UnsetType = UNSET
    date_from: Annotated[Moment, Meta(description="From this day or time, inclusive.")] | UnsetType = UNSET
    date_to: Annotated[Moment, Meta(description="Before this time; a date includes the whole day.")] | UnsetType = UNSET
    per_page: Annotated[PerPage, Meta(description="Refunds on a page.")] = PerPage.when_absent(PER_PAGE)
    cursor: Annotated[Cursor, Meta(description="The `nextCursor` of the previous page.")] | UnsetType = UNSET


def problems_between(fields: Mapping[str, Any]) -> Iterator[Problem]:
    yield from period_problems(fields)


def filter_from(request: ListRefunds, subject: SubjectKey | None) -> RefundFilter:
    return RefundFilter(
        status=None if request.status is UNSET else request.status,
        subject=subject,
        start=request.date_from.start if isinstance(request.date_from, Moment) else None,
        end=request.date_to.end if isinstance(request.date_to, Moment) else None,
    )


class RefundRecord(msgspec.Struct, kw_only=True, rename="camel"):
    reference: Annotated[str, Meta(description="Our reference of the refund.")]
    collection_reference: Annotated[str, Meta(description="The pay code, or the reference of the collection.")]
    collection_merchant_reference: Annotated[
        str | None, Meta(description="Your reference of what is refunded; null without one.")
    ]
    currency: Annotated[Currency, Meta(description="Currency of the refund.")]
    amount_refunded: Annotated[Decimal, Meta(description="In progress or paid out; 0 when it failed.")]
    amount_requested: Annotated[Decimal, Meta(description="What you asked to refund.")]
    fee_returned: Annotated[Decimal, Meta(description="The part of our fee that is returned; 0 where the fee is kept.")]
    vat_returned: Annotated[Decimal, Meta(description="The part of the VAT that is returned with the fee.")]
    collection_amount_expected: Annotated[Decimal, Meta(description="What the payer was asked for.")]
    collection_amount_received: Annotated[Decimal, Meta(description="What the payer sent.")]
    collection_amount_settled: Annotated[Decimal, Meta(description="What your wallet was credited.")]
    collection_variance_type: Annotated[
        str | None, Meta(description="Whether the payer sent less or more than asked; null when exact.")
    ]
    refund_status: Annotated[RefundStatus, Meta(description="Where the refund stands.")]
    failure_reason: Annotated[str | None, Meta(description="Why it failed; null otherwise.")]
    reason: Annotated[str | None, Meta(description="Your reason, shown to the payer.")]
    note: Annotated[str | None, Meta(description="Your note, not shown to the payer.")]
    initiated_at: Annotated[Timestamp, Meta(description="When the refund was started.")]
    completed_at: Annotated[Timestamp | None, Meta(description="When it ended; null while it is processing.")]


RefundEventName = Literal["refund.successful", "refund.failed"]


class RefundEvent(msgspec.Struct, kw_only=True):
    """Payload of the events of refunds."""

    event: Annotated[RefundEventName, meanings(_EVENTS), Meta(description="Name of the event.")]
    data: Annotated[RefundRecord, Meta(description="The refund.")]


class RefundPage(msgspec.Struct, kw_only=True, rename="camel"):
    results: Annotated[list[RefundRecord], Meta(description="The newest first.")]
    next_cursor: Annotated[str | None, Meta(description="Cursor of the next page; null on the last.")]


def record_of(view: RefundView) -> RefundRecord:
    refund, subject = view.refund, view.subject
    refunded = refund.amount if refund.status is RefundStatus.PROCESSING else refund.refunded
    return RefundRecord(
        reference=refund.reference,
        collection_reference=subject.reference,
        collection_merchant_reference=subject.merchant_reference,
        currency=refund.amount.currency,
        amount_refunded=refunded.major,
        amount_requested=refund.amount.major,
        fee_returned=refund.fee_returned.fee.major,
        vat_returned=refund.fee_returned.vat.major,
        collection_amount_expected=subject.expected.major,
        collection_amount_received=subject.received.major,
        collection_amount_settled=subject.settled.major,
        collection_variance_type=subject.variance,
        refund_status=refund.status,
        failure_reason=refund.failure.value if refund.failure else None,
        reason=refund.reason,
        note=refund.note,
        initiated_at=to_iso(refund.initiated_at),
        completed_at=to_iso(refund.completed_at) if refund.completed_at else None,
    )
