"""Lists of payments as JSON and CSV: the query, the page, the columns of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Self

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core.errors import Problem
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import Currency, major_of
from tidegate.core.public_id import PublicIds
from tidegate.infra.http.csv_text import Cell
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.paging import PER_PAGE, PerPage
from tidegate.infra.http.query import Moment, period_problems
from tidegate.merchant.field import EmailAddress
from tidegate.payment.list_store import PaymentFilter
from tidegate.payment.method_field import ChosenMethod
from tidegate.payment.model import PaymentStatus
from tidegate.payment.row import PaymentRow
from tidegate.payment.variance import Variance
from tidegate.payment.wire import CheckoutCurrency, PaymentRecord

_AMOUNT = re.compile(r"\d{1,12}(?:\.\d{1,2})?", re.ASCII)
ReferencePrefix = Annotated[str, Meta(pattern=r"^[A-Za-z0-9\-_.=:]{1,100}$")]


class AmountBound(Decimal):
    """In a query: a number in major units."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        text = str(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value
        if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
            raise ValueError("must be a number such as 100 or 100.50, with at most 12 digits and 2 decimals")
        return cls(text)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^[0-9]{1,12}(\.[0-9]{1,2})?$"}


class ListPayments(msgspec.Struct, kw_only=True, rename="camel"):
    """The query of a list of payments. Filters combine with AND."""

    status: Annotated[PaymentStatus, Meta(description="Only payments with this status.")] | UnsetType = UNSET
    variance_type: (
        Annotated[Variance, Meta(description="Only payments that were paid with too little or too much.")] | UnsetType
    ) = UNSET
    payment_method: (
        Annotated[ChosenMethod, Meta(description="Only payments that were paid by this method, in any letter case.")]
        | UnsetType
    ) = UNSET
    currency: Annotated[CheckoutCurrency, Meta(description="Only payments in this currency.")] | UnsetType = UNSET
    email: (
        Annotated[EmailAddress, Meta(description="The customer's e-mail address, in any letter case.")] | UnsetType
    ) = UNSET
    reference_prefix: (
        Annotated[ReferencePrefix, Meta(description="How `merchantReference` begins, such as `ORDER-10`.")] | UnsetType
    ) = UNSET
    amount_min: (
        Annotated[AmountBound, Meta(description="At least this `amountExpected`; needs `currency`.")] | UnsetType
    ) = UNSET
    amount_max: (
        Annotated[AmountBound, Meta(description="At most this `amountExpected`; needs `currency`.")] | UnsetType
    ) = UNSET
    payment_link_id: (
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,40}$", description="Only payments made by this payment link.")]
        | UnsetType
    ) = UNSET
    date_from: Annotated[Moment, Meta(description="Created from this day or time on.")] | UnsetType = UNSET
    date_to: Annotated[Moment, Meta(description="Created before this time; a day is included.")] | UnsetType = UNSET
    per_page: Annotated[PerPage, Meta(description="Payments on a page.")] = PerPage.when_absent(PER_PAGE)
    cursor: Annotated[Cursor, Meta(description="The `nextCursor` of the page before.")] | UnsetType = UNSET


class PaymentRecordPage(msgspec.Struct, kw_only=True, rename="camel"):
    results: Annotated[list[PaymentRecord], Meta(description="The newest first.")]
    next_cursor: Annotated[str | None, Meta(description="Cursor of the next page; null on the last.")]


def problems_between(fields: Mapping[str, Any], *, names: MethodNames) -> Iterator[Problem]:
    yield from period_problems(fields)
    method = fields.get("payment_method")
    if isinstance(method, str) and names.find(method) is None:
        yield Problem("paymentMethod", f"must be one of {', '.join(names.in_requests(Method))}")
    least, most = fields.get("amount_min"), fields.get("amount_max")
    currency = fields.get("currency")
    for name, bound in (("amountMin", least), ("amountMax", most)):
        if isinstance(bound, AmountBound):
            yield from _bound_problems(name, bound, currency)
    if isinstance(least, AmountBound) and isinstance(most, AmountBound) and least > most:
        yield Problem("amountMax", "must not be less than amountMin")


def _bound_problems(name: str, bound: AmountBound, currency: Any) -> Iterator[Problem]:
    if not isinstance(currency, str):
        yield Problem(name, "needs currency: amounts of two currencies cannot be compared")
    elif bound * Currency(currency).minor_per_major % 1:
        yield Problem(name, f"has more decimals than {currency} has")


def filter_from(request: ListPayments, names: MethodNames) -> PaymentFilter:
    return PaymentFilter(
        status=_given(request.status),
        variance=_given(request.variance_type),
        method=names.find(request.payment_method) if isinstance(request.payment_method, str) else None,
        currency=None if request.currency is UNSET else Currency(request.currency),
        email=str(request.email) if isinstance(request.email, str) else None,
        reference_prefix=_given(request.reference_prefix),
        least_major=_given(request.amount_min),
        most_major=_given(request.amount_max),
        link_id=_given(request.payment_link_id),
        start=request.date_from.start if isinstance(request.date_from, Moment) else None,
        end=request.date_to.end if isinstance(request.date_to, Moment) else None,
    )


def _given(value: Any) -> Any:
    return None if value is UNSET else value


CSV_COLUMNS = (
    "id", "reference", "merchantReference", "status", "varianceType", "createdAt", "paidAt", "currency", "amount",
    "amountExpected", "amountReceived", "fee", "vat", "amountSettled", "amountRefunded", "amountReversed",
    "paymentMethod", "customerName", "customerEmail", "customerPhoneNumber", "paymentLinkId", "note",
)  # fmt: skip


def csv_row(row: PaymentRow, names: MethodNames, public_ids: PublicIds) -> tuple[Cell, ...]:
    def major(minor: int | None) -> Decimal | None:
        return None if minor is None else major_of(minor, row.currency)

    return (
        public_ids.payment.hide(row.id), row.pay_code, row.reference, row.status.value, row.variance, row.created_at,
        row.paid_at, row.currency.value, major(row.asked_minor), major(row.expected_minor),
        major(row.received_minor if row.paid_at else row.held_minor), major(row.fee_minor), major(row.vat_minor),
        major(row.settled_minor), major(row.refunded_minor), major(row.reversed_minor),
        names.in_record(row.method) if row.method else None, row.customer_name, row.customer_email,
        row.customer_phone, row.payment_link_id, _note_of(row),
    )  # fmt: skip


class _PayersWords(msgspec.Struct):
    note: str | None = None


# Nothing is left of what was erased.
_written_on_page = msgspec.json.Decoder(_PayersWords | None).decode


def _note_of(row: PaymentRow) -> str | None:
    """What the payer wrote on the page of a payment link; other payments have the merchant's own metadata."""
    if row.payment_link_id is None:
        return None
    written = _written_on_page(row.metadata)
    return written.note if written else None
