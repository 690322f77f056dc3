"""The sandbox's time: to the next event, and a sample month of trade. Absent in live mode."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.clock import ShiftedClock
from tidegate.core.errors import Conflict
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.infra.vault import Vault
from tidegate.member.permission import Permission
from tidegate.sandbox import receiver, store
from tidegate.sandbox.trade import DAYS
from tidegate.sandbox.wire import AHEAD_MAX

NOTHING_DUE = "nothing is due: no payment, transfer, refund, webhook or approval waits for a time"


@dataclass(frozen=True)
class TimePages:
    shell: DashboardShell
    clock: ShiftedClock
    vault: Vault

    async def go_to_next(self, visitor: DashboardVisitor) -> Html:
        async with self.shell.db.transaction() as tx:
            moment = await store.find_next_event(tx, visitor.business.id, now=visitor.now)
            if moment is None:
                raise Conflict(NOTHING_DUE)
            ahead = await store.advance(tx, visitor.business.id, moment - visitor.now, ahead_max=AHEAD_MAX)
        if ahead is not None:
            self.clock.learn(visitor.business.id, ahead)
        return self.shell.to(visitor, "")

    async def trade(self, visitor: DashboardVisitor) -> Html:
        """The worker trades day after day; Home shows how far it is."""

        async def act(tx: Tx) -> str:
            await receiver.place(
                tx, self.vault, visitor.business.id, self.shell.site.base_url, by=visitor.by, now=visitor.now
            )
            await store.request_trade(tx, visitor.business.id, days=DAYS)
            return ""

        return await self.shell.once(visitor, act)

    def routes(self) -> list[DashboardRoute]:
        may = Permission.SANDBOX
        return [
            DashboardRoute("POST", "/sandbox/next", "goToNextEvent", may, self.go_to_next),
            DashboardRoute("POST", "/sandbox/trade", "tradeSampleMonth", may, self.trade),
        ]
