"""The address itself: a small page for people, a few links for programs."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.ids import Mode
from tidegate.infra.http.operation import encode
from tidegate.infra.http.routing import Route
from tidegate.infra.page.answer import File, Html
from tidegate.infra.page.door import Page, Visit
from tidegate.infra.page.site_pages import VARIES, SitePages, wants_page


def description(pages: SitePages, mode: Mode) -> File:
    base_url = pages.site.base_url
    links = {"docs": f"{base_url}/docs", "openapi": f"{base_url}/openapi.json"} if pages.has_docs else {}
    body = encode({"name": "Tidegate", "mode": mode.value, **links})
    return File(body, "application/json; charset=utf-8", headers=[VARIES])


@dataclass(frozen=True)
class HomePage:
    pages: SitePages
    mode: Mode

    async def show(self, visit: Visit) -> Html | File:
        return self.pages.html("home.html") if wants_page(visit.headers) else description(self.pages, self.mode)

    def routes(self) -> list[Route]:
        return self.pages.door.routes([Page("GET", "/", "showHome", self.show)])
