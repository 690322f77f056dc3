"""Wallets with their statements: by days, as CSV and PDF; and what makes each figure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import urlencode

from tidegate.core.errors import Invalid, NotFound, Problem
from tidegate.core.money import Currency, Money
from tidegate.core.public_id import PublicIds
from tidegate.dashboard import wallet_store
from tidegate.dashboard.list_filter import DayPeriod, checked_period
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.payer_mask import payer_of
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.http import csv_text
from tidegate.infra.http.operation import Csv, Stream
from tidegate.infra.page.response import File, Html, StreamedFile
from tidegate.ledger.model import JournalKind
from tidegate.member.permission import Permission
from tidegate.wallet import commands as wallets
from tidegate.wallet import wire
from tidegate.wallet.model import WORDS_OF, Period, WalletLine

PAGE = 50
# Per process: a long statement takes seconds of CPU time and much memory.
PRINTED_AT_ONCE = 1


class FigureWords(NamedTuple):
    title: str
    lead: str


FIGURES = {
    "locked": FigureWords("On its way out", "Refunds that the rail has not confirmed, and money held for disputes."),
    "owed": FigureWords("Owed", "Taken back by banks beyond the balance; deducted from the next money received."),
}


class LineKind(NamedTuple):
    words: str
    kinds: tuple[JournalKind, ...]


# Every kind that can move a wallet, as merchants call it.
LINE_KINDS = {
    "payments": LineKind("Checkout payments", (JournalKind.CHECKOUT_SETTLED,)),
    "transfers": LineKind(
        "Bank transfers",
        (
            JournalKind.INFLOW_CREDITED,
            JournalKind.INFLOW_CONVERTED,
            JournalKind.HELD_SETTLED,
            JournalKind.HELD_CONVERTED,
        ),
    ),
    "refunds": LineKind("Refunds", (JournalKind.REFUND_STARTED, JournalKind.REFUND_FAILED)),
    "reversals": LineKind("Reversals", (JournalKind.CREDIT_REVERSED, JournalKind.DEBT_COLLECTED)),
    "disputes": LineKind("Disputes", (JournalKind.DISPUTE_HELD, JournalKind.DISPUTE_RELEASED)),
}
# Where each part of a figure is found.
_PAGES = {"refund": "/refunds/", "dispute": "/payments/", "payment": "/payments/", "inflow": "/inflows/"}


@dataclass(frozen=True)
class WalletPages:
    shell: DashboardShell
    public_ids: PublicIds
    press: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PRINTED_AT_ONCE))

    async def show_all(self, visitor: DashboardVisitor) -> Html:
        holdings = await wallets.list_holdings(self.shell.db, visitor.business.id)
        return self.shell.page(visitor, "wallets.html", title="Wallets", section="Wallets", holdings=holdings)

    async def show(self, visitor: DashboardVisitor) -> Html:
        currency, query, wrong = visitor.request.path["currency"], visitor.request.query, None
        try:
            days, kinds = filter_in(visitor)
        except Invalid as problem:
            days, kinds, wrong = DayPeriod(None, None), None, problem
        period = await self._period(visitor, days)
        before = number_in(query.get("before", ""))
        lines, is_more = await wallets.list_page(
            self.shell.db, period, order="desc", past_id=before, limit=0 if wrong else PAGE, kinds=kinds
        )
        days_kept = {name: query[name] for name in ("from", "to") if query.get(name)}
        kept = days_kept | ({"kind": query["kind"]} if query.get("kind") else {})
        return self.shell.page(
            visitor, "wallet.html", title=f"{currency} wallet", section="Wallets", period=period,
            lines=[_shown_to(visitor, line) for line in lines],
            older=urlencode({**kept, "before": lines[-1].id}) if lines and is_more else None, currency=currency,
            is_first=before is None, asked=query, kept=urlencode(kept), days_kept=urlencode(days_kept),
            kinds=[(name, words) for name, (words, _) in LINE_KINDS.items()], wrong=wrong, status=422 if wrong else 200,
        )  # fmt: skip

    async def _period(self, visitor: DashboardVisitor, days: DayPeriod) -> Period:
        return await wallets.get_period(
            self.shell.db, visitor.business.id, visitor.request.path["currency"], start=days.start, end=days.end,
            now=visitor.now,
        )  # fmt: skip

    async def download(self, visitor: DashboardVisitor) -> StreamedFile:
        """The whole period, by the rows of the API."""
        days, kinds = filter_in(visitor)
        period = await self._period(visitor, days)
        stream = Stream(self._rows(period, kinds or tuple(JournalKind)), _name_of(visitor, "csv"))
        return StreamedFile(stream, Csv.content_type, csv_text.row(wire.CSV_COLUMNS), visitor.caller)

    async def _rows(self, period: Period, kinds: Sequence[JournalKind]) -> AsyncGenerator[bytes, None]:
        async for lines in wallets.batches(self.shell.db, period):
            yield b"".join(csv_text.row(wire.csv_row(line, self.public_ids)) for line in lines if line.kind in kinds)

    async def print(self, visitor: DashboardVisitor) -> File:
        if visitor.request.query.get("kind"):
            raise Invalid(Problem("kind", "The PDF has lines of every kind; download the CSV file for one of them."))
        days, _ = filter_in(visitor)
        period = await self._period(visitor, days)
        async with self.press:
            body = await wallets.print_statement(
                self.shell.db, visitor.business, period, mode=self.shell.mode, now=visitor.now
            )
        disposition = f'attachment; filename="{_name_of(visitor, "pdf")}"'.encode("ascii")
        headers = [(b"content-disposition", disposition), (b"cache-control", b"no-store")]
        return File(body, "application/pdf", headers=headers)

    async def show_figure(self, visitor: DashboardVisitor) -> Html:
        """What a figure is the sum of."""
        path = visitor.request.path
        name, code = path["figure"], path["currency"]
        if name not in FIGURES or code not in Currency.__members__:
            raise NotFound("there is nothing at this address")
        currency, words = Currency(code), FIGURES[name]
        find = wallet_store.list_locked if name == "locked" else wallet_store.list_owed
        async with self.shell.db.connection() as tx:
            parts = await find(tx, visitor.business.id, currency)
        total = sum((part.amount for part in parts), Money.zero(currency))
        return self.shell.page(
            visitor, "wallet_figure.html", title=f"{words.title}, {currency}", section="Wallets", words=words,
            parts_of=[(part, _PAGES[part.kind] + part.reference) for part in parts], total=total, currency=currency,
            is_cut=len(parts) == wallet_store.PARTS_MAX,
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        see, export, at = Permission.SEE, Permission.EXPORT, "/wallets/{currency}"
        return [
            DashboardRoute("GET", "/wallets", "showWallets", see, self.show_all),
            DashboardRoute("GET", at, "showWallet", see, self.show),
            DashboardRoute("GET", f"{at}/statement.csv", "exportStatement", export, self.download),
            DashboardRoute("GET", f"{at}/statement.pdf", "printStatement", export, self.print),
            DashboardRoute("GET", f"{at}/{{figure}}", "showWalletFigure", see, self.show_figure),
        ]


def _shown_to(visitor: DashboardVisitor, line: WalletLine) -> WalletLine:
    is_of_payer = WORDS_OF[line.kind].link == "from" and line.about
    return replace(line, about=payer_of(visitor, line.about or "")) if is_of_payer else line


def filter_in(visitor: DashboardVisitor) -> tuple[DayPeriod, tuple[JournalKind, ...] | None]:
    query = visitor.request.query
    kind = query.get("kind", "")
    days = checked_period(query, visitor.times, ("kind", "from", "to"), {"kind": LINE_KINDS})
    return days, LINE_KINDS[kind].kinds if kind else None


def _name_of(visitor: DashboardVisitor, kind: str) -> str:
    query, currency = visitor.request.query, visitor.request.path["currency"]
    # All were read by now.
    names = ("kind", "from", "to") if kind == "csv" else ("from", "to")
    days = "".join(f"-{query[name]}" for name in names if query.get(name))
    return f"statement-{currency}{days}.{kind}"
