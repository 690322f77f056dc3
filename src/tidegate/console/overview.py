"""Overview: what was taken, how rails and books are, and what is to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tidegate.alarm import health_store
from tidegate.alarm import store as alarm_store
from tidegate.console import work_store
from tidegate.console.navigation import console_items
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.console.work_store import CurrencyTaken
from tidegate.core.money import Money
from tidegate.dashboard.format import NOTHING, percent
from tidegate.doctor import proof_store
from tidegate.infra.page.response import Html
from tidegate.staff.permission import StaffPermission

DAYS = 14
ENDED = 50
HOUR = timedelta(hours=1)
BAR_STEP, BAR_HEIGHT = 6, 20


@dataclass(frozen=True)
class Overview:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            taken = await work_store.list_taken(tx, since=visitor.now - timedelta(days=DAYS), days=DAYS)
            rails = await health_store.list_rail_hours(tx, since=visitor.now - HOUR)
            proofs = await proof_store.list_newest(tx, limit=1)
            alarms = await alarm_store.list_open(tx)
        queues = [item for group in console_items(visitor.queues)[:2] for item in group if item.below]
        return self.shell.page(
            visitor, "overview.html", title="Overview", section="Overview",
            alarms=alarms, taken=[taken_words(one) for one in taken], proof=proofs[0] if proofs else None,
            rails=[(one, percent(one.succeeded, one.succeeded + one.failed)) for one in rails],
            waiting=[(item.name, item.below, item.waiting) for item in queues if item.name != "Merchants"],
        )  # fmt: skip

    async def show_alarms(self, visitor: ConsoleVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            is_open, ended = await alarm_store.list_open(tx), await alarm_store.list_ended(tx, limit=ENDED)
        return self.shell.page(visitor, "alarms.html", title="Alarms", section="Alarms", open=is_open, ended=ended)

    def routes(self) -> list[ConsoleRoute]:
        return [
            ConsoleRoute("GET", "", "showConsole", StaffPermission.SEE, self.show),
            ConsoleRoute("GET", "/alarms", "showAlarms", StaffPermission.SEE, self.show_alarms),
        ]


def taken_words(one: CurrencyTaken) -> tuple[str, Money, int, str, list[tuple[int, int, int]]]:
    """Currency, today, payments, against a week ago, and bars of at most their height."""
    today, week_ago, most = one.days[-1], one.days[-8], max(*one.days, 1)
    change = f"{(today - week_ago) * 100 // week_ago:+d}%" if week_ago else NOTHING
    heights = [minor * BAR_HEIGHT // most for minor in one.days]
    bars = [(at * BAR_STEP, BAR_HEIGHT - height, height) for at, height in enumerate(heights)]
    return one.currency.value, Money(today, one.currency), one.payments, change, bars
