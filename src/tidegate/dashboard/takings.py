"""The entries that make a figure of takings: the payments booked on a day, in one currency, with their sums."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from tidegate.core.errors import NotFound
from tidegate.core.money import CHECKOUT_OFFERS, Currency, Money
from tidegate.dashboard import home_store
from tidegate.dashboard.format import weekday
from tidegate.dashboard.home import takings_of
from tidegate.dashboard.home_store import TakingsQuery
from tidegate.dashboard.list_filter import day_in
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.payment_page import METHOD_WORDS
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission

PAGE = 50


@dataclass(frozen=True)
class TakingsPages:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        query, times = visitor.request.query, visitor.times
        day, currency = day_in(query.get("day", times.today.isoformat()), "day"), currency_in(query.get("currency", ""))
        method = query.get("method", "")
        if method and method not in METHOD_WORDS:
            raise NotFound("there is nothing at this address")
        before = number_in(query.get("before", ""))
        wanted = TakingsQuery(
            business_id=visitor.business.id, currency=currency, method=method or None, start=times.start_of(day),
            end=times.start_of(day + timedelta(days=1)),
        )  # fmt: skip
        async with self.shell.db.connection() as tx:
            found = await home_store.list_taken(tx, wanted, before_id=before, limit=PAGE + 1)
            sums = [
                row
                for row in await home_store.list_takings(tx, visitor.business.id, [wanted.start, wanted.end])
                if row.span == 1 and row.currency is currency and method in ("", row.method)
            ]
        nothing = Money.zero(currency)
        fee = sum((row.fee for row in sums), start=nothing)
        here = takings_of(day, currency, method)
        older = f"{visitor.path(here)}&before={found[PAGE - 1].journal_id}" if len(found) > PAGE else None
        return self.shell.page(
            visitor, "takings.html", title=title_of(day, currency, method), section="Home", lines=found[:PAGE],
            count=sum(row.payments for row in sums), received=sum((row.received for row in sums), start=nothing),
            fee=fee, settled=sum((row.settled for row in sums), start=nothing),
            older=self.shell.site.url(older) if older else None, currency=currency, words=METHOD_WORDS, here=here,
            is_first=before is None,
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        return [DashboardRoute("GET", "/takings", "showTakings", Permission.SEE, self.show)]


def title_of(day: date, currency: Currency, method: str) -> str:
    by = f" by {METHOD_WORDS[method].lower()}" if method else ""
    return f"Taken in {currency.value}{by} on {weekday(day)}"


def currency_in(text: str) -> Currency:
    found = next((currency for currency in CHECKOUT_OFFERS if currency.value == text), None)
    if found is None:
        raise NotFound("there is nothing at this address")
    return found
