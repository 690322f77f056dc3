"""Inflows as JSON and CSV: the only module with JSON field names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.account.name_rule import NameVerdict
from tidegate.collection.event import description_of
from tidegate.collection.list_store import CollectionFilter
from tidegate.collection.model import Collection, CollectionStatus
from tidegate.core.errors import Problem
from tidegate.core.money import Currency, Money
from tidegate.infra.http.csv_text import Cell
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Timestamp
from tidegate.infra.http.paging import PER_PAGE, PageNumber, PerPage
from tidegate.infra.http.query import Moment, period_problems
from tidegate.infra.timestamp import to_iso

# Beyond these limits the bank's value date is flagged; the ledger has our own time.
VALUED_AHEAD_MAX = timedelta(days=1)
VALUED_BEHIND_MAX = timedelta(days=30)

BusinessId = Annotated[str, Meta(pattern="^[0-9a-f]{24}$", description="Your business's id.")]
AnyText = Annotated[str, Meta(min_length=1, max_length=100, pattern="^[ -~]*$")]


class ListCollections(msgspec.Struct, kw_only=True, rename="camel"):
    """The query of a list of inflows. Filters combine with AND."""

    business: BusinessId
    virtual_account: Annotated[AnyText, Meta(description="The `_id` of a virtual account.")] | UnsetType = UNSET
    destination_currency: (
        Annotated[Currency, Meta(description="Currency of the wallet that was credited.")] | UnsetType
    ) = UNSET
    status: Annotated[CollectionStatus, Meta(description="Only inflows with this status.")] | UnsetType = UNSET
    reference: Annotated[AnyText, Meta(description="Only the inflow with this reference.")] | UnsetType = UNSET
    date_from: Annotated[Moment, Meta(description="From this day or time on.")] | UnsetType = UNSET
    date_to: Annotated[Moment, Meta(description="Before this time; a day is included.")] | UnsetType = UNSET
    page: (
        Annotated[
            PageNumber, Meta(description="Number of the page, from 1; use `cursor` to read more than 10,000 rows.")
        ]
        | UnsetType
    ) = UNSET
    per_page: Annotated[PerPage, Meta(description="Inflows on a page.")] = PerPage.when_absent(PER_PAGE)
    cursor: Annotated[Cursor, Meta(description="The `nextCursor` of the page before.")] | UnsetType = UNSET


def problems_between(fields: Mapping[str, Any]) -> Iterator[Problem]:
    yield from period_problems(fields)
    if isinstance(fields.get("page"), PageNumber) and isinstance(fields.get("cursor"), Cursor):
        yield Problem("cursor", "cannot be combined with page; send one of them")


def filter_from(request: ListCollections) -> CollectionFilter:
    return CollectionFilter(
        account_id=_given(request.virtual_account),
        destination_currency=_given(request.destination_currency),
        status=_given(request.status),
        reference=_given(request.reference),
        start=request.date_from.start if isinstance(request.date_from, Moment) else None,
        end=request.date_to.end if isinstance(request.date_to, Moment) else None,
    )


def _given(value: Any) -> Any:
    return None if value is UNSET else value


class Returned(msgspec.Struct, kw_only=True, rename="camel"):
    """The return or the refund of the money."""

    amount_refunded: Annotated[
        Decimal, Meta(description="What was returned or refunded, in the currency that arrived.")
    ]
    reason: Annotated[str, Meta(description="Why, in words.")]
    reason_code: Annotated[
        str, Meta(description="Why, as a fixed code such as `name_differs`; `refunded` when you refunded it.")
    ]
    status: Annotated[
        str,
        Meta(description="`asked`, then `confirmed` by the bank; `refunded` when you refunded it."),
    ]
    return_reference: Annotated[str | None, Meta(description="The bank's reference of the return; null for a refund.")]
    asked_at: Annotated[Timestamp | None, Meta(description="When the bank was asked to return it.")]
    confirmed_at: Annotated[Timestamp | None, Meta(description="When the bank confirmed the return.")]


class NameCheckRecord(msgspec.Struct, kw_only=True, rename="camel"):
    """How the name that the payer typed was compared with the account holder's."""

    verdict: Annotated[NameVerdict, Meta(description="Result of the comparison.")]
    reason: Annotated[str, Meta(description="The result in words.")]
    typed: Annotated[
        str | None,
        Meta(description="The name that the payer typed for the recipient; null when the bank passed on none."),
    ]
    compared: Annotated[str, Meta(description="`payee`, the name typed for the recipient; or `none`.")]
    holder: Annotated[str, Meta(description="The account holder's name that it was compared with.")]
    steps: Annotated[list[str], Meta(description="How the names were compared, step by step.")]


class Exchange(msgspec.Struct, kw_only=True, rename="camel"):
    rate: Annotated[Decimal, Meta(description="One unit of `sourceCurrency` in `destinationCurrency`.")]
    source: Annotated[str, Meta(description="Where the rate comes from.")]
    quoted_at: Annotated[Timestamp, Meta(description="When the rate was quoted.")]
    spread: Annotated[Decimal, Meta(description="Kept of the conversion, in the wallet's currency.")]


class CollectionRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[int, Meta(description="Number of the inflow; unique.")]
    reference: Annotated[str, Meta(description="Our reference of the inflow; use it to get or refund it.")]
    status: Annotated[CollectionStatus, Meta(description="Where the inflow stands.")]
    reason: Annotated[str | None, Meta(description="Why it is held or was returned.")]
    held_until: Annotated[
        Timestamp | None, Meta(description="While it is held: when it is returned unless the operator has decided.")
    ]
    payment_method: Annotated[str, Meta(description="Always `virtual_account`.")] = "virtual_account"
    payment_scheme: Annotated[str, Meta(description="How the money came, such as `sepa` or `ach`.")]
    source_currency: Annotated[Currency, Meta(description="Currency that arrived.")]
    source_amount: Annotated[Decimal, Meta(description="The amount that arrived.")]
    destination_currency: Annotated[Currency, Meta(description="Currency of the wallet.")]
    destination_amount: Annotated[Decimal | None, Meta(description="The same amount in the wallet's currency.")]
    amount_received: Annotated[
        Decimal | None, Meta(description="The amount credited to the wallet, after fee and VAT.")
    ]
    fee: Annotated[Decimal, Meta(description="Our fee without VAT, in the wallet's currency; 0 until credited.")]
    vat: Annotated[Decimal, Meta(description="VAT on the fee.")]
    exchange: Annotated[Exchange | None, Meta(description="The conversion; null when the currencies are the same.")]
    payee_name: Annotated[str, Meta(description="The recipient as the payer typed it; otherwise the account holder.")]
    customer_name: Annotated[str, Meta(description="The sender's name; empty when the bank gives none.")]
    sender_address: Annotated[str, Meta(description="The sender's account number; empty when the bank gives none.")]
    sender_bank: Annotated[str, Meta(description="The sender's bank; empty when the bank gives none.")]
    description: Annotated[str, Meta(description="The payer's remittance text, or a default.")]
    merchant_reference: Annotated[
        str | None, Meta(description="Your reference of the virtual account; null without one.")
    ]
    virtual_account_id: Annotated[str, Meta(description="The `_id` of the virtual account that received it.")]
    name_check: Annotated[
        NameCheckRecord, Meta(description="How the typed name was compared with the account holder's.")
    ]
    refund_info: Annotated[Returned | None, Meta(description="The return or the refunds; null while there is none.")]
    amount_owed: Annotated[
        Decimal, Meta(description="Reversed by the bank and not covered by your wallet; debited from later credits.")
    ]
    is_reversed: Annotated[int, Meta(description="1 once it is returned or reversed, otherwise 0.")]
    value_date: Annotated[Timestamp, Meta(description="From when on the bank counts the money: its value date.")]
    value_date_flag: Annotated[str | None, Meta(description="`future` or `old` when the bank's value date is unusual.")]
    bank_reference: Annotated[str, Meta(description="The bank's own reference of the transfer.")]
    legacy_business_id: Annotated[
        str | None, Meta(description="Always null; kept for clients of the published interface.")
    ] = None
    metadata: Annotated[
        dict[str, Any] | None, Meta(description="Always null; kept for clients of the published interface.")
    ] = None
    initiated_at: Annotated[Timestamp, Meta(description="Value date of the bank, as `valueDate`.")]
    created_at: Annotated[Timestamp, Meta(description="When the rail reported it to us.")]
    updated_at: Annotated[Timestamp, Meta(description="Time of the last change.")]


class CollectionPage(msgspec.Struct, kw_only=True, rename="camel"):
    results: Annotated[list[CollectionRecord], Meta(description="The newest first.")]
    total: Annotated[int, Meta(description="The exact total of all pages.")]
    next_cursor: Annotated[str | None, Meta(description="For the next page; null on the last.")]


def record_of(collection: Collection) -> CollectionRecord:
    credited = collection.credited
    return CollectionRecord(
        id=collection.id,
        reference=collection.reference,
        status=collection.status,
        reason=collection.reason.sentence if collection.reason else None,
        held_until=_held_until(collection),
        payment_scheme=collection.scheme,
        source_currency=collection.amount.currency,
        source_amount=collection.amount.major,
        destination_currency=collection.destination_currency,
        destination_amount=credited.gross.major if credited else None,
        amount_received=credited.net.major if credited else None,
        fee=credited.fee.fee.major if credited else Decimal(0),
        vat=credited.fee.vat.major if credited else Decimal(0),
        exchange=_exchange(collection),
        payee_name=collection.payee_name or collection.name_check.holder,
        customer_name=collection.payer.name or "",
        sender_address=collection.payer.account_number or "",
        sender_bank=collection.payer.bank_name or "",
        description=description_of(collection),
        merchant_reference=collection.merchant_reference,
        virtual_account_id=collection.account_id,
        name_check=_name_check(collection),
        refund_info=_refund_info(collection),
        amount_owed=collection.owed.major if collection.owed else Decimal(0),
        is_reversed=int(collection.status is CollectionStatus.REVERSED),
        value_date=to_iso(collection.valued_at),
        value_date_flag=_flag(collection),
        bank_reference=collection.transaction_id,
        initiated_at=to_iso(collection.valued_at),
        created_at=to_iso(collection.created_at),
        updated_at=to_iso(collection.updated_at),
    )


def _held_until(collection: Collection) -> str | None:
    is_held = collection.status is CollectionStatus.PENDING
    return to_iso(collection.held_until) if is_held and collection.held_until else None


def _exchange(collection: Collection) -> Exchange | None:
    applied_rate = collection.credited.applied_rate if collection.credited else None
    if applied_rate is None:
        return None
    return Exchange(
        rate=applied_rate.rate,
        source=applied_rate.source,
        quoted_at=to_iso(applied_rate.quoted_at),
        spread=applied_rate.spread.major,
    )


def _name_check(collection: Collection) -> NameCheckRecord:
    check = collection.name_check
    return NameCheckRecord(
        verdict=check.verdict,
        reason=check.reason,
        typed=check.typed,
        compared=check.compared,
        holder=check.holder,
        steps=list(check.steps),
    )


def _refund_info(collection: Collection) -> Returned | None:
    if collection.status not in (CollectionStatus.REVERSED, CollectionStatus.FAILED):
        return _refunded(collection.refunded) if collection.refunded else None
    assert collection.reason is not None  # By a CHECK of the table.
    sent_back = collection.sent_back
    confirmed_at = sent_back.confirmed_at if sent_back else collection.updated_at
    return Returned(
        amount_refunded=collection.amount.major,
        reason=collection.reason.sentence,
        reason_code=collection.reason.value,
        status="confirmed" if confirmed_at else "asked",
        return_reference=sent_back.reference if sent_back else None,
        asked_at=to_iso(sent_back.asked_at) if sent_back else None,
        confirmed_at=to_iso(confirmed_at) if confirmed_at else None,
    )


def _refunded(amount: Money) -> Returned:
    """The sum of all refunds; each refund has its own record and status."""
    return Returned(
        amount_refunded=amount.major,
        reason="refunded by the merchant",
        reason_code="refunded",
        status="refunded",
        return_reference=None,
        asked_at=None,
        confirmed_at=None,
    )


def _flag(collection: Collection) -> str | None:
    if collection.valued_at > collection.created_at + VALUED_AHEAD_MAX:
        return "future"
    return "old" if collection.valued_at < collection.created_at - VALUED_BEHIND_MAX else None


CSV_COLUMNS = (
    "id", "reference", "status", "reason", "createdAt", "valueDate", "virtualAccountId", "merchantReference",
    "sourceCurrency", "sourceAmount", "destinationCurrency", "destinationAmount", "fee", "vat", "amountReceived",
    "exchangeRate", "customerName", "senderAddress", "senderBank", "payeeName", "description", "paymentScheme",
    "bankReference", "returnReference",
)  # fmt: skip


def csv_row(collection: Collection) -> tuple[Cell, ...]:
    record = record_of(collection)
    return (
        record.id, record.reference, record.status.value, record.reason, collection.created_at, collection.valued_at,
        record.virtual_account_id, record.merchant_reference, record.source_currency.value, record.source_amount,
        record.destination_currency.value, record.destination_amount, record.fee, record.vat, record.amount_received,
        record.exchange.rate if record.exchange else None, record.customer_name, record.sender_address,
        record.sender_bank, record.payee_name, record.description, record.payment_scheme, record.bank_reference,
        record.refund_info.return_reference if record.refund_info else None,
    )  # fmt: skip
