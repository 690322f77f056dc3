"""Replay of webhooks: a period is chosen, its deliveries are counted, and then sent again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tidegate.core.errors import Invalid, NotFound, Problem, Refusal
from tidegate.dashboard import equivalent_command
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.webhook import commands
from tidegate.webhook.log_store import ReplayCount, Window
from tidegate.webhook.model import EVENT_CHANNEL

USUAL = timedelta(days=1)


@dataclass(frozen=True)
class ReplayPages:
    shell: DashboardShell

    async def show(self, visitor: DashboardVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: DashboardVisitor, wrong: Refusal | None = None) -> Html:
        query, business_id = visitor.request.query, visitor.business.id
        which, endpoint = query.get("which", "failed"), query.get("endpoint", "")
        count, code = ReplayCount(0, 0), ""
        since = visitor.times.field(visitor.now - USUAL)
        try:
            window = window_in(visitor, query.get("since", since), endpoint, which)
            since = visitor.times.field(window.start)
            async with self.shell.db.connection() as tx:
                count = await commands.count_replay(tx, business_id, window)
            code = equivalent_command.replay(self.shell.site.base_url, window)
        except (Invalid, NotFound) as refused:
            wrong = wrong or refused
        return self.shell.page(
            visitor, "replay.html", title="Replay a period", section="Webhooks", wrong=wrong,
            status=422 if wrong else 200, since=since, count=count.sent, erased=count.erased, code=code, which=which,
            endpoint=endpoint, endpoints=await commands.list_all(self.shell.db, business_id),
        )  # fmt: skip

    async def send(self, visitor: DashboardVisitor) -> Html:
        form = visitor.form
        try:
            window = window_in(visitor, form.get("since", ""), form.get("endpoint", ""), form.get("which", ""))

            async def act(tx: Tx) -> str:
                await commands.replay(tx, visitor.business.id, window, by=visitor.by, now=visitor.now)
                return "/webhooks"

            answer = await self.shell.once(visitor, act)
        except (Invalid, NotFound) as wrong:
            return await self._page(visitor, wrong)
        self.shell.db.notify(EVENT_CHANNEL)
        return answer

    def routes(self) -> list[DashboardRoute]:
        at = "/webhooks/replay"
        return [
            DashboardRoute("GET", at, "showReplay", Permission.REPLAY, self.show),
            DashboardRoute("POST", at, "replayDeliveries", Permission.REPLAY, self.send),
        ]


def window_in(visitor: DashboardVisitor, since: str, endpoint: str, which: str) -> Window:
    """From then until now."""
    try:
        start = datetime.fromisoformat(since[:19])
    except ValueError:
        raise Invalid(Problem("since", "Enter a day and a time, such as 2026-11-16 13:41.")) from None
    if start.tzinfo is None:
        start = start.replace(tzinfo=visitor.times.zone)
    if which not in ("failed", "all"):
        raise Invalid(Problem("which", "Choose what is sent again."))
    return Window(
        start=start.astimezone(UTC), end=visitor.now, endpoint_id=endpoint or None, only_undelivered=which == "failed"
    )
