"""Routes pages to their handlers. Every outcome, errors included, is answered with a page, unless it is left to the
application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
from markupsafe import Markup
from starlette.types import Receive, Scope

from tidegate.core.errors import BodyTooLarge, MethodNotAllowed, NotFound, RateLimited, Refusal
from tidegate.infra.http.client import client_of
from tidegate.infra.http.cookie import NOTHING_SET, CookieLines, cookies_of
from tidegate.infra.http.csp_reports import REPORTS_PATH
from tidegate.infra.http.download import Downloads
from tidegate.infra.http.error_answer import headers_of, outcome_of
from tidegate.infra.http.form import NOTHING_SENT, Form, Query, parse_query, read_form
from tidegate.infra.http.operation import Headers, Stream
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.request_limit import Limit
from tidegate.infra.http.routing import Route, path_of
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.http.upload import is_upload, read_fields_before_file, read_upload
from tidegate.infra.page.response import EncodedPage, File, Html, StreamedFile, encode_page
from tidegate.infra.page.security import new_nonce, page_headers


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page."""

    method: str
    # As it was sent: path and query.
    address: str
    path: Mapping[str, str]
    query: Query
    headers: Headers
    cookies: Mapping[str, str]
    client: str
    request_id: str
    # The only scripts and styles that run in the answer are the ones that carry it.
    nonce: str
    form: Form = NOTHING_SENT


PageAnswer = Html | File | StreamedFile
PageHandler = Callable[[PageRequest], Awaitable[PageAnswer]]


class FailedWithCookies(Exception):
    """What a handler failed with when the browser was owed cookies already; the page that says so has them."""

    def __init__(self, error: Exception, cookies: CookieLines) -> None:
        super().__init__(str(error))
        self.error, self.cookies = error, cookies


# Also for unexpected exceptions, with status 500.
RenderError = Callable[[Refusal, int, PageRequest], Html]
# The page of a visitor who is rate limited; raises the refusal for an ordinary error page.
RenderSlowed = Callable[[RateLimited, PageRequest], Awaitable[Html]]


@dataclass(frozen=True)
class PageRoute:
    method: str
    path: str
    name: str
    handler: PageHandler
    # Checked before a form is read.
    limit: Limit | None = None
    # Of a form with a file: how many bytes the whole form may have, and what answers one that has more.
    upload_bytes_max: int | None = None
    too_large: Callable[[PageRequest], Awaitable[Html]] | None = None


_PLAIN = Markup(
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>{status}</title><p>{message}</p><p>{request_id}</p></html>"
)


def plain_error(refusal: Refusal, status: int, request: PageRequest) -> Html:
    """For pages without an error page of their own, and for an error page that fails itself."""
    return Html(_PLAIN.format(status=status, message=refusal.message, request_id=request.request_id).encode())


@dataclass(frozen=True)
class PageRouter:
    # None: the application answers, in the form that the client prefers.
    render_error: RenderError | None = plain_error
    render_slowed: RenderSlowed | None = None
    # Where browsers send what they refused; see csp_reports.py.
    reports_to: str = REPORTS_PATH
    downloads: Downloads = field(default_factory=Downloads)

    def routes(self, pages: Iterable[PageRoute]) -> list[Route]:
        by_path: dict[str, dict[str, PageRoute]] = {}
        for page in pages:
            by_path.setdefault(page.path, {})[page.method] = page
        return [Route(path, _PageEndpoint(self, methods)) for path, methods in by_path.items()]

    def nothing_else(self, path: str) -> Route:
        """A page that says so for every other address there, whatever the method."""
        return Route(path, _PageEndpoint(self, {}))


class _PageEndpoint:
    """All pages of one path, as an ASGI application."""

    def __init__(self, router: PageRouter, by_method: Mapping[str, PageRoute]) -> None:
        self._router = router
        self._by_method = dict(by_method)
        if "GET" in by_method:
            self._by_method["HEAD"] = by_method["GET"]  # The server leaves out the body.

    async def __call__(self, scope: Scope, receive: Receive, reply: Reply) -> None:
        request = _request_of(scope)
        try:
            page = self._page_for(request.method)
            scope["tidegate.operation"] = page.name
            made = await self._answer_of(page, request, scope, receive)
            if isinstance(made, StreamedFile):
                await self._send(made, request, scope, receive, reply)
                return
            answer = self._encoded(made, request)
        except Exception as error:
            # Part of a file is sent: the connection ends, and the browser knows that it is not whole.
            if reply.status or self._router.render_error is None:
                raise
            answer = self._encoded_error(error, self._router.render_error, request, scope)
        await reply.whole(answer.status, answer.body, answer.headers)

    async def _send(
        self, made: StreamedFile, request: PageRequest, scope: Scope, receive: Receive, reply: Reply
    ) -> None:
        made.stream.headers += page_headers(request.nonce, self._router.reports_to, None)

        async def make() -> Stream:
            return made.stream

        await self._router.downloads.send_made(made, make, scope, receive, reply, caller=made.caller)

    async def _answer_of(self, page: PageRoute, request: PageRequest, scope: Scope, receive: Receive) -> PageAnswer:
        try:
            if page.limit:
                page.limit(scope)
            if request.method == "POST":
                request = msgspec.structs.replace(request, form=await _form_of(page, request, scope, receive))
            return await page.handler(request)
        except BodyTooLarge as refusal:
            if page.too_large is None:
                raise
            typed = await read_fields_before_file(request.headers, receive)
            html = await page.too_large(msgspec.structs.replace(request, form=typed))
            closing = headers_of(refusal, STATUS_OF[BodyTooLarge])
            return Html(html.body, html.status, [*html.headers, *closing], html.cookies)
        except RateLimited as refusal:
            if self._router.render_slowed is None:
                raise
            return refusing(await self._router.render_slowed(refusal, request), refusal, STATUS_OF[RateLimited])

    def _page_for(self, method: str) -> PageRoute:
        if method in self._by_method:
            return self._by_method[method]
        if not self._by_method:
            raise NotFound("there is nothing at this address")
        raise MethodNotAllowed(sorted(self._by_method))

    def _encoded_error(self, error: Exception, render: RenderError, request: PageRequest, scope: Scope) -> EncodedPage:
        cookies = NOTHING_SET
        if isinstance(error, FailedWithCookies):
            cookies = error.cookies
            error = error.error

        def encoded(render: RenderError, failed: Exception) -> EncodedPage:
            status, refusal = outcome_of(failed, scope)
            html = refusing(render(refusal, status, request), refusal, status)
            return self._encoded(msgspec.structs.replace(html, cookies=(*html.cookies, *cookies)), request)

        try:
            return encoded(render, error)
        except Exception as second:
            return encoded(plain_error, second)

    def _encoded(self, answer: Html | File, request: PageRequest) -> EncodedPage:
        return encode_page(answer, request.headers, nonce=request.nonce, reports_to=self._router.reports_to)


async def _form_of(page: PageRoute, request: PageRequest, scope: Scope, receive: Receive) -> Form:
    if page.upload_bytes_max is not None and is_upload(request.headers):
        return await read_upload(request.headers, scope, receive, bytes_max=page.upload_bytes_max)
    return await read_form(request.headers, scope, receive)


def refusing(html: Html, refusal: Refusal, status: int) -> Html:
    return msgspec.structs.replace(html, status=status, headers=[*html.headers, *headers_of(refusal, status)])


def _request_of(scope: Scope) -> PageRequest:
    headers, raw_path, raw_query = Headers(scope["headers"]), scope["raw_path"], scope["query_string"]
    return PageRequest(
        method=scope["method"],
        address=(raw_path + b"?" + raw_query if raw_query else raw_path).decode("latin-1"),
        path=path_of(scope),
        query=parse_query(raw_query),
        headers=headers,
        cookies=cookies_of(headers),
        client=client_of(scope),
        request_id=scope["tidegate.request_id"],
        nonce=new_nonce(),
    )
