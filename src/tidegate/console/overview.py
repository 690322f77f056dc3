"""Overview: what was taken, how rails and books are, and what is to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from tidegate.alarm import health_store
from tidegate.alarm import store as alarm_store
from tidegate.console import hour_chart, queue_store, work_store
from tidegate.console.navigation import console_items
from tidegate.console.queue_store import QueueCounts
from tidegate.console.rail_state import rail_lines
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.console.work_store import CurrencyTaken
from tidegate.core.errors import NotFound
from tidegate.core.money import Currency, Money
from tidegate.dashboard.format import NOTHING, many, percent
from tidegate.dashboard.paging import number_in
from tidegate.doctor import proof_store
from tidegate.doctor.fault import sentence_of
from tidegate.infra.page.response import Html
from tidegate.rail import pause_store
from tidegate.rail.deps import PaymentDeps
from tidegate.reconcile import kept_comparison
from tidegate.staff import store as staff_store
from tidegate.staff.permission import StaffPermission

DAYS = 14
ENDED = 50
MERCHANTS_MAX = 100
HOUR = timedelta(hours=1)
# What has waited longer is marked.
OLD_AFTER = timedelta(days=1)
BAR_STEP, BAR_HEIGHT = 6, 20
HOURS = 24


@dataclass(frozen=True)
class Overview:
    shell: ConsoleShell
    deps: PaymentDeps

    async def show(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            taken = await work_store.list_taken(tx, since=visitor.now - timedelta(days=DAYS), days=DAYS)
            rails = await health_store.list_rail_hours(tx, since=visitor.now - HOUR)
            heard = {
                one: await health_store.find_last_word(tx, one, since=visitor.now - HOUR) for one in self.deps.rails
            }
            proofs = await proof_store.list_newest(tx, limit=1)
            alarms = await alarm_store.list_open(tx)
            paused = await pause_store.list_open(tx)
            names = await staff_store.list_names(tx)
            oldest = await queue_store.list_oldest(tx)
            money = await queue_store.list_waiting_money(tx)
            reconciled = await kept_comparison.find_newest(tx)
            unpaid = await work_store.count_unpaid(tx, since=visitor.now - HOUR * HOURS)
            hours = await work_store.list_hours(tx, since=visitor.now - timedelta(hours=HOURS), hours=HOURS)
        starts, sentence = [visitor.now - HOUR * (HOURS - at) for at in range(HOURS)], hours_words(hours)
        queues = [item for group in console_items(visitor.queues)[:2] for item in group if item.below]
        return self.shell.page(
            visitor, "overview.html", title="Overview", section="Overview",
            alarms=alarms, paused=paused, names=names,
            taken=[taken_words(one, unpaid.get(one.currency, 0)) for one in with_unpaid(taken, unpaid)],
            proof=proofs[0] if proofs else None, sentence_of=sentence_of,
            rails=rail_lines(
                self.deps.rails, rails, heard, {one.rail for one in paused}, since=visitor.now - HOUR
            ),
            reconciled=reconciled, many=many, percent=percent,
            waiting=[
                (item, money.get(item.below, []), age_of(oldest.get(item.below), visitor.now),
                 is_old(oldest.get(item.below), visitor.now))
                for item in queues
                if item.name != "Merchants"
            ],
            by_hour=list(zip(starts, hours, strict=True)), sentence=sentence,
            chart=hour_chart.draw(hours, [f"{one.astimezone(visitor.times.zone):%H:%M}" for one in starts], sentence),
        )  # fmt: skip

    async def show_taken(self, visitor: ConsoleVisitor) -> Html:
        """Whose payments make a figure of the overview."""
        code = visitor.request.path["currency"]
        if code not in Currency.__members__:
            raise NotFound("there is nothing at this address")
        currency, since = Currency(code), visitor.now - timedelta(days=1)
        async with self.shell.db.connection() as tx:
            sums = {one.currency: one.days[-1] for one in await work_store.list_taken(tx, since=since, days=1)}
            rows = await work_store.list_taken_by_merchant(tx, currency, since=since, limit=MERCHANTS_MAX)
        total = sums.get(currency, 0)
        others = total - sum(one.taken.minor for one in rows)
        return self.shell.page(
            visitor, "taken.html", title=f"Taken in {currency}, last 24 hours", section="Overview", rows=rows,
            total=Money(total, currency), others=Money(others, currency) if others else None,
        )  # fmt: skip

    async def show_alarms(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            is_open, ended = await alarm_store.list_open(tx), await alarm_store.list_ended(tx, limit=ENDED)
        return self.shell.page(visitor, "alarms.html", title="Alarms", section="Alarms", open=is_open, ended=ended)

    async def show_alarm(self, visitor: ConsoleVisitor) -> Html:
        """What to do about it, and whether it was there before."""
        number = number_in(visitor.request.path["alarm"])
        async with self.shell.db.connection() as tx:
            alarm = await alarm_store.find(tx, number) if number is not None else None
            if alarm is None:
                raise NotFound("there is nothing at this address")
            alike = await alarm_store.list_alike(tx, alarm, limit=ENDED)
        return self.shell.page(
            visitor, "alarm.html", title="Alarm", section="Alarms", alarm=alarm, alike=alike,
            where=place_of(alarm.page),
        )  # fmt: skip

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "", "showConsole", StaffPermission.SEE, self.show),
            ConsoleRoute("GET", "/taken/{currency}", "showTaken", StaffPermission.SEE, self.show_taken),
            ConsoleRoute("GET", "/alarms", "showAlarms", StaffPermission.SEE, self.show_alarms),
            ConsoleRoute("GET", "/alarms/{alarm}", "showAlarm", StaffPermission.SEE, self.show_alarm),
        ]


def place_of(page: str) -> str:
    """The name of the page that an alarm is about, as the side has it."""
    top = f"/{page.split('/')[1]}"
    if page.startswith("/merchants/"):
        return "the merchant"
    if page.startswith("/webhooks/"):
        return "the endpoint"
    return next(item.name for group in console_items(QueueCounts()) for item in group if item.below == top)


def age_of(since: datetime | None, now: datetime) -> str:
    """Of the oldest that waits; empty where nothing does."""
    if since is None:
        return ""
    minutes = max(int((now - since).total_seconds() // 60), 0)
    for length, unit in ((1440, "d"), (60, "h")):
        if minutes >= 2 * length:
            return f"oldest {minutes // length} {unit}"
    return f"oldest {minutes} min"


def is_old(since: datetime | None, now: datetime) -> bool:
    return since is not None and now - since > OLD_AFTER


def hours_words(payments: list[int]) -> str:
    """Empty where there was none."""
    if not any(payments):
        return ""
    return f"{many(sum(payments), 'payment')} in 24 hours, at most {max(payments):,} in one"


class TakenRow(NamedTuple):
    currency: str
    today: Money
    paid: int
    # Of payments that were made today: ended without money.
    unpaid: int
    success: str
    # Against the same day a week ago.
    change: str
    bars: list[tuple[int, int, int]]


def with_unpaid(taken: Sequence[CurrencyTaken], unpaid: Mapping[Currency, int]) -> list[CurrencyTaken]:
    """Also where nothing was taken at all."""
    others = unpaid.keys() - {one.currency for one in taken}
    return sorted([*taken, *(CurrencyTaken(one, [0] * DAYS, 0) for one in others)], key=lambda one: one.currency.value)


def taken_words(one: CurrencyTaken, unpaid: int) -> TakenRow:
    """With bars of at most their height."""
    today, week_ago, most = one.days[-1], one.days[-8], max(*one.days, 1)
    change = f"{round((today - week_ago) * 100 / week_ago):+d}%" if week_ago else NOTHING
    heights = [minor * BAR_HEIGHT // most for minor in one.days]
    bars = [(at * BAR_STEP, BAR_HEIGHT - height, height) for at, height in enumerate(heights)]
    success = percent(one.payments, one.payments + unpaid)
    return TakenRow(one.currency.value, Money(today, one.currency), one.payments, unpaid, success, change, bars)
