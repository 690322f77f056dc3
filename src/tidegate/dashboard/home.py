"""Home: today's takings beside the same weekday, what needs attention, the newest payments, the wallets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from tidegate.core.money import CHECKOUT_OFFERS, Currency, Money
from tidegate.dashboard import chart, equivalent_command, home_store, team_store
from tidegate.dashboard.chart import DayBar
from tidegate.dashboard.format import Times, amount, many_up_to, percent, up_to, weekday
from tidegate.dashboard.home_store import LOOKED_AT_MAX, AttentionFacts, HomeQuery, TakingsRow, UnusualFacts
from tidegate.dashboard.payer_mask import payer_of
from tidegate.dashboard.payment_page import METHOD_WORDS
from tidegate.dashboard.payments import row_of
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment.variance import Variance

DAYS = 14
LATEST = 6
# Rows of each kind of thing that needs attention; the rest is counted.
ROWS_MAX = 3
WEEK = timedelta(days=7)
# How many ended without money, by currency and method.
Unpaid = Mapping[tuple[Currency, str], int]


class FigureLine(NamedTuple):
    name: str
    taken: str
    fees: str
    settled: str
    paid: str
    success: str
    is_inner: bool
    # The entries that make the figures.
    below: str


class AttentionItem(NamedTuple):
    what: str
    more: str
    below: str
    act: str


class AttentionGroup(NamedTuple):
    """Things of one kind: how many, counted up to LOOKED_AT_MAX, and what is shown of them."""

    number: int
    items: list[AttentionItem]


class DayTaken(NamedTuple):
    day: date
    money: Money


@dataclass(frozen=True)
class HomeFigures:
    """Takings of the last days by currency and method, and the time of day a week ago."""

    times: Times
    takings: Sequence[TakingsRow]
    unpaid: Unpaid

    @property
    def today(self) -> list[TakingsRow]:
        # One span more than days: that of a week ago has two, before this time of day and after it.
        return [row for row in self.takings if row.span == DAYS + 1]

    @property
    def week_ago(self) -> list[TakingsRow]:
        return [row for row in self.takings if row.span == DAYS - 7]

    def days(self, currency: Currency) -> list[DayTaken]:
        sums: Counter[int] = Counter()
        for row in self.takings:
            if row.currency is currency:
                sums[row.span if row.span <= DAYS - 7 else row.span - 1] += row.received.minor
        return [DayTaken(day, Money(sums[at], currency)) for at, day in enumerate(self.times.days(DAYS), 1)]

    @property
    def main(self) -> Currency | None:
        """The currency with most payments."""
        counts: Counter[Currency] = Counter()
        for row in self.takings:
            counts[row.currency] += row.payments
        return max(counts, key=lambda one: counts[one]) if counts else None


def bounds_of(times: Times) -> list[datetime]:
    """Midnights of the last days, and this time of day a week ago between two of them."""
    return sorted([*(times.start_of(day) for day in times.days(DAYS)), times.now - timedelta(days=7)])


@dataclass(frozen=True)
class Home:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        times, business_id = visitor.times, visitor.business.id
        query = HomeQuery(
            business_id=business_id, bounds=bounds_of(times), today=times.start_of(times.today), now=visitor.now,
            newest=LATEST, unusual=ROWS_MAX, since=times.start_of(times.today - WEEK),
        )  # fmt: skip
        async with self.shell.db.connection() as tx:
            facts = await home_store.get_home(tx, query)
            team = await team_store.get_facts(tx, business_id, visitor.session.member.id)
        figures = HomeFigures(times, facts.takings, facts.unpaid)
        main = figures.main
        groups = [
            *_asked(visitor, facts.attention), *_unusual(visitor, facts.unusual), *_attention(visitor, facts.attention),
            *_alone(visitor, team.other_approvers),
        ]  # fmt: skip
        return self.shell.page(
            visitor, "home.html", title=weekday(times.today), section="Home",
            main=_main(figures, main) if main else None,
            chart=chart.bars(list(_bars(self.shell, visitor, figures.days(main)))) if main else "",
            days=[(weekday(day), money, takings_of(day, main)) for day, money in figures.days(main)] if main else [],
            lines=list(_lines(figures)),
            trade=team.trade, attention=[item for group in groups for item in group.items],
            attention_number=up_to(sum(group.number for group in groups), LOOKED_AT_MAX),
            latest=[row_of(visitor, row) for row in facts.newest], wallets=facts.wallets,
            code=equivalent_command.create_payment(self.shell.site.base_url, next(iter(CHECKOUT_OFFERS))),
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        return [DashboardRoute("GET", "", "showDashboardHome", Permission.SEE, self.show)]


def takings_of(day: date, currency: Currency, method: str = "") -> str:
    """The page of the entries that make a figure of takings."""
    more = {"method": method} if method else {}
    return f"/takings?{urlencode({'day': day.isoformat(), 'currency': currency.value, **more})}"


def _bars(shell: DashboardShell, visitor: DashboardVisitor, days: Sequence[DayTaken]) -> Iterator[DayBar]:
    for at, one in enumerate(days):
        label = f"{one.day.day} {one.day:%b}" if (len(days) - at) % 3 == 1 else ""
        href = shell.site.url(visitor.path(takings_of(one.day, one.money.currency)))
        yield DayBar(label, weekday(one.day), one.money, href)


def _main(figures: HomeFigures, currency: Currency) -> dict[str, str]:
    today = sum(row.received.minor for row in figures.today if row.currency is currency)
    then = sum(row.received.minor for row in figures.week_ago if row.currency is currency)
    paid, of = _ended(figures.today, figures.unpaid, currency)
    more = Money(today - then, currency)
    return {
        "currency": currency.value,
        "sign": currency.spec.sign,
        "digits": amount(Money(today, currency)).removeprefix(currency.spec.sign).strip(),
        "change": f"{'+' if more.minor >= 0 else ''}{amount(more)}",
        "then": f"{figures.times.today - timedelta(days=7):%A}",
        "paid": f"{paid:,} of {of:,}",
        "share": percent(paid, of),
        "below": takings_of(figures.times.today, currency),
    }


def _ended(rows: Sequence[TakingsRow], unpaid: Unpaid, currency: Currency, method: str = "") -> tuple[int, int]:
    """How many were paid, of those that ended."""
    paid = sum(row.payments for row in rows if row.currency is currency and method in ("", row.method))
    missed = sum(count for (code, by), count in unpaid.items() if code is currency and method in ("", by))
    return paid, paid + missed


def _lines(figures: HomeFigures) -> Iterator[FigureLine]:
    today, unpaid, day = figures.today, figures.unpaid, figures.times.today
    for currency in dict.fromkeys([*(row.currency for row in today), *(code for code, _ in unpaid)]):
        rows = [row for row in today if row.currency is currency]
        yield _line(currency.value, currency, rows, _ended(rows, unpaid, currency), takings_of(day, currency))
        for method in dict.fromkeys([*(row.method for row in rows), *(by for code, by in unpaid if code is currency)]):
            yield _line(
                METHOD_WORDS.get(method, method),
                currency,
                [row for row in rows if row.method == method],
                _ended(rows, unpaid, currency, method),
                takings_of(day, currency, method),
                is_inner=True,
            )


def _line(
    name: str, currency: Currency, rows: Sequence[TakingsRow], counted: tuple[int, int], below: str, *,
    is_inner: bool = False,
) -> FigureLine:  # fmt: skip
    nothing = Money.zero(currency)
    return FigureLine(
        name,
        amount(sum((row.received for row in rows), start=nothing)),
        amount(sum((row.fee for row in rows), start=nothing)),
        amount(sum((row.settled for row in rows), start=nothing)),
        f"{counted[0]:,} of {counted[1]:,}",
        percent(*counted),
        is_inner,
        below,
    )


def _group(number: int, items: Sequence[AttentionItem], *, kind: str, below: str) -> Iterator[AttentionGroup]:
    """A few rows and, where there are more, a way to all."""
    shown = list(items[:ROWS_MAX])
    if number > len(shown):
        left = f"{number - len(shown)}{'+' if number == LOOKED_AT_MAX else ''} more"
        shown.append(AttentionItem(left, kind, below, f"See all {up_to(number, LOOKED_AT_MAX)}"))
    if number:
        yield AttentionGroup(number, shown)


def _unusual(visitor: DashboardVisitor, found: Sequence[UnusualFacts]) -> Iterator[AttentionGroup]:
    since = (visitor.times.today - WEEK).isoformat()
    for facts in found:
        is_over = facts.variance is Variance.OVERPAYMENT
        items = []
        for row in facts.newest:
            gap = amount(Money(abs(row.received_minor - row.expected_minor), row.currency))
            words = f"{gap} too {'much' if is_over else 'little'}"
            more = f"{row.reference} · {payer_of(visitor, row.customer_name)}"
            act = "Refund excess" if is_over else "Decide"
            items.append(AttentionItem(words, more, f"/payments/{row.pay_code}", act))
        wanted = {"q": "is:unrefunded", "variance": "over" if is_over else "under", "status": "success", "from": since}
        kind = f"{'over' if is_over else 'under'}paid in the last week"
        yield from _group(facts.number, items, kind=kind, below=f"/payments?{urlencode(wanted)}")


def _attention(visitor: DashboardVisitor, facts: AttentionFacts) -> Iterator[AttentionGroup]:
    since = f"from={(visitor.times.today - WEEK).isoformat()}"
    if not visitor.business.takes_cards:
        more = "payers are offered your other methods; so it is done where stolen cards may be tried out"
        yield AttentionGroup(1, [AttentionItem("Cards are paused", more, "/payments", "Open")])
    for number, one, more, below, act in (
        (facts.open_approvals, "refund", "waiting for a second person", "/refunds?tab=approve", "Review"),
        (facts.held_inflows, "inflow", "held for a decision", "/inflows?status=pending", "See why"),
        (facts.returned_inflows, "inflow", "returned in the last week", f"/inflows?days=returned&{since}", "See why"),
        (facts.failed_refunds, "refund", "failed in the last week", f"/refunds?status=failed&{since}", "Open"),
    ):
        if number:
            yield AttentionGroup(number, [AttentionItem(many_up_to(number, one, LOOKED_AT_MAX), more, below, act)])
    endpoints = [
        AttentionItem(
            "Endpoint failing",
            f"{one.url} · {many_up_to(one.waiting, 'event', LOOKED_AT_MAX)} {'waits' if one.waiting == 1 else 'wait'}",
            f"/webhooks?status=pending&endpoint={one.id}",
            "Open",
        )
        for one in facts.failing_endpoints
    ]
    yield from _group(len(endpoints), endpoints, kind="endpoints failing", below="/webhooks")
    keys = [
        AttentionItem("API key ends within a week", name.strip(), "/keys", "Roll it")
        for name in (facts.ending_keys if visitor.may(Permission.KEYS) else ())
    ]
    yield from _group(len(keys), keys, kind="API keys that end within a week", below="/keys")


def _asked(visitor: DashboardVisitor, facts: AttentionFacts) -> Iterator[AttentionGroup]:
    items = [
        AttentionItem("A question about an account", "waiting for your answer", f"/accounts/{account_id}", "Answer")
        for account_id in (facts.asked_accounts if visitor.may(Permission.REQUEST_ACCOUNT) else ())
    ]
    yield from _group(len(items), items, kind="questions about accounts", below="/inflows")


def _alone(visitor: DashboardVisitor, others: int) -> Iterator[AttentionGroup]:
    if others == 0 and visitor.may(Permission.APPROVE):
        words = ("No second person can approve refunds", "so refunds have no limit yet", "/team", "Invite one")
        yield AttentionGroup(1, [AttentionItem(*words)])
