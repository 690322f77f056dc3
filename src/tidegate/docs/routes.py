"""The documentation site: /docs for people, Markdown, /llms.txt and /openapi.json for programs."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from tidegate.core.errors import NotFound
from tidegate.docs import downloads, postman, search
from tidegate.docs.markdown import LinkTo
from tidegate.docs.page import ROOT, PageHead
from tidegate.docs.renderer import KEYS_PATH, SEARCH_PAGE, DocsRenderer
from tidegate.docs.site import DocsSite
from tidegate.infra.http.accept import prefers
from tidegate.infra.http.compress import accepts_gzip, gzip_once
from tidegate.infra.http.operation import Headers, encode
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.routing import Route, answering
from tidegate.infra.page import static
from tidegate.infra.page.response import File, Html
from tidegate.infra.page.router import PageRequest, PageRoute, PageRouter

_PACKAGE = "tidegate.docs"
MARKDOWN = "text/markdown; charset=utf-8"
_VARIES = (b"vary", b"accept, accept-encoding")
QUERY_LENGTH_MAX = 100


@dataclass(frozen=True)
class SandboxKeys:
    """Of the test business, for running examples. Only a local sandbox has them."""

    secret_key: str
    public_key: str
    business_id: str

    @property
    def by_header(self) -> dict[str, str]:
        return {"api-key": self.secret_key, "x-pub-key": self.public_key, "x-business-id": self.business_id}


def routes(docs: DocsSite, keys: SandboxKeys | None, router: PageRouter | None = None) -> list[Route]:
    """A page is made when it is first asked for, and kept."""
    site = PublicUrl(docs.base_url)
    assets = static.load(_PACKAGE, "static", under=f"{ROOT}/static", site=site)
    renderer = DocsRenderer(docs, lambda name: assets[name].url, can_run=keys is not None)
    pages = _Pages(docs, renderer, site.url)
    return [
        _json("/openapi.json", lambda: encode(docs.document)),
        _json(postman.PATH, lambda: encode(postman.collection(docs.document))),
        *downloads.routes(),
        *(router or PageRouter()).routes([*pages.routes(), *([_keys(keys)] if keys else [])]),
        *static.routes(assets.values()),
    ]


def _json(path: str, make: Callable[[], bytes]) -> Route:
    body = cache(make)
    compressed = cache(lambda: gzip_once(body()))

    async def show(request: Request) -> Response:
        headers = {"vary": "accept-encoding"}
        if not accepts_gzip(Headers(request.scope["headers"]).all(b"accept-encoding")):
            return Response(await to_thread(body), media_type="application/json", headers=headers)
        headers["content-encoding"] = "gzip"
        return Response(await to_thread(compressed), media_type="application/json", headers=headers)

    return answering(path, show)


class _Pages:
    """What is made for the first time is made in a thread, so that no other request waits for it."""

    def __init__(self, docs: DocsSite, renderer: DocsRenderer, link: LinkTo) -> None:
        self._docs, self._renderer, self._link = docs, renderer, link
        self._html, self._markdown = cache(self._made_html), cache(self._made_markdown)
        self._index = cache(self._made_index)
        self._texts = {"/llms.txt": cache(self._made_llms), "/llms-full.txt": cache(renderer.llms_full)}

    def routes(self) -> list[PageRoute]:
        found = [PageRoute("GET", SEARCH_PAGE.path, "searchDocs", self._search)]
        found.append(PageRoute("GET", f"{ROOT}/search.json", "showSearchIndex", self._show_index))
        for head in self._docs.heads:
            found += self._routes_of(head)
        # As of every other page, `.md` after its address.
        found.append(PageRoute("GET", f"{ROOT}.md", "showDocsAsMarkdown", self._show_overview_as_markdown))
        found += [self._text_route(path) for path in self._texts]
        return found

    def _routes_of(self, head: PageHead) -> list[PageRoute]:
        async def show(request: PageRequest) -> Html | File:
            if prefers(request.headers.all(b"accept"), "text/markdown", over="text/html"):
                return await to_thread(self._markdown, head.path)
            return await to_thread(self._html, head.path)

        async def show_markdown(_: PageRequest) -> File:
            return await to_thread(self._markdown, head.path)

        return [
            PageRoute("GET", head.path, "showDocs", show),
            PageRoute("GET", head.markdown_path, "showDocsAsMarkdown", show_markdown),
        ]

    async def _show_overview_as_markdown(self, _: PageRequest) -> File:
        return await to_thread(self._markdown, ROOT)

    def _text_route(self, path: str) -> PageRoute:
        async def show(_: PageRequest) -> File:
            return File((await to_thread(self._texts[path])).encode(), MARKDOWN)

        return PageRoute("GET", path, "showDocsForMachines", show)

    def _made_html(self, path: str) -> Html:
        body = self._renderer.page(path, self._link).encode()
        return Html(body, headers=[_VARIES], compressed=gzip_once(body))

    def _made_llms(self) -> str:
        return self._renderer.llms(lambda path: f"{self._docs.base_url}{path}")

    def _made_markdown(self, path: str) -> File:
        return File(self._docs.markdown(path).encode(), MARKDOWN, headers=[_VARIES])

    def _made_index(self) -> File:
        body = self._renderer.index(self._link)
        return File(body, "application/json; charset=utf-8", compressed=gzip_once(body))

    async def _show_index(self, _: PageRequest) -> File:
        return await to_thread(self._index)

    async def _search(self, request: PageRequest) -> Html:
        """For readers without scripts."""
        query = request.query.get("q", "")[:QUERY_LENGTH_MAX]
        results = search.found(query, await to_thread(lambda: self._docs.index))
        return Html(self._renderer.search_page(query, results, self._link).encode())


def _keys(keys: SandboxKeys) -> PageRoute:
    async def show(request: PageRequest) -> File:
        """Only for a script of our own pages; a browser sends this header, and no other site can."""
        if request.headers.one(b"sec-fetch-site") != "same-origin":
            raise NotFound("there is nothing at this address")
        return File(encode(keys.by_header), "application/json; charset=utf-8")

    return PageRoute("GET", KEYS_PATH, "showSandboxKeys", show)
