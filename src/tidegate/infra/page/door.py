"""The door of pages: whatever happens behind it, the visitor gets a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from markupsafe import Markup
from starlette.types import Receive, Scope

from tidegate.core.errors import MethodNotAllowed, NotFound, RateLimited, Refusal
from tidegate.infra.http.client import client_of
from tidegate.infra.http.error_answer import headers_of, outcome_of
from tidegate.infra.http.limit import Limit
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.routing import Route
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.in_step import InStep, Steps
from tidegate.infra.page.answer import File, Html, Ready, ready
from tidegate.infra.page.cookie import cookies_of
from tidegate.infra.page.form import NOTHING_SENT, Form, parse_query, read_form
from tidegate.infra.page.security import REPORTS_PATH, new_nonce


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page."""

    method: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Headers
    cookies: Mapping[str, str]
    client: str
    request_id: str
    # The only scripts and styles that run in the answer are the ones that carry it.
    nonce: str
    form: Form = NOTHING_SENT


# What many want at the same moment is drawn in steps.
Drawn = Html | File | Steps[Html]
Handler = Callable[[Visit], Awaitable[Drawn]]
# Also for what nobody expected; then the refusal says so, and the status is 500.
RenderError = Callable[[Refusal, int, Visit], Html]
# What a visitor who is too fast sees; raises the refusal where that is nothing but the refusal itself.
RenderSlowed = Callable[[RateLimited, Visit], Awaitable[Drawn]]


@dataclass(frozen=True)
class Page:
    method: str
    path: str
    name: str
    handler: Handler
    # Checked before a form is read.
    limit: Limit | None = None


_PLAIN = Markup(
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>{status}</title><p>{message}</p><p>{request_id}</p></html>"
)


def plain_error(refusal: Refusal, status: int, visit: Visit) -> Html:
    """For pages without a look of their own, and for the day when another error page fails itself."""
    return Html.of(_PLAIN.format(status=status, message=refusal.message, request_id=visit.request_id))


@dataclass(frozen=True)
class Door:
    render_error: RenderError = plain_error
    render_slowed: RenderSlowed | None = None
    # Where browsers send what they refused; see reports.py.
    reports_to: str = REPORTS_PATH
    in_step: InStep = field(default_factory=InStep)

    def routes(self, pages: Iterable[Page]) -> list[Route]:
        by_path: dict[str, dict[str, Page]] = {}
        for page in pages:
            by_path.setdefault(page.path, {})[page.method] = page
        return [Route(path, _Doorway(self, methods)) for path, methods in by_path.items()]

    def nothing_else(self, path: str) -> Route:
        """A page that says so for every other address there, whatever the method."""
        return Route(path, _Doorway(self, {}))


class _Doorway:
    """All pages of one path, as an ASGI application."""

    def __init__(self, door: Door, by_method: Mapping[str, Page]) -> None:
        self._door = door
        self._by_method = dict(by_method)
        if "GET" in by_method:
            self._by_method["HEAD"] = by_method["GET"]  # The server leaves out the body.

    async def __call__(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        visit = _visit_of(scope)
        try:
            page = self._page_for(visit.method)
            scope["tidegate.operation"] = page.name
            answer = await self._answer_of(page, visit, scope, receive)
        except Exception as error:
            answer = self._ready_for(error, visit, scope)
        await reply.whole(answer.status, answer.body, answer.headers)

    async def _answer_of(self, page: Page, visit: Visit, scope: Scope, receive: Receive) -> Ready:
        try:
            if page.limit:
                page.limit(scope)
            if visit.method == "POST":
                visit = msgspec.structs.replace(visit, form=await read_form(visit.headers, scope, receive))
            drawn, slowed = await page.handler(visit), None
        except RateLimited as refusal:
            if self._door.render_slowed is None:
                raise
            drawn, slowed = await self._door.render_slowed(refusal, visit), refusal
        return await self._door.in_step.do(self._answer(drawn, visit, slowed))

    def _page_for(self, method: str) -> Page:
        if method in self._by_method:
            return self._by_method[method]
        if not self._by_method:
            raise NotFound("there is nothing at this address")
        raise MethodNotAllowed(sorted(self._by_method))

    def _ready_for(self, error: Exception, visit: Visit, scope: Scope) -> Ready:
        status, refusal = outcome_of(error, scope)
        try:
            return self._ready_page(self._door.render_error, refusal, status, visit)
        except Exception as second:
            status, refusal = outcome_of(second, scope)
            return self._ready_page(plain_error, refusal, status, visit)

    def _ready_page(self, render: RenderError, refusal: Refusal, status: int, visit: Visit) -> Ready:
        return self._ready(_refusing(render(refusal, status, visit), refusal, status), visit)

    def _answer(self, drawn: Drawn, visit: Visit, slowed: RateLimited | None) -> Steps[Ready]:
        answer = drawn if isinstance(drawn, Html | File) else (yield from drawn)
        if slowed and isinstance(answer, Html):
            answer = _refusing(answer, slowed, STATUS_OF[RateLimited])
        yield  # Compressing is a step of its own.
        return self._ready(answer, visit)

    def _ready(self, answer: Html | File, visit: Visit) -> Ready:
        return ready(answer, visit.headers, nonce=visit.nonce, reports_to=self._door.reports_to)


def _refusing(html: Html, refusal: Refusal, status: int) -> Html:
    return Html(html.content, status, [*html.headers, *headers_of(refusal, status)], html.cookies)


def _visit_of(scope: Scope) -> Visit:
    headers = Headers(scope["headers"])
    return Visit(
        method=scope["method"],
        path=scope["path_params"],
        query=parse_query(scope["query_string"]),
        headers=headers,
        cookies=cookies_of(headers),
        client=client_of(scope),
        request_id=scope["tidegate.request_id"],
        nonce=new_nonce(),
    )
