"""Payment links: the list, a new one, one with its QR code; end, reopen, duplicate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.core.errors import Conflict, Invalid, NotFound, Refusal
from tidegate.core.method import MethodNames
from tidegate.core.money import CHECKOUT_OFFERS
from tidegate.dashboard import equivalent_command
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.http.read import read
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.payment.wire import MethodsTaken
from tidegate.payment_link import commands, wire
from tidegate.payment_link.model import LinkKind, LinkState, LinkView

PAGE = 50
WORDS = {
    LinkState.OPEN: ("Open", "good"),
    LinkState.ENDED: ("Ended", ""),
    LinkState.EXPIRED: ("Expired", ""),
    LinkState.USED_UP: ("Paid", "good"),
}
_TEXTS = ("name", "currency", "endsAt", "successMessage", "redirectUrl")
_NUMBERS = ("amount", "amountMin", "amountMax", "paymentsMax")


@dataclass(frozen=True)
class LinkDashboard:
    shell: DashboardShell
    names: MethodNames
    taken: MethodsTaken
    links_url: str

    async def show_list(self, visitor: DashboardVisitor) -> Html:
        return await self._list(visitor)

    async def _list(self, visitor: DashboardVisitor, wrong: Refusal | None = None) -> Html:
        before = visitor.request.query.get("before")
        number = (await self._find(visitor, before)).link.number if before else None
        page = await commands.list_page(
            self.shell.db, visitor.business.id, is_ended=None, before_number=number, limit=PAGE, now=visitor.now
        )
        older = f"{visitor.path('/links')}?before={page.views[-1].link.id}" if page.has_more else None
        return self.shell.page(
            visitor, "links.html", title="Payment links", section="Payment links", wrong=wrong,
            status=422 if wrong else 200, views=page.views, words=WORDS, older=older,
            currencies=[currency.value for currency in CHECKOUT_OFFERS],
            code=equivalent_command.create_link(self.shell.site.base_url, next(iter(CHECKOUT_OFFERS))),
        )  # fmt: skip

    async def create(self, visitor: DashboardVisitor) -> Html:
        value = _value_in(visitor)
        check = partial(
            wire.problems_with, value=value, business=visitor.business, names=self.names, mode=self.shell.mode,
            taken=self.taken, now=visitor.now,
        )  # fmt: skip
        try:
            terms = wire.terms_from(read(value, wire.CreateLink, check), visitor.business, self.names)
        except Invalid as wrong:
            return await self._list(visitor, wrong)

        async def act(tx: Tx) -> str:
            made = await commands.create(tx, visitor.business, terms, by=visitor.by, now=visitor.now)
            return f"/links/{made.link.id}"

        return await self.shell.once(visitor, act)

    async def show(self, visitor: DashboardVisitor) -> Html:
        return self._page(visitor, await self._find(visitor, visitor.request.path["link"]))

    def _page(self, visitor: DashboardVisitor, view: LinkView, wrong: Refusal | None = None) -> Html:
        record = wire.record_of(view, self.names, self.links_url, now=visitor.now)
        word, tint = WORDS[record.state]
        return self.shell.page(
            visitor, "link.html", title=view.link.terms.name, section="Payment links", wrong=wrong,
            status=409 if wrong else 200, link=view.link, terms=view.link.terms, use=view.use, record=record,
            word=word, tint=tint, is_ended=view.link.ended_at is not None,
            qr_path=self.shell.site.url(f"/link/{view.link.id}/qr.svg"),
            png_path=self.shell.site.url(f"/link/{view.link.id}/qr.png"),
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
            raise NotFound("there is no such action")
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
            DashboardRoute("POST", "/links", "makeLink", Permission.MANAGE_PAYMENTS, self.create),
            DashboardRoute("GET", at, "showLink", Permission.SEE, self.show),
            DashboardRoute("POST", at, "changeLink", Permission.MANAGE_PAYMENTS, self.change),
        ]


def _value_in(visitor: DashboardVisitor) -> dict[str, Any]:
    """As the API takes it. An empty field is left out; a number that is none stays text, and is refused by its name."""
    form = visitor.form
    value: dict[str, Any] = {"kind": form.get("kind", LinkKind.REUSABLE.value), "name": "", "currency": ""}
    value |= {name: text for name in _TEXTS if (text := form.get(name, "").strip())}
    for name in _NUMBERS:
        if text := form.get(name, "").strip():
            value[name] = int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else text
    return value
