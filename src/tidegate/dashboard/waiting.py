"""What waits for the merchant, by page: the numbers beside the pages' names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidegate.dashboard import home_store
from tidegate.dashboard.format import many_up_to, up_to
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission

MOST = home_store.LOOKED_AT_MAX


class WaitingItem(NamedTuple):
    number: str
    words: str
    # The page beside whose name the number stands, and where what waits is listed.
    page: str
    below: str


@dataclass(frozen=True)
class WaitingPages:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        async with self.shell.db.connection() as tx:
            inflows, refunds, events = await home_store.count_waiting(tx, visitor.business.id, now=visitor.now)
        found = [
            (inflows, "inflow", "held for a check", "/inflows", "/inflows?status=pending"),
            (refunds, "refund", "to approve", "/refunds", "/refunds?tab=approve"),
        ]
        if visitor.may(Permission.DELIVERIES):
            on_the_way = "on the way to an endpoint that fails"
            found.append((events, "event", on_the_way, "/webhooks", "/webhooks?status=pending"))
        waiting = [
            WaitingItem(up_to(number, MOST), f"{many_up_to(number, one, MOST)} {how}", page, below)
            for number, one, how, page, below in found
            if number
        ]
        return self.shell.page(visitor, "waiting.html", title="What waits", waiting=waiting)

    def routes(self) -> list[DashboardRoute]:
        return [DashboardRoute("GET", "/waiting", "showWaiting", Permission.SEE, self.show)]
