"""Saved views of the list of payments: save, rename, delete, share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidegate.core.errors import AccessDenied, Conflict, Invalid, NotFound, Problem
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


@dataclass(frozen=True)
class ViewPages:
    shell: DashboardShell

    async def create(self, visitor: DashboardVisitor) -> Html:
        form, person_id = visitor.form, visitor.session.member.id
        filters, name = search_box.kept_in(form), name_in(form.get("name", ""))
        search_box.filter_in(filters, visitor.times)
        is_shared = "shared" in form
        if is_shared and not visitor.may(Permission.SHARE_VIEWS):
            raise AccessDenied(f"as {visitor.membership.role.value} you may not {Permission.SHARE_VIEWS.value}")
        if not filters:
            raise Invalid(Problem("name", "Choose a filter first: a view keeps the filters of the list."))

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
        async with self.shell.db.transaction() as tx:
            seen = await view_store.list_seen(tx, visitor.business.id, visitor.session.member.id, limit=VIEWS_MAX * 2)
            found = next((one for one in seen if one.id == number), None)
            if found is None or what not in ("rename", "delete"):
                raise NotFound("there is nothing at this address")
            if not found.is_own and not visitor.may(Permission.SHARE_VIEWS):
                raise AccessDenied("this view is shared by another person; an owner, admin or finance can change it")
            if what == "delete":
                await view_store.delete(tx, visitor.business.id, found.id)
            else:
                await view_store.rename(tx, visitor.business.id, found.id, name_in(visitor.form.get("name", "")))
        kept = search_box.address_of(found.filters) if what == "rename" else ""
        return self.shell.to(visitor, f"/payments?{kept}" if kept else "/payments")

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("POST", "/views", "saveView", Permission.SEE, self.create, page="/payments"),
            DashboardRoute("POST", "/views/{view}", "changeView", Permission.SEE, self.change, page="/payments"),
        ]


def name_in(text: str) -> str:
    return field.name_in(text, chars_max=NAME_CHARS_MAX)
