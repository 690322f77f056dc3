"""A statement as display strings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Literal

from tidegate.core.colour import LIGHT, palette_for
from tidegate.core.ids import Mode
from tidegate.core.money import Money
from tidegate.merchant.model import Business
from tidegate.wallet.model import Period, Totals, WalletLine

ISSUER = "Tidegate"
_TEST_NOTE = "Test mode: no real money was moved."


@dataclass(frozen=True, slots=True)
class StatementRow:
    date: str
    description: str
    reference: str
    gross: str
    fee: str
    vat: str
    # After fee and VAT; negative when the wallet has less.
    net: str
    balance: str


@dataclass(frozen=True, slots=True)
class Statement:
    """The template has these as `data`."""

    business: str
    # Label and value: the wallet and the period.
    facts: tuple[tuple[str, str], ...]
    # Label and amount.
    sums: tuple[tuple[str, str], ...]
    opening: StatementRow
    rows: tuple[StatementRow, ...]
    closing: StatementRow
    # At the head of every page but the first.
    running_head: str
    footer: str
    note: str
    # As #rrggbb.
    accent: str
    # PNG, JPEG or WebP.
    logo: bytes | None = field(repr=False)
    made_at: datetime
    language: Literal["en"] = "en"
    direction: Literal["ltr"] = "ltr"


def statement_of(
    business: Business, period: Period, lines: Sequence[WalletLine], *, logo: bytes | None, mode: Mode, now: datetime
) -> Statement:
    totals = Totals.of(lines, Money.zero(period.closing.currency))
    wallet, currency = period.wallet, period.closing.currency
    start = period.start or wallet.created_at
    # The requested end may be in the future; a statement ends when it is issued.
    end = min(period.end, now) if period.end else now
    return Statement(
        business=business.name,
        facts=(
            ("Wallet number", str(wallet.number)),
            ("Currency", currency),
            ("Period", period_text(start, max(start, end))),
            ("Time zone", "UTC"),
            ("Issued", f"{moment_text(now)} UTC by {ISSUER}"),
        ),
        sums=(
            ("Opening balance", figure(period.opening)),
            ("Money in", figure(totals.taken_in)),
            ("Money out", figure(totals.paid_out)),
            ("Fees", figure(totals.fee)),
            ("VAT on fees", figure(totals.vat)),
            ("Closing balance", figure(period.closing)),
        ),
        opening=StatementRow(day_text(start), "Opening balance", "", "", "", "", "", figure(period.opening)),
        rows=tuple(map(_row, lines)),
        closing=StatementRow(
            day_text(_last_moment(max(start, end))),
            "Closing balance",
            "",
            figure(totals.net + totals.fee + totals.vat),
            figure(totals.fee),
            figure(totals.vat),
            figure(totals.net),
            figure(period.closing),
        ),
        running_head=f"Wallet {wallet.number} · {currency}",
        footer=f"Issued by {ISSUER} on {moment_text(now)} UTC · days and times in UTC",
        note=_TEST_NOTE if mode is Mode.SANDBOX else "",
        accent=str(palette_for(business.brand.accent, LIGHT).accent_text),
        logo=logo,
        made_at=now,
    )


def _row(line: WalletLine) -> StatementRow:
    return StatementRow(
        date=day_text(line.booked_at),
        description=line.description,
        reference=line.reference or "",
        gross=figure(line.gross),
        fee=figure(line.fee),
        vat=figure(line.vat),
        net=figure(line.amount),
        balance=figure(line.balance),
    )


def figure(money: Money | None) -> str:
    """Without the currency, which the statement names once."""
    return "" if money is None else str(money).removeprefix(f"{money.currency} ")


def day_text(moment: datetime) -> str:
    utc = moment.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y}"


def moment_text(moment: datetime) -> str:
    """In UTC, as the footer says."""
    return f"{day_text(moment)}, {moment.astimezone(UTC):%H:%M}"


def period_text(start: datetime, end: datetime) -> str:
    """Whole days as dates, the last one included; with the time of day where there is one."""
    first = day_text(start) if _is_midnight(start) else moment_text(start)
    last = day_text(_last_moment(end)) if _is_midnight(end) else moment_text(end)
    return first if first == last else f"{first} – {last}"


def _is_midnight(moment: datetime) -> bool:
    return moment.astimezone(UTC).time() == time()


def _last_moment(end: datetime) -> datetime:
    """The end is exclusive, so midnight belongs to the day before."""
    return end - timedelta(microseconds=1)
