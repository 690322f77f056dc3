"""Wallets and statements as JSON and as CSV: the only module with the wire's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tidegate.core.errors import Problem
from tidegate.core.money import Currency, Money
from tidegate.core.public_id import PublicIds
from tidegate.infra.http.csv_text import Cell
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.operation import Timestamp, meanings
from tidegate.infra.http.paging import PER_PAGE, PerPage
from tidegate.infra.http.query import Moment, period_problems
from tidegate.infra.timestamp import to_iso
from tidegate.ledger.model import JournalKind
from tidegate.merchant.model import Business, BusinessStatus
from tidegate.wallet.model import Holding, Period, SortOrder, WalletLine


class WalletRecord(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[str, Meta(description="Id of the wallet.")]
    business: Annotated[str, Meta(description="Your business's id.")]
    currency: Annotated[Currency, Meta(description="Currency of the wallet; you have one wallet for each.")]
    wallet_number: Annotated[str, Meta(description="Number of the wallet, shown on statements.")]
    available_balance: Annotated[Decimal, Meta(description="What can be refunded now.")]
    ledger_balance: Annotated[Decimal, Meta(description="Available and locked together.")]
    locked_balance: Annotated[Decimal, Meta(description="Reserved for refunds in progress and for open disputes.")]
    pending_balance: Annotated[
        Decimal,
        Meta(description="Inflows that are held for review, before the fee; not part of the other balances."),
    ]
    owed_balance: Annotated[
        Decimal,
        Meta(description="Reversed by banks beyond the balance; deducted from the next money received."),
    ]
    status: Annotated[BusinessStatus, Meta(description="Whether the business is active.")]
    created_at: Annotated[Timestamp, Meta(description="Time of creation.")]
    updated_at: Annotated[Timestamp, Meta(description="Time of the last movement.")]


def wallet_record(holding: Holding, business: Business) -> WalletRecord:
    wallet = holding.wallet
    currency = wallet.balance.currency
    return WalletRecord(
        id=f"{business.id}-{currency}",
        business=business.id,
        currency=currency,
        wallet_number=str(wallet.number),
        available_balance=wallet.balance.major,
        ledger_balance=(wallet.balance + wallet.locked).major,
        locked_balance=wallet.locked.major,
        pending_balance=holding.pending.major,
        owed_balance=holding.owed.major,
        status=business.status,
        created_at=to_iso(wallet.created_at),
        updated_at=to_iso(wallet.updated_at),
    )


class ReadStatement(msgspec.Struct, kw_only=True, rename="camel"):
    """Parameters of a statement."""

    date_from: Annotated[Moment, Meta(description="From this day or time in UTC, inclusive.")] | UnsetType = UNSET
    date_to: Annotated[Moment, Meta(description="Before this time; a date includes the whole day.")] | UnsetType = UNSET
    order: Annotated[
        SortOrder,
        meanings({"asc": "The oldest first.", "desc": "The newest first."}),
        Meta(description="Order of the lines."),
    ] = "desc"
    per_page: Annotated[PerPage, Meta(description="Lines on a page.")] = PerPage.when_absent(PER_PAGE)
    cursor: Annotated[Cursor, Meta(description="The `nextCursor` of the previous page.")] | UnsetType = UNSET

    @property
    def start(self) -> datetime | None:
        return self.date_from.start if isinstance(self.date_from, Moment) else None

    @property
    def end(self) -> datetime | None:
        return self.date_to.end if isinstance(self.date_to, Moment) else None


def problems_between(fields: Mapping[str, Any]) -> Iterator[Problem]:
    yield from period_problems(fields)


class StatementLine(msgspec.Struct, kw_only=True, rename="camel"):
    id: Annotated[int, Meta(description="Unique, below 2^53, not in order of creation.")]
    at: Annotated[Timestamp, Meta(description="Time of booking; `dateFrom`, `dateTo` and `order` refer to it.")]
    happened_at: Annotated[
        Timestamp, Meta(description="When the money moved, by the bank's value date where there is one.")
    ]
    kind: Annotated[JournalKind, Meta(description="What kind of movement it is.")]
    description: Annotated[str, Meta(description="The movement in words.")]
    reference: Annotated[
        str | None, Meta(description="Your reference of a payment, or the `reference` of the collection or refund.")
    ]
    direction: Annotated[
        Literal["in", "out"],
        meanings({"in": "Credited to the wallet.", "out": "Debited from it."}),
        Meta(description="Which way the money moved."),
    ]
    amount: Annotated[Decimal, Meta(description="After our fee; negative when debited.")]
    fee: Annotated[Decimal, Meta(description="Not part of `amount`; negative when returned.")]
    vat: Annotated[Decimal, Meta(description="The tax on the fee.")]
    currency: Annotated[Currency, Meta(description="Currency of the wallet.")]
    balance: Annotated[Decimal, Meta(description="The wallet's balance after this line.")]


class StatementPage(msgspec.Struct, kw_only=True, rename="camel"):
    currency: Annotated[Currency, Meta(description="Currency of the wallet.")]
    wallet_number: Annotated[str, Meta(description="Number of the wallet.")]
    opening_balance: Annotated[Decimal, Meta(description="Before the first line of the period.")]
    closing_balance: Annotated[Decimal, Meta(description="After the last line of the period.")]
    results: Annotated[list[StatementLine], Meta(description="Lines of the statement, in the asked order.")]
    next_cursor: Annotated[str | None, Meta(description="Cursor of the next page; null on the last.")]


def page_of(period: Period, lines: list[WalletLine], next_cursor: str | None, public_ids: PublicIds) -> StatementPage:
    return StatementPage(
        currency=period.closing.currency,
        wallet_number=str(period.wallet.number),
        opening_balance=period.opening.major,
        closing_balance=period.closing.major,
        results=[line_record(line, public_ids) for line in lines],
        next_cursor=next_cursor,
    )


def line_record(line: WalletLine, public_ids: PublicIds) -> StatementLine:
    return StatementLine(
        id=public_ids.statement_line.hide(line.id),
        at=to_iso(line.booked_at),
        happened_at=to_iso(line.happened_at),
        kind=line.kind,
        description=line.description,
        reference=line.reference,
        direction="in" if line.is_in else "out",
        amount=line.amount.major,
        fee=line.fee.major,
        vat=line.vat.major,
        currency=line.amount.currency,
        balance=line.balance.major,
    )


CSV_COLUMNS = (
    "date", "valueDate", "reference", "description", "debit", "credit", "balance", "currency", "fee", "vat", "id",
    "bookedAt",
)  # fmt: skip


def csv_row(line: WalletLine, public_ids: PublicIds) -> tuple[Cell, ...]:
    """Dates, and amounts with all decimals, as bookkeeping software reads them."""
    return (
        line.booked_at.date().isoformat(),
        line.happened_at.date().isoformat(),
        line.reference,
        line.description,
        _decimal(line.debit),
        _decimal(line.credit),
        _decimal(line.balance),
        line.balance.currency,
        _decimal(line.fee),
        _decimal(line.vat),
        public_ids.statement_line.hide(line.id),
        line.booked_at,
    )


def _decimal(money: Money | None) -> Decimal | None:
    return None if money is None else Decimal(money.minor).scaleb(-money.currency.exponent)


def filename(request: ReadStatement, currency: Currency, kind: str) -> str:
    """With the requested days."""
    days = [f"-{moment[:10]}" for moment in (request.date_from, request.date_to) if isinstance(moment, Moment)]
    return f"statement-{currency}{''.join(days)}.{kind}"
