"""Payment links: the list, one with its QR code and poster; end, reopen, duplicate."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.checkout.language.catalog import LANGUAGES
from tidegate.core.errors import Conflict, Invalid, NotFound, Refusal
from tidegate.core.method import MethodNames
from tidegate.dashboard.form import NO_ACTION
from tidegate.dashboard.list_filter import faults_in
from tidegate.dashboard.payment_page import METHOD_WORDS
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment_link import commands, wire
from tidegate.payment_link.model import LinkState, LinkView

PAGE = 50
WORDS = {
    LinkState.OPEN: ("Open", "good"),
    LinkState.ENDED: ("Ended", ""),
    LinkState.EXPIRED: ("Expired", ""),
    LinkState.USED_UP: ("Paid", "good"),
}


@dataclass(frozen=True)
class LinkDashboard:
    shell: DashboardShell
    names: MethodNames
    links_url: str

    async def show_list(self, visitor: DashboardVisitor) -> Html:
        query = visitor.request.query
        problems = [*faults_in(query, ())]
        if problems:
            return self.shell.page(
                visitor, "links.html", title="Payment links", section="Payment links", views=[],
                wrong=Invalid(*problems), status=422,
            )  # fmt: skip
        before = query.get("before")
        number = (await self._find(visitor, before)).link.number if before else None
        page = await commands.list_page(
            self.shell.db, visitor.business.id, is_ended=None, before_number=number, limit=PAGE, now=visitor.now
        )
        older = f"{visitor.path('/links')}?before={page.views[-1].link.id}" if page.has_more else None
        return self.shell.page(
            visitor, "links.html", title="Payment links", section="Payment links", views=page.views, words=WORDS,
            older=older,
        )  # fmt: skip

    async def show(self, visitor: DashboardVisitor) -> Html:
        return self._page(visitor, await self._find(visitor, visitor.request.path["link"]))

    def _page(self, visitor: DashboardVisitor, view: LinkView, wrong: Refusal | None = None) -> Html:
        record = wire.record_of(view, self.names, self.links_url, now=visitor.now)
        word, tint = WORDS[record.state]
        return self.shell.page(
            visitor, "link.html", title=view.link.terms.name, section="Payment links", wrong=wrong,
            status=409 if wrong else 200, link=view.link, terms=view.link.terms, use=view.use, record=record,
            methods=[METHOD_WORDS[method] for method in view.link.terms.methods], languages=LANGUAGES, word=word,
            tint=tint, is_ended=view.link.ended_at is not None,
            qr_path=self.shell.site.url(f"/link/{view.link.id}/qr.svg"),
            png_path=self.shell.site.url(f"/link/{view.link.id}/qr.png"),
            poster_path=self.shell.site.url(f"/link/{view.link.id}/poster.pdf"),
        )  # fmt: skip

    async def change(self, visitor: DashboardVisitor) -> Html:
        """End, reopen or duplicate: one button each."""
        view = await self._find(visitor, visitor.request.path["link"])
        business, link_id, what = visitor.business, view.link.id, visitor.form.get("what", "")
        if what == "duplicate":

            async def act(tx: Tx) -> str:
                made = await commands.duplicate(tx, business, link_id, by=visitor.by, now=visitor.now)
                return f"/links/{made.link.id}"

            return await self.shell.once(visitor, act)
        change = {"end": commands.end, "reopen": commands.reopen}.get(what)
        if change is None:
            raise NotFound(NO_ACTION)
        try:
            await change(self.shell.db, business.id, link_id, by=visitor.by, now=visitor.now)
        except Conflict as wrong:
            return self._page(visitor, view, wrong)
        return self.shell.to(visitor, f"/links/{link_id}")

    async def _find(self, visitor: DashboardVisitor, link_id: str) -> LinkView:
        return await commands.get(self.shell.db, visitor.business.id, link_id, now=visitor.now)

    def routes(self) -> list[DashboardRoute]:
        at = "/links/{link}"
        return [
            DashboardRoute("GET", "/links", "showLinks", Permission.SEE, self.show_list),
            DashboardRoute("GET", at, "showLink", Permission.SEE, self.show),
            DashboardRoute("POST", at, "changeLink", Permission.MANAGE_PAYMENTS, self.change),
        ]
