"""Saved views of the list of payments: save, rename, delete, share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidegate.core.errors import AccessDenied, Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.dashboard import search_box, view_store
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.dashboard.view_store import SavedView
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.merchant import field

VIEWS_MAX = 30
NAME_CHARS_MAX = 60
_DATES = frozenset({"from", "to"})


class ViewTab(NamedTuple):
    view: SavedView
    name: str
    address: str
    is_shown: bool


def tabs(views: Sequence[SavedView], query: Mapping[str, str]) -> list[ViewTab]:
    """A view without dates keeps those that are chosen now."""
    here = search_box.kept_in(query)
    dates = {name: here[name] for name in _DATES if name in here}
    found = []
    for view in views:
        wanted = view.filters if _DATES & view.filters.keys() else {**dates, **view.filters}
        found.append(ViewTab(view, view.name, search_box.address_of(wanted), wanted == here))
    return found


# The list with these filters, and why its view was not saved.
DrawList = Callable[[DashboardVisitor, Mapping[str, str], Refusal], Awaitable[Html]]


@dataclass(frozen=True)
class ViewPages:
    shell: DashboardShell
    draw_list: DrawList

    async def create(self, visitor: DashboardVisitor) -> Html:
        filters = search_box.kept_in(visitor.form)
        try:
            return await self._create(visitor, filters)
        except (Invalid, Conflict) as wrong:
            return await self.draw_list(visitor, filters, wrong)

    async def _create(self, visitor: DashboardVisitor, filters: dict[str, str]) -> Html:
        form, person_id = visitor.form, visitor.session.member.id
        name, is_shared = name_in(form.get("name", "")), "shared" in form
        search_box.filter_in(filters, visitor.times)
        if is_shared and not visitor.may(Permission.SHARE_VIEWS):
            raise AccessDenied(f"as {visitor.membership.role.value} you may not {Permission.SHARE_VIEWS.value}")
        if not filters:
            raise Invalid(Problem("", "Choose a filter first: a view keeps the filters of the list."))

        async def act(tx: Tx) -> str:
            if len(await view_store.list_seen(tx, visitor.business.id, person_id, limit=VIEWS_MAX)) >= VIEWS_MAX:
                raise Conflict(f"there are {VIEWS_MAX} views, the limit; delete one first")
            await view_store.insert(
                tx, visitor.business.id, person_id, name, filters, is_shared=is_shared, now=visitor.now
            )
            return f"/payments?{search_box.address_of(filters)}"

        return await self.shell.once(visitor, act)

    async def change(self, visitor: DashboardVisitor) -> Html:
        """Rename or delete."""
        number, what = number_in(visitor.request.path["view"]), visitor.form.get("what", "")
        try:
            name, wrong = name_in(visitor.form.get("name", "")), None
        except Invalid as problem:
            name, wrong = "", problem
        async with self.shell.db.transaction() as tx:
            seen = await view_store.list_seen(tx, visitor.business.id, visitor.session.member.id, limit=VIEWS_MAX * 2)
            found = next((one for one in seen if one.id == number), None)
            if found is None or what not in ("rename", "delete"):
                raise NotFound("there is nothing at this address")
            if not found.is_own and not visitor.may(Permission.SHARE_VIEWS):
                raise AccessDenied("this view is shared by another person; an owner, admin or finance can change it")
            if what == "delete":
                await view_store.delete(tx, visitor.business.id, found.id)
            elif wrong is None:
                await view_store.rename(tx, visitor.business.id, found.id, name)
        if wrong is not None and what == "rename":
            return await self.draw_list(visitor, found.filters, wrong)
        kept = search_box.address_of(found.filters) if what == "rename" else ""
        return self.shell.to(visitor, f"/payments?{kept}" if kept else "/payments")

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("POST", "/views", "saveView", Permission.SEE, self.create, page="/payments"),
            DashboardRoute("POST", "/views/{view}", "changeView", Permission.SEE, self.change, page="/payments"),
        ]


def name_in(text: str) -> str:
    return field.name_in(text, chars_max=NAME_CHARS_MAX)
