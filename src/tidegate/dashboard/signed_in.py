"""What every page of signed-in people passes through, in dashboard and console: session, right, form token, form,
step-up."""

from __future__ import annotations

import hmac
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from tidegate.audit.model import Actor
from tidegate.core.clock import Clock
from tidegate.core.errors import BodyTooLarge, Invalid, Problem, RateLimited, Refusal
from tidegate.core.ids import Mode
from tidegate.dashboard.form import OF_THE_SHELL, OnceAct, scope_of, show_factor, shows_factor
from tidegate.dashboard.format import Times
from tidegate.dashboard.next_page import keeping
from tidegate.dashboard.problem import problems_of, title_of
from tidegate.dashboard.renderer import Renderer
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.cookie import Cookie, CookieLines
from tidegate.infra.http.form import NOTHING_SENT, Form
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.routing import Route
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.page.csrf import Csrf
from tidegate.infra.page.response import Html, StreamedFile, see_other
from tidegate.infra.page.router import FailedWithCookies, PageAnswer, PageRequest, PageRoute, PageRouter, refusing
from tidegate.member.model import MemberSession
from tidegate.member.passkey import Passkeys
from tidegate.member.permission import Grant
from tidegate.member.sign_in import SignIn
from tidegate.member.sign_in_limit import SignInLimit

DEVICE_COOKIE = "tidegate-device"
DEVICE_LASTS_S = 180 * 86_400


@dataclass(frozen=True, kw_only=True)
class SignedInVisitor:
    """Who looks, and when."""

    request: PageRequest
    session: MemberSession
    now: datetime
    # Set when the session got a new id on the way.
    cookies: CookieLines = ()

    @property
    def form(self) -> Form:
        return self.request.form

    @property
    @abstractmethod
    def by(self) -> Actor: ...

    @property
    @abstractmethod
    def times(self) -> Times: ...


V = TypeVar("V", bound=SignedInVisitor)
P = TypeVar("P", bound=StrEnum)
T = TypeVar("T")


class Upload(NamedTuple):
    """The field of a form that takes a file, and how many bytes the file may have."""

    field: str
    bytes_max: int

    @property
    def form_bytes_max(self) -> int:
        """With the other fields, and what multipart puts around them."""
        return self.bytes_max + 64 * 1024


@dataclass(frozen=True)
class PageRow(Generic[V, P]):
    """One row of the table that makes the routes. `path` is below that of the shell."""

    method: str
    path: str
    name: str
    permission: P
    handler: Callable[[V], Awaitable[PageAnswer]]
    # Of a form that may ask for a factor: the page that says what is wrong with it, before the factor is asked for;
    # None where nothing is. It writes nothing, and shows nothing that the page with the form does not.
    check: Callable[[V], Awaitable[Html | None]] | None = None
    # Of the same forms: what is confirmed by the factor, as a sentence without its full stop.
    confirms: str | Callable[[V], Awaitable[str]] = ""
    # Of a form: the page that has it, where that is not the nearest one above. Without the factor, back to it.
    page: str | None = None
    # Of a form with a file, and the page that has it, drawn again when the file is too large.
    upload: Upload | None = None
    refused: Callable[[V, Refusal], Awaitable[Html]] | None = None


@dataclass(frozen=True)
class SignedInShell(Generic[V, P]):
    db: Database
    clock: Clock
    mode: Mode
    site: PublicUrl
    sign_in: SignIn
    passkeys: Passkeys
    limit: SignInLimit
    renderer: Renderer
    # Available once the database is open.
    secret: Callable[[], bytes]

    @property
    @abstractmethod
    def prefix(self) -> str:
        """Of the path of every page, such as `/dashboard/{business}`."""

    @abstractmethod
    async def visitor_of(self, request: PageRequest, wanted: P) -> V | Html:
        """Or the page where to go first. Raises AccessDenied without the right."""

    @abstractmethod
    def grant_of(self, visitor: V, wanted: P) -> Grant: ...

    @abstractmethod
    def address(self, visitor: V, below: str) -> str: ...

    @abstractmethod
    def right_named(self, name: str) -> P: ...

    @abstractmethod
    async def once(self, visitor: V, act: OnceAct) -> Html:
        """Does it, and leads to the page that `act` says. A form that was sent before leads there again."""

    async def first_time(self, visitor: V, below: str, act: Callable[[Tx], Awaitable[T]]) -> T | None:
        """For what is shown in the answer alone. None where the form was sent before: `below` is then the page."""
        made: list[T] = []

        async def keep(tx: Tx) -> str:
            made.append(await act(tx))
            return below

        await self.once(visitor, keep)
        return made[0] if made else None

    def facts_of(self, visitor: V) -> dict[str, Any]:
        """What every page of this shell is drawn with besides."""
        return {}

    def way_in(self, below: str, request: PageRequest) -> Html:
        """To a page before this one, which leads back to it. A form is lost; its address leads to the page that has
        it."""
        root = self.sign_in.realm.path
        return see_other(self.site.url(keeping(f"{root}{below}", request.address, root)))

    @property
    def is_sandbox(self) -> bool:
        return self.mode is Mode.SANDBOX

    @cached_property
    def csrf(self) -> Csrf:
        name = f"forms of the {self.sign_in.realm.name}"
        return Csrf(self.site, key=hmac.digest(self.secret(), name.encode(), "sha256"))

    @cached_property
    def session_cookie(self) -> Cookie:
        return Cookie(self.sign_in.realm.cookie, self.site)

    @cached_property
    def device_cookie(self) -> Cookie:
        return Cookie(DEVICE_COOKIE, self.site)

    @cached_property
    def router(self) -> PageRouter:
        return PageRouter(self.render_error)

    def routes(self, table: Sequence[PageRow[V, P]]) -> list[Route]:
        pages = {row.path for row in table if row.method == "GET"}
        table = [replace(row, page=page_of(row, pages)) for row in table]
        forms = [row for row in table if row.method == "POST" and row.path not in pages]
        return self.router.routes(
            [
                *(self._way_back(row) for row in forms),
                *(
                    PageRoute(
                        row.method,
                        f"{self.prefix}{row.path}",
                        row.name,
                        self._guarded(row),
                        self.limit.form if row.method == "POST" else None,
                        row.upload.form_bytes_max if row.upload else None,
                        self._too_large(row),
                    )
                    for row in table
                ),
            ]
        )

    def _way_back(self, row: PageRow[V, P]) -> PageRoute:
        """A refused form leaves its own address in the browser; a reload of it leads to the page that has the form."""

        async def handle(request: PageRequest) -> Html:
            return see_other(self.site.url(_filled(f"{self.prefix}{row.page}", request)))

        return PageRoute("GET", f"{self.prefix}{row.path}", f"{row.name}Page", handle)

    def _guarded(self, row: PageRow[V, P]) -> Callable[[PageRequest], Awaitable[PageAnswer]]:
        async def handle(request: PageRequest) -> PageAnswer:
            visitor = await self.visitor_of(request, row.permission)
            if isinstance(visitor, Html):
                return visitor
            if request.method == "POST":
                self.csrf.check(request.headers, request.form.get("token"), scope=scope_of(visitor.session))
                stepped = await self._stepped_up(visitor, row)
                if isinstance(stepped, Html):
                    return stepped
                visitor = stepped
            answer = await self._handled(row, visitor)
            if isinstance(answer, Html) and visitor.cookies:
                answer = msgspec.structs.replace(answer, cookies=(*answer.cookies, *visitor.cookies))
            elif isinstance(answer, StreamedFile):
                answer.stream.headers += visitor.cookies
            return answer

        return handle

    async def _handled(self, row: PageRow[V, P], visitor: V) -> PageAnswer:
        try:
            return await row.handler(visitor)
        except Exception as error:
            if not visitor.cookies:
                raise
            # The factor gave the session a new token: without it the person would be signed out.
            raise FailedWithCookies(error, visitor.cookies) from error

    def _too_large(self, row: PageRow[V, P]) -> Callable[[PageRequest], Awaitable[Html]] | None:
        """The page is drawn, with what was typed before the file."""
        upload, draw = row.upload, row.refused
        if upload is None or draw is None:
            return None
        most = size_words(upload.bytes_max)
        wrong = Invalid(Problem(upload.field, f"The file is too large. Choose one of at most {most}."))

        async def handle(request: PageRequest) -> Html:
            visitor = await self.visitor_of(request, row.permission)
            if isinstance(visitor, Html):
                return visitor
            try:
                self.csrf.check(request.headers, request.form.get("token"), scope=scope_of(visitor.session))
            except Refusal:
                # Nothing is shown of what another site has typed.
                visitor = replace(visitor, request=msgspec.structs.replace(request, form=NOTHING_SENT))
            return msgspec.structs.replace(await draw(visitor, wrong), status=STATUS_OF[BodyTooLarge])

        return handle

    async def _stepped_up(self, visitor: V, row: PageRow[V, P]) -> V | Html:
        """Where the role needs it: a factor of the last ten minutes, or the page that asks for one and goes on."""
        if not self._asks_for_factor(visitor, row.permission):
            return visitor
        if row.check is not None and (refused := await row.check(visitor)) is not None:
            return refused
        if not shows_factor(visitor.form):
            return await self._ask_for_factor(visitor, row, None)
        try:
            token = await show_factor(self.sign_in, self.passkeys, visitor.session, self.mode, visitor.form)
        except (Invalid, RateLimited) as wrong:
            return refusing(await self._ask_for_factor(visitor, row, wrong), wrong, STATUS_OF[type(wrong)])
        return replace(visitor, cookies=self.session_cookie.set(token))

    def _asks_for_factor(self, visitor: V, wanted: P) -> bool:
        is_needed = self.grant_of(visitor, wanted) is Grant.STEP_UP
        return is_needed and not visitor.session.is_stepped_up(self.sign_in.clock.now())

    async def _ask_for_factor(self, visitor: V, row: PageRow[V, P], wrong: Refusal | None) -> Html:
        """The form waits in this page's own form, and goes on with it."""
        fields = [(name, value) for name, value in visitor.form.items() if name not in OF_THE_SHELL]
        action, back = (self.address(visitor, _filled(at, visitor.request)) for at in (row.path, row.page or ""))
        return self.page(
            visitor, "step_up.html", title="Confirm it is you", wrong=wrong, action=self.site.url(action),
            back=self.site.url(back), fields=fields, member=visitor.session.member,
            confirms=row.confirms if isinstance(row.confirms, str) else await row.confirms(visitor),
            passkey=await self.passkeys.options_to_show(visitor.session.member, scope_of(visitor.session)),
        )  # fmt: skip

    def page(
        self, visitor: V, template: str, *, title: str, status: int = 200, wrong: Refusal | None = None,
        section: str = "", **facts: Any,
    ) -> Html:  # fmt: skip
        """A page in the frame of the shell."""
        request = visitor.request
        guest = self.csrf.visitor_of(request.cookies)
        body = self.renderer.render(
            template,
            nonce=request.nonce,
            title=title,
            visitor=visitor,
            section=section,
            token=self.csrf.token(guest, scope=scope_of(visitor.session)),
            times=visitor.times,
            path=lambda below="": self.site.url(self.address(visitor, below)),
            problems=problems_of(wrong),
            is_sandbox=self.is_sandbox,
            # Read by the script of another page, whose policy refuses this one's style.
            is_only_words=request.headers.one(b"x-only-words") == "yes",
            may=lambda name: self.grant_of(visitor, self.right_named(name)) is not Grant.NO,
            asks_factor=lambda name: self._asks_for_factor(visitor, self.right_named(name)),
            # Kept only where something has to be corrected: a form that was taken is empty again.
            typed=visitor.form if wrong else NOTHING_SENT,
            **self.facts_of(visitor),
            **facts,
        )
        cookies, uses_passkeys = self.csrf.cookie(guest), bool(facts.get("passkey"))
        return Html(body, status, [(b"cache-control", b"no-store")], cookies, uses_passkeys=uses_passkeys)

    def render_error(self, refusal: Refusal, status: int, request: PageRequest) -> Html:
        body = self.renderer.render(
            "error.html",
            nonce=request.nonce,
            title=title_of(status),
            message=refusal.message[:1].upper() + refusal.message[1:],
            request_id=request.request_id,
            home=self.site.url(self.sign_in.realm.path),
            is_sandbox=self.is_sandbox,
        )
        return Html(body, status, [(b"cache-control", b"no-store")])


def size_words(size: int) -> str:
    """In whole units, rounded down."""
    return f"{size // 2**20} MB" if size >= 2**20 else f"{size // 2**10} kB"


def _filled(path: str, request: PageRequest) -> str:
    return path.format(**{name: quote(text) for name, text in request.path.items()})


def page_of(row: PageRow[V, P], pages: Set[str]) -> str:
    """The page that has the form of a row."""
    if row.page is not None:
        return row.page
    below = row.path
    while below not in pages:
        below = below.rpartition("/")[0]
    return below
