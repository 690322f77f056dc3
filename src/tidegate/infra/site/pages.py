"""Pages of the service itself, in one look: its front page, and what browsers get instead of a refusal in JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.types import Receive, Scope

from tidegate.core.errors import MethodNotAllowed, Refusal
from tidegate.core.ids import Mode
from tidegate.infra.http.accept import prefers
from tidegate.infra.http.cookie import NOTHING_SET, CookieLines
from tidegate.infra.http.csp_reports import REPORTS_PATH
from tidegate.infra.http.error_answer import headers_of
from tidegate.infra.http.operation import Headers, encode
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.routing import Route
from tidegate.infra.page import static
from tidegate.infra.page.response import File, Html, encode_page
from tidegate.infra.page.router import PageRequest, PageRoute, PageRouter
from tidegate.infra.page.security import new_nonce

_PACKAGE = "tidegate.infra.site"
STATIC_PATH = "/static"
_FIXED = ("favicon.ico", "favicon.svg", "robots.txt")
VARIES = (b"vary", b"accept")
_TITLES = {
    404: "Page not found",
    405: "This address takes other requests",
    429: "Too many requests",
    503: "Not available right now",
}


@dataclass(frozen=True)
class Suggestion:
    """Where a reader may have wanted to go from an address."""

    words: str
    # Path and text.
    links: Sequence[tuple[str, str]]


Suggest = Callable[[str], Suggestion | None]
_BUG = "Something went wrong on our side"


def wants_page(headers: Headers) -> bool:
    """Browsers name text/html first. A request with an API key comes from a program, whatever it accepts."""
    is_program = bool(headers.all(b"api-key"))
    return not is_program and prefers(headers.all(b"accept"), "text/html", over="application/json")


class SitePages:
    def __init__(
        self,
        site: PublicUrl,
        *,
        is_sandbox: bool,
        has_docs: bool,
        operator_name: str = "",
        operator_contact: str = "",
        packages: Sequence[str] = (),
        suggest: Suggest = lambda _: None,
        for_people: tuple[str, ...] = (),
    ) -> None:
        """Below the paths `for_people` every error is a page, whatever the client says that it wants."""
        self.site = site
        self._for_people = for_people
        self.has_docs = has_docs
        self._suggest = suggest
        self._files = static.load(_PACKAGE, "static", under=STATIC_PATH, site=site)
        self._environment = Environment(
            loader=ChoiceLoader([PackageLoader(name) for name in (_PACKAGE, *packages)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(
            files=self._files, site=site, is_sandbox=is_sandbox, has_docs=has_docs, operator_name=operator_name,
            operator_contact=operator_contact,
        )  # fmt: skip

    @cached_property
    def router(self) -> PageRouter:
        """Its errors are answered by `answer_page`, as those of addresses without a page are."""
        return PageRouter(None, reports_to=self.site.url(REPORTS_PATH))

    def html(self, template: str, *, status: int = 200, cookies: CookieLines = NOTHING_SET, **facts: Any) -> Html:
        text = self._environment.get_template(template).render(**facts)
        return Html(text.encode(), status, [VARIES], cookies)

    def _error(self, refusal: Refusal, status: int, request_id: str, suggestion: Suggestion | None) -> Html:
        title = _TITLES.get(status) or (_BUG if status >= 500 else "This request was refused")
        return self.html(
            "error.html",
            status=status,
            title=title,
            message=refusal.message[:1].upper() + refusal.message[1:],
            is_missing=status == 404 and suggestion is None,
            suggestion=suggestion,
            request_id=request_id,
        )

    async def answer_page(self, refusal: Refusal, status: int, scope: Scope, reply: Reply) -> bool:
        """For the application: a page instead of an error in JSON, where the client wants one."""
        headers = Headers(scope["headers"])
        if not (wants_page(headers) or scope["path"].startswith(self._for_people)):
            return False
        html = self._error(refusal, status, scope["tidegate.request_id"], self._suggest(scope["path"]))
        answer = encode_page(
            Html(html.body, status, [*html.headers, *headers_of(refusal, status)]),
            headers,
            nonce=new_nonce(),
            reports_to=self.site.url(REPORTS_PATH),
        )
        await reply.whole(answer.status, answer.body, answer.headers)
        return True

    def routes(self) -> list[Route]:
        fixed = [Route(f"/{name}", _FixedFile(self._files[name])) for name in _FIXED]
        return [*static.routes(self._files.values()), *fixed]


@dataclass(frozen=True)
class HomePage:
    """The address itself: a small page for people, a few links for programs."""

    pages: SitePages
    mode: Mode

    async def show(self, request: PageRequest) -> Html | File:
        if wants_page(request.headers):
            return self.pages.html("home.html")
        base_url = self.pages.site.base_url
        links = {"docs": f"{base_url}/docs", "openapi": f"{base_url}/openapi.json"} if self.pages.has_docs else {}
        body = encode({"name": "Tidegate", "mode": self.mode.value, **links})
        return File(body, "application/json; charset=utf-8", headers=[VARIES])

    def routes(self) -> list[Route]:
        return self.pages.router.routes([PageRoute("GET", "/", "showHome", self.show)])


class _FixedFile:
    """Asked for at these addresses whatever a page says, so they cannot be named after their content."""

    def __init__(self, file: static.StaticFile) -> None:
        self._body = file.body
        self._headers = [
            (b"content-type", file.media_type.encode("ascii")),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"public, max-age=86400"),
        ]

    async def __call__(self, scope: Scope, _: Receive, reply: Reply) -> None:
        scope["tidegate.operation"] = static.OPERATION
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed(["GET", "HEAD"])
        await reply.whole(200, self._body, self._headers)
