"""Home: today's takings beside the same weekday, what needs attention, the newest payments, the wallets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from tidegate.approval import store as approvals
from tidegate.core.money import Currency, Money
from tidegate.dashboard import chart, home_store
from tidegate.dashboard.chart import DayBar
from tidegate.dashboard.format import Times, amount, percent, weekday
from tidegate.dashboard.home_store import AttentionFacts, TakingsRow
from tidegate.dashboard.payment_page import METHOD_WORDS, difference_of, status_of
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment.model import Payment
from tidegate.payment.variance import Variance
from tidegate.wallet import commands as wallets

DAYS = 14
LATEST = 6
UNUSUAL_MAX = 5
# Of the newest payments, for what is counted live.
LOOKED_AT_MAX = 20_000


class FigureLine(NamedTuple):
    name: str
    taken: str
    fees: str
    settled: str
    paid: str
    success: str
    is_inner: bool


class AttentionItem(NamedTuple):
    what: str
    more: str
    below: str
    act: str


@dataclass(frozen=True)
class Home:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        times, business_id = visitor.times, visitor.business.id
        days = times.days(DAYS)
        bounds = [times.start_of(day) for day in days]
        week_ago = times.now - timedelta(days=7)
        async with self.shell.db.connection() as tx:
            takings = await home_store.list_takings(tx, business_id, bounds)
            before = await home_store.list_takings(tx, business_id, _until(times, week_ago))
            ended = await home_store.count_ended(tx, business_id, bounds[-1], limit=LOOKED_AT_MAX)
            latest = await home_store.list_newest(tx, business_id, before_id=None, limit=LATEST)
            unusual = await home_store.list_unusual(tx, business_id, limit=UNUSUAL_MAX, newest=500)
            facts = await home_store.get_attention(tx, business_id, now=visitor.now)
            others = await approvals.count_other_approvers(tx, business_id, visitor.session.member.id)
        main = main_currency(takings)
        return self.shell.page(
            visitor, "home.html", title=weekday(times.today), section="Home",
            main=_main(takings, before, ended, main) if main else None,
            chart=chart.bars(list(_bars(visitor, takings, days, main))) if main else "",
            days=[(weekday(day.day), day.money) for day in _days(takings, days, main)] if main else [],
            lines=list(_lines(takings, ended)),
            attention=[*_attention(unusual, facts), *_alone(visitor, others)],
            latest=[(payment, *status_of(payment), difference_of(payment)) for payment in latest],
            holdings=await wallets.list_holdings(self.shell.db, business_id),
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        return [DashboardRoute("GET", "", "showDashboardHome", Permission.SEE, self.show)]


def _until(times: Times, moment: datetime) -> list[datetime]:
    """From midnight of that day to that time of day."""
    return [times.start_of(moment.astimezone(times.zone).date()), moment]


def main_currency(takings: Sequence[TakingsRow]) -> Currency | None:
    """The one with most payments."""
    counts: dict[Currency, int] = {}
    for row in takings:
        counts[row.currency] = counts.get(row.currency, 0) + row.payments
    return max(counts, key=lambda one: counts[one]) if counts else None


class DayTaken(NamedTuple):
    day: date
    money: Money


def _days(takings: Sequence[TakingsRow], days: Sequence[date], currency: Currency) -> list[DayTaken]:
    sums = [0] * (len(days) + 1)
    for row in takings:
        if row.currency is currency and 1 <= row.day <= len(days):
            sums[row.day] += row.received.minor
    return [DayTaken(day, Money(sums[at], currency)) for at, day in enumerate(days, 1)]


def _bars(
    visitor: DashboardVisitor, takings: Sequence[TakingsRow], days: Sequence[date], currency: Currency | None
) -> Iterator[DayBar]:
    if currency is None:
        return
    for at, one in enumerate(_days(takings, days, currency)):
        label = f"{one.day.day} {one.day:%b}" if (len(days) - at) % 2 else ""
        yield DayBar(label, weekday(one.day), one.money, visitor.path("/payments"))


def _main(
    takings: Sequence[TakingsRow], before: Sequence[TakingsRow],
    ended: dict[Currency, dict[str, tuple[int, int]]], currency: Currency,
) -> dict[str, str]:  # fmt: skip
    today = sum(row.received.minor for row in takings if row.currency is currency and row.day == DAYS)
    then = sum(row.received.minor for row in before if row.currency is currency and row.day == 1)
    paid, of = _ended_of(ended.get(currency, {}))
    more = Money(today - then, currency)
    return {
        "currency": currency.value,
        "sign": currency.spec.sign,
        "digits": amount(Money(today, currency)).removeprefix(currency.spec.sign).strip(),
        "change": f"{'+' if more.minor >= 0 else ''}{amount(more)}",
        "paid": f"{paid:,} of {of:,}",
        "share": percent(paid, of),
    }


def _ended_of(by_method: dict[str, tuple[int, int]]) -> tuple[int, int]:
    return sum(paid for paid, _ in by_method.values()), sum(of for _, of in by_method.values())


def _lines(takings: Sequence[TakingsRow], ended: dict[Currency, dict[str, tuple[int, int]]]) -> Iterator[FigureLine]:
    today = [row for row in takings if row.day == DAYS]
    for currency in dict.fromkeys([*(row.currency for row in today), *ended]):
        rows = [row for row in today if row.currency is currency]
        yield _line(currency.value, currency, rows, _ended_of(ended.get(currency, {})), is_inner=False)
        methods = dict.fromkeys([*(row.method for row in rows), *ended.get(currency, {})])
        for method in methods:
            of_method = [row for row in rows if row.method == method]
            counted = ended.get(currency, {}).get(method, (0, 0))
            yield _line(METHOD_WORDS.get(method, method), currency, of_method, counted, is_inner=True)


def _line(
    name: str, currency: Currency, rows: Sequence[TakingsRow], counted: tuple[int, int], *, is_inner: bool
) -> FigureLine:
    nothing = Money.zero(currency)
    return FigureLine(
        name,
        amount(sum((row.received for row in rows), start=nothing)),
        amount(sum((row.fee for row in rows), start=nothing)),
        amount(sum((row.settled for row in rows), start=nothing)),
        f"{counted[0]:,} of {counted[1]:,}",
        percent(*counted),
        is_inner,
    )


def _attention(unusual: Sequence[Payment], facts: AttentionFacts) -> Iterator[AttentionItem]:
    for payment in unusual:
        is_over = payment.variance is Variance.OVERPAYMENT
        gap = payment.received - payment.expected if is_over else payment.expected - payment.received
        words = f"{amount(gap)} too {'much' if is_over else 'little'}"
        more = f"{payment.reference} · {payment.order.customer.name}"
        yield AttentionItem(words, more, f"/payments/{payment.pay_code}", "Refund excess" if is_over else "Decide")
    if facts.open_approvals:
        yield AttentionItem(
            _many(facts.open_approvals, "refund"), "waiting for a second person", "/refunds?tab=approve", "Review"
        )
    if facts.held_inflows:
        yield AttentionItem(
            _many(facts.held_inflows, "inflow"), "held for a decision", "/inflows?status=pending", "See why"
        )
    if facts.failed_refunds:
        yield AttentionItem(
            _many(facts.failed_refunds, "refund"), "failed in the last week", "/refunds?status=failed", "Open"
        )
    for url in facts.failing_endpoints:
        yield AttentionItem("Endpoint failing", f"{url} · {facts.undelivered} events wait", "/webhooks", "Open")


def _alone(visitor: DashboardVisitor, others: int) -> Iterator[AttentionItem]:
    if others == 0 and visitor.may(Permission.APPROVE):
        yield AttentionItem(
            "Nobody else can approve refunds", "so refunds have no limit yet", "/team", "Invite somebody"
        )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
