"""Payment links as JSON, in and out: the only module with the wire's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core.errors import Problem
from tidegate.core.fee import FeeBearer
from tidegate.core.ids import Mode
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import CHECKOUT_OFFERS, Currency, Money
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.infra.http.paging import PER_PAGE, PerPage
from tidegate.infra.http.query import Moment
from tidegate.infra.http.read import read
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.field import PersonName
from tidegate.merchant.model import Business
from tidegate.payment import wire as payment_wire
from tidegate.payment.method_field import OfferedMethods, PaymentMethod
from tidegate.payment.redirect import RedirectUrl
from tidegate.payment.wire import (
    SUCCESS_MESSAGE_LENGTH_MAX,
    CheckoutCurrency,
    MethodsTaken,
    methods_named,
)
from tidegate.payment_link.model import FieldRule, LinkFault, LinkKind, LinkState, LinkTerms, LinkView

PAYMENTS_MAX = 10_000
NOTE_LABEL_LENGTH_MAX = 60


class NoteLabel(PersonName):
    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        label = super().parse(value)
        if len(label) > NOTE_LABEL_LENGTH_MAX:
            raise ValueError(f"must have at most {NOTE_LABEL_LENGTH_MAX} characters")
        return label

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {**super().json_schema(), "maxLength": NOTE_LABEL_LENGTH_MAX}


class CreateLink(msgspec.Struct, kw_only=True, rename="camel"):
    name: Annotated[PersonName, Meta(description="What is paid for; shown to the customer.")]
    kind: Annotated[LinkKind, Meta(description="How often it is paid.")] = LinkKind.REUSABLE
    currency: Annotated[CheckoutCurrency, Meta(description="What you charge in.")]
    amount: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="In major units, a whole number; absent where the customer chooses the amount."),
    ] = None
    amount_min: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="The least that the customer may choose; 1 when absent.")
    ] = None
    amount_max: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="The most that the customer may choose; the currency's limit when absent."),
    ] = None
    fee_bearer: (
        Annotated[
            FeeBearer, Meta(description="Who pays the fee. By default what your business has set: at first, it does.")
        ]
        | UnsetType
    ) = UNSET
    payment_methods: OfferedMethods = None
    ask_phone_number: Annotated[
        FieldRule | None, Meta(description="Whether the page asks for a phone number; not at all when absent.")
    ] = None
    ask_note: Annotated[
        FieldRule | None,
        Meta(description="Whether the page asks for a note: a line of text of up to 200 characters, `note` in the "
                         "payment's metadata. Not at all when absent."),
    ] = None  # fmt: skip
    note_label: Annotated[
        NoteLabel | None,
        Meta(description="What the page calls the note, such as T-shirt size; `Note` in the customer's language when "
                         "absent."),
    ] = None  # fmt: skip
    ends_at: Annotated[Moment | None, Meta(description="It takes payments before this time; of a day, to its end.")] = (
        None
    )
    payments_max: Annotated[
        Annotated[int, Meta(ge=1, le=PAYMENTS_MAX)] | None,
        Meta(description="How often a reusable link may be paid; without limit when absent."),
    ] = None
    success_message: Annotated[
        Annotated[str, Meta(max_length=SUCCESS_MESSAGE_LENGTH_MAX)] | None,
        Meta(description="Shown to the customer after a successful payment, as plain text."),
    ] = None
    redirect_url: Annotated[
        RedirectUrl | None,
        Meta(description="Where the customer returns to after the payment, with `?reference=…` added."),
    ] = None


class ListLinks(msgspec.Struct, kw_only=True, rename="camel"):
    """The query of a list of payment links."""

    status: (
        Annotated[
            Literal["ended", "not_ended"],
            meanings({"ended": "Those that you ended.", "not_ended": "All others."}),
            Meta(description="Only links that you ended, or only the others."),
        ]
        | UnsetType
    ) = UNSET
    per_page: Annotated[PerPage, Meta(description="Payment links on a page.")] = PerPage.when_absent(PER_PAGE)
    cursor: Annotated[Cursor, Meta(description="The `nextCursor` of the page before.")] | UnsetType = UNSET


class LinkRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[str, Meta(description="Of the payment link; `paymentLinkId` of its payments.")]
    business_id: Annotated[str, Meta(description="Your business's id.")]
    name: Annotated[str, Meta(description="What is paid for.")]
    kind: Annotated[LinkKind, Meta(description="How often it is paid.")]
    state: Annotated[LinkState, Meta(description="Whether it takes payments.")]
    link: Annotated[str, Meta(description="Address of its page. Share it.")]
    qr_svg: Annotated[str, Meta(description="Address of the link as a QR code, as SVG.")]
    qr_png: Annotated[str, Meta(description="The same as PNG.")]
    poster: Annotated[
        str, Meta(description="Address of a poster to print, as PDF: your name and logo, the amount, the QR code.")
    ]
    currency: Annotated[Currency, Meta(description="ISO 4217 code of the currency.")]
    amount: Annotated[Decimal | None, Meta(description="The fixed amount; null where the customer chooses it.")]
    amount_min: Annotated[Decimal | None, Meta(description="The least to choose; null for a fixed amount.")]
    amount_max: Annotated[Decimal | None, Meta(description="The most to choose; null for a fixed amount.")]
    fee_bearer: Annotated[FeeBearer, Meta(description="Who pays our fee.")]
    payment_methods: Annotated[
        list[PaymentMethod] | None, Meta(description="Methods offered; null for all of the currency.")
    ]
    ask_phone_number: Annotated[
        FieldRule | None, Meta(description="Whether the page asks for a phone number; null where it does not.")
    ]
    ask_note: Annotated[FieldRule | None, Meta(description="Whether the page asks for a note; null where it does not.")]
    note_label: Annotated[str | None, Meta(description="What the page calls the note; null for `Note`.")]
    success_message: Annotated[str | None, Meta(description="Your text shown after a success; null without.")]
    redirect_url: Annotated[str | None, Meta(description="Where the customer returns to; null without.")]
    payments_max: Annotated[int | None, Meta(description="How often it may be paid; null without limit.")]
    times_opened: Annotated[
        int,
        Meta(description="How often browsers opened its page, about a second behind. A page that is opened again is "
                         "counted again; a prefetch or a `HEAD` is not."),
    ]  # fmt: skip
    payments_made: Annotated[int, Meta(description="Payments begun by it; no more than 10,000 are counted.")]
    payments_paid: Annotated[int, Meta(description="Payments that succeeded; no more than 10,000 are counted.")]
    amount_received: Annotated[
        Decimal | None, Meta(description="Received by those payments; null when there are more than are counted.")
    ]
    ends_at: Annotated[Timestamp | None, Meta(description="When it ends by itself; null without an end.")]
    ended_at: Annotated[Timestamp | None, Meta(description="When you ended it; null otherwise.")]
    created_at: Annotated[Timestamp, Meta(description="Time of creation.")]


class LinkRecordPage(msgspec.Struct, kw_only=True, rename="camel"):
    results: Annotated[list[LinkRecord], Meta(description="The newest first.")]
    next_cursor: Annotated[str | None, Meta(description="Cursor of the next page; null on the last.")]


def read_terms(
    value: Any, *, business: Business, names: MethodNames, mode: Mode, taken: MethodsTaken, now: datetime
) -> LinkTerms:
    """The terms that API, dashboard and commands ask for in the same words. Raises Invalid with all that is wrong."""
    check = partial(
        _problems_with, value=value, business=business, names=names, mode=mode, taken=taken, now=now
    )  # fmt: skip
    return _terms_from(read(value, CreateLink, check), business, names)


def _problems_with(
    fields: Mapping[str, Any], *, value: Any, business: Business, names: MethodNames, mode: Mode, taken: MethodsTaken,
    now: datetime,
) -> Iterator[Problem]:  # fmt: skip
    """Checks across fields: what a payment must hold, and what a link must."""
    as_payment = {**fields, "amount": fields.get("amount") or 0}
    yield from payment_wire.problems_between(
        as_payment, value=value, business=business, names=names, mode=mode, taken=taken
    )
    yield from _amount_problems(fields)
    yield from _repeated_methods(fields, names)
    if fields.get("note_label") is not None and fields.get("ask_note") is None:
        yield Problem("noteLabel", "needs askNote: without it the page has no note")
    ends_at = fields.get("ends_at")
    if isinstance(ends_at, Moment) and ends_at.end <= now:
        yield Problem("endsAt", "must be in the future")
    if fields.get("kind") is LinkKind.ONE_OFF and fields.get("payments_max") not in (None, 1):
        yield Problem(
            "paymentsMax",
            "must be 1 or absent for a one_off link; use kind reusable",
            kind=LinkFault.ONE_OFF_IS_PAID_ONCE,
        )


def _amount_problems(fields: Mapping[str, Any]) -> Iterator[Problem]:
    least, most = fields.get("amount_min"), fields.get("amount_max")
    if fields.get("amount") is not None:
        for name, bound in (("amountMin", least), ("amountMax", most)):
            if bound is not None:
                yield Problem(
                    name, "cannot be combined with amount; send a fixed amount, or bounds",
                    kind=LinkFault.AMOUNT_OR_BOUNDS,
                )  # fmt: skip
        return
    if "currency" in fields:
        limit = CHECKOUT_OFFERS[Currency(fields["currency"])].max_major
        for name, bound in (("amountMin", least), ("amountMax", most)):
            if bound is not None and bound > limit:
                yield Problem(name, f"must be at most {limit} in {fields['currency']}")
    if least is not None and most is not None and least > most:
        yield Problem("amountMax", f"must be at least {least}, which is amountMin")


def _repeated_methods(fields: Mapping[str, Any], names: MethodNames) -> Iterator[Problem]:
    seen: set[Method] = set()
    for index, name in enumerate(fields.get("payment_methods") or ()):
        method = names.find(name)
        if method in seen:
            yield Problem(f"paymentMethods[{index}]", "is there twice")
        elif method is not None:
            seen.add(method)


def _terms_from(request: CreateLink, business: Business, names: MethodNames) -> LinkTerms:
    currency = Currency(request.currency)
    is_once = request.kind is LinkKind.ONE_OFF
    fixed = None if request.amount is None else Money.of_major(request.amount, currency)
    limit = CHECKOUT_OFFERS[currency].max_major
    return LinkTerms(
        name=str(request.name),
        kind=request.kind,
        currency=currency,
        asked=fixed,
        least=fixed or Money.of_major(request.amount_min or 1, currency),
        most=fixed or Money.of_major(request.amount_max or limit, currency),
        fee_bearer=business.fee_bearer if request.fee_bearer is UNSET else request.fee_bearer,
        methods=methods_named(request.payment_methods or [], names),
        phone_rule=request.ask_phone_number,
        note_rule=request.ask_note,
        note_label=str(request.note_label) if request.note_label else None,
        success_message=request.success_message,
        redirect_url=str(request.redirect_url) if request.redirect_url else None,
        payments_max=1 if is_once else request.payments_max,
        ends_at=request.ends_at.end if request.ends_at else None,
    )


def record_of(view: LinkView, names: MethodNames, links_url: str, *, now: datetime) -> LinkRecord:
    link, terms, use = view.link, view.link.terms, view.use
    address = f"{links_url}/{link.id}"
    is_fixed = terms.asked is not None
    return LinkRecord(
        id=link.id,
        business_id=link.business_id,
        name=terms.name,
        kind=terms.kind,
        state=view.state(now=now),
        link=address,
        qr_svg=f"{address}/qr.svg",
        qr_png=f"{address}/qr.png",
        poster=f"{address}/poster.pdf",
        currency=terms.currency,
        amount=terms.asked.major if terms.asked else None,
        amount_min=None if is_fixed else terms.least.major,
        amount_max=None if is_fixed else terms.most.major,
        fee_bearer=terms.fee_bearer,
        payment_methods=names.in_records(terms.methods) if terms.methods else None,
        ask_phone_number=terms.phone_rule,
        ask_note=terms.note_rule,
        note_label=terms.note_label,
        success_message=terms.success_message,
        redirect_url=terms.redirect_url,
        payments_max=terms.payments_max,
        times_opened=link.opened,
        payments_made=use.made,
        payments_paid=use.paid,
        amount_received=use.received.major if use.is_exact else None,
        ends_at=to_iso(terms.ends_at) if terms.ends_at else None,
        ended_at=to_iso(link.ended_at) if link.ended_at else None,
        created_at=to_iso(link.created_at),
    )


def is_ended(request: ListLinks) -> bool | None:
    return None if request.status is UNSET else request.status == "ended"
