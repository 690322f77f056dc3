"""Pages as HTML: the template of a page, and what every page shows around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tidegate.docs.markdown import LinkTo
from tidegate.docs.page import PageContent, PageHead
from tidegate.docs.search import SearchEntry
from tidegate.docs.site import AREAS, CHANGELOG, DocsSite
from tidegate.infra.http.operation import encode

KEYS_PATH = "/docs/keys"
SEARCH_PAGE = PageHead("/docs/search", "Search", "Search the documentation.", "", "", "search.html", has_markdown=False)
_NO_CONTENT = PageContent(html=Markup(), markdown="")


@dataclass(frozen=True)
class DocsRenderer:
    """`link` gives the address of a path of the site, `asset` that of a static file, as a page may use them."""

    site: DocsSite
    asset: LinkTo
    # Whether the pages come from a server that can search and send requests to the API.
    has_server: bool = True
    can_run: bool = False

    def page(self, path: str, link: LinkTo) -> str:
        head = self.site.head(path)
        return self._page(head, self.site.content(path, link), link)

    def search_page(self, query: str, results: Sequence[SearchEntry], link: LinkTo) -> str:
        return self._page(SEARCH_PAGE, _NO_CONTENT, link, query=query, results=results)

    def _page(self, head: PageHead, content: PageContent, link: LinkTo, **facts: Any) -> str:
        before, after = self.site.neighbours(head)
        return self.site.render(
            head.template,
            site=self.site,
            head=head,
            content=content,
            link=link,
            asset=self.asset,
            areas=AREAS,
            navigation=self.site.navigation(head.area) if head.area != "Changelog" else [],
            before=before,
            after=after,
            has_server=self.has_server,
            keys_path=link(KEYS_PATH) if self.can_run else "",
            api_root=link("/").rstrip("/") if self.can_run else "",
            **{"query": "", **facts},
        )

    def index(self, link: LinkTo) -> bytes:
        """For the script that searches: title, address, place, words and keywords of each entry."""
        return encode([(e.title, link_with_anchor(e.path, link), *e[2:]) for e in self.site.index])

    def llms(self, link: LinkTo) -> str:
        areas = [(name, self.site.navigation(name)) for name in ("Guides", "Testing", "Reference")]
        changelog = next(head for head in self.site.heads if head.path == CHANGELOG)
        return self.site.render("llms.txt.md", site=self.site, areas=areas, changelog=changelog, link=link)

    def llms_full(self) -> str:
        return "\n\n---\n\n".join(self.site.markdown(head.path) for head in self.site.heads)


def link_with_anchor(path: str, link: LinkTo) -> str:
    path, _, anchor = path.partition("#")
    return f"{link(path)}#{anchor}" if anchor else link(path)
