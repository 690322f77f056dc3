"""What every page of the dashboard passes through: session, membership, role, form token, step-up."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from tidegate.audit import model as audit_model
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.clock import Clock
from tidegate.core.errors import AccessDenied, Invalid, NotFound, Problem, Refusal
from tidegate.core.ids import Mode
from tidegate.dashboard import navigation
from tidegate.dashboard.form import OnceAct, do_once, scope_of, show_factor, shows_factor
from tidegate.dashboard.format import Times
from tidegate.dashboard.navigation import NavigationItem
from tidegate.dashboard.renderer import Renderer
from tidegate.infra.db import Database, Tx
from tidegate.infra.http.routing import Route
from tidegate.infra.page.cookie import Cookie, CookieLines
from tidegate.infra.page.csrf import Csrf
from tidegate.infra.page.form import NOTHING_SENT, Form
from tidegate.infra.page.response import Html, StreamedFile, see_other
from tidegate.infra.page.router import PageAnswer, PageRequest, PageRoute, PageRouter
from tidegate.infra.page.site import Site
from tidegate.member import permission
from tidegate.member.limit import SignInLimit
from tidegate.member.model import MemberSession, Membership
from tidegate.member.passkey import Passkeys
from tidegate.member.permission import Grant, Permission
from tidegate.member.sign_in import SignIn
from tidegate.merchant import store as merchants
from tidegate.merchant.model import Business

PATH = "/dashboard"
DEVICE_COOKIE = "tidegate-device"
DEVICE_LASTS_S = 180 * 86_400
# Not carried to the page that asks for a factor, and never drawn again.
_OF_THE_SHELL = frozenset({"token", "factor", "passkey", "sandbox"})


@dataclass(frozen=True)
class DashboardVisitor:
    """Who looks, at which business, as what."""

    request: PageRequest
    session: MemberSession
    membership: Membership
    business: Business
    now: datetime
    # Set when the session got a new id on the way.
    cookies: CookieLines = ()

    @property
    def by(self) -> Actor:
        return audit_model.person(self.session.member.id, self.request.client)

    @property
    def times(self) -> Times:
        return Times(self.business.time_zone, self.now)

    @property
    def form(self) -> Form:
        return self.request.form

    @property
    def navigation(self) -> list[list[NavigationItem]]:
        return navigation.seen_by(self.membership.role)

    def may(self, wanted: Permission) -> bool:
        return permission.may(self.membership.role, wanted)

    @property
    def caller(self) -> str:
        """Whose downloads are counted together."""
        return f"{self.business.id} {self.session.member.id}"

    def path(self, below: str = "") -> str:
        return f"{PATH}/{self.membership.business_code}{below}"


T = TypeVar("T")
DashboardHandler = Callable[[DashboardVisitor], Awaitable[PageAnswer]]


@dataclass(frozen=True)
class DashboardRoute:
    """One row of the table that makes the routes. `path` is below that of the business."""

    method: str
    path: str
    name: str
    permission: Permission
    handler: DashboardHandler
    # Of a form: the page that has it, where that is not the nearest one above.
    page: str | None = None
    # Of a form with a file.
    upload_bytes_max: int | None = None


@dataclass(frozen=True)
class DashboardShell:
    db: Database
    clock: Clock
    mode: Mode
    site: Site
    sign_in: SignIn
    passkeys: Passkeys
    limit: SignInLimit
    renderer: Renderer
    # Available once the database is open.
    secret: Callable[[], bytes]

    @property
    def is_sandbox(self) -> bool:
        return self.mode is Mode.SANDBOX

    @cached_property
    def csrf(self) -> Csrf:
        return Csrf(self.site, key=hmac.digest(self.secret(), b"forms of the dashboard", "sha256"))

    @cached_property
    def session_cookie(self) -> Cookie:
        return Cookie(self.sign_in.realm.cookie, self.site)

    @cached_property
    def device_cookie(self) -> Cookie:
        return Cookie(DEVICE_COOKIE, self.site)

    @cached_property
    def router(self) -> PageRouter:
        return PageRouter(self.render_error)

    def routes(self, table: Sequence[DashboardRoute]) -> list[Route]:
        pages = {row.path for row in table if row.method == "GET"}
        forms = [row for row in table if row.method == "POST" and row.path not in pages]
        return self.router.routes(
            [
                *(self._way_back(row, pages) for row in forms),
                *(
                    PageRoute(
                        row.method,
                        f"{PATH}/{{business}}{row.path}",
                        row.name,
                        self._guarded(row),
                        self.limit.form if row.method == "POST" else None,
                        row.upload_bytes_max,
                    )
                    for row in table
                ),
            ]
        )

    def _way_back(self, row: DashboardRoute, pages: Set[str]) -> PageRoute:
        """A refused form leaves its own address in the browser; a reload of it leads to the page that has the form."""
        below = page_of(row, pages)

        async def handle(request: PageRequest) -> Html:
            path = f"{PATH}/{{business}}{below}".format(**{name: quote(text) for name, text in request.path.items()})
            return see_other(self.site.url(path))

        return PageRoute("GET", f"{PATH}/{{business}}{row.path}", f"{row.name}Page", handle)

    def _guarded(self, row: DashboardRoute) -> Callable[[PageRequest], Awaitable[PageAnswer]]:
        async def handle(request: PageRequest) -> PageAnswer:
            visitor = await self._visitor(request, row.permission)
            if isinstance(visitor, Html):
                return visitor
            if request.method == "POST":
                self.csrf.check(request.headers, request.form.get("token"), scope=scope_of(visitor.session))
                stepped = await self._stepped_up(visitor, row)
                if isinstance(stepped, Html):
                    return stepped
                visitor = stepped
            answer = await row.handler(visitor)
            if isinstance(answer, Html) and visitor.cookies:
                answer = msgspec.structs.replace(answer, cookies=(*answer.cookies, *visitor.cookies))
            elif isinstance(answer, StreamedFile):
                answer.stream.headers += visitor.cookies
            return answer

        return handle

    async def _visitor(self, request: PageRequest, wanted: Permission) -> DashboardVisitor | Html:
        """Or the page where to go first."""
        code = request.path["business"]
        found = await self.sign_in.find(request.cookies.get(self.session_cookie.name), code)
        if found is None:
            return self._to_sign_in(request)
        if found.session.needs_second_factor:
            return see_other(self.site.url(f"{PATH}/second-factor"))
        if found.membership is None:
            raise NotFound("there is nothing at this address")
        if found.session.needs_enrolment(found.membership):
            return see_other(self.site.url(f"{PATH}/two-step"))
        now = self.clock.now_of(found.membership.business_id)
        async with self.db.connection() as tx:
            business = await merchants.find_business(tx, found.membership.business_id)
        assert business is not None
        visitor = DashboardVisitor(request, found.session, found.membership, business, now)
        if found.membership.is_viewed and request.method == "POST":
            raise AccessDenied("you look at this business for the operator, and change nothing")
        if not visitor.may(wanted):
            await self._refuse(visitor, wanted)
        return visitor

    async def _refuse(self, visitor: DashboardVisitor, wanted: Permission) -> None:
        async with self.db.connection() as tx:
            await audit.insert(
                tx, visitor.business.id, visitor.by, action="access.denied", subject=wanted.name.lower(),
                details={"role": visitor.membership.role}, now=visitor.now,
            )  # fmt: skip
        role = visitor.membership.role.value
        raise AccessDenied(f"as {role} you may not {wanted.value}; an owner or admin can change your role")

    def _to_sign_in(self, request: PageRequest) -> Html:
        if request.method == "POST":
            return see_other(self.site.url(f"{PATH}/sign-in"))
        here = f"{PATH}/{request.path['business']}"
        return see_other(self.site.url(f"{PATH}/sign-in?next={quote(here, safe='/')}"))

    async def _stepped_up(self, visitor: DashboardVisitor, row: DashboardRoute) -> DashboardVisitor | Html:
        """Where the role needs it: a factor of the last ten minutes, or the page that asks for one and goes on."""
        if not self._asks_for_factor(visitor, row.permission):
            return visitor
        if not shows_factor(visitor.form):
            return await self._ask_for_factor(visitor, row, None)
        try:
            token = await show_factor(self.sign_in, self.passkeys, visitor.session, self.mode, visitor.form)
        except Invalid as wrong:
            return await self._ask_for_factor(visitor, row, wrong)
        return replace(visitor, cookies=self.session_cookie.set(token))

    def _asks_for_factor(self, visitor: DashboardVisitor, wanted: Permission) -> bool:
        is_needed = permission.grant(visitor.membership.role, wanted) is Grant.STEP_UP
        return is_needed and not visitor.session.is_stepped_up(self.sign_in.clock.now())

    async def _ask_for_factor(self, visitor: DashboardVisitor, row: DashboardRoute, wrong: Invalid | None) -> Html:
        """The form waits in this page's own form, and goes on with it."""
        here = visitor.path(row.path.format(**{name: quote(text) for name, text in visitor.request.path.items()}))
        fields = [(name, value) for name, value in visitor.form.items() if name not in _OF_THE_SHELL]
        return self.page(
            visitor, "step_up.html", title="Confirm it is you", status=422 if wrong else 200, wrong=wrong,
            action=self.site.url(here), fields=fields, member=visitor.session.member,
            passkey=await self.passkeys.options_to_show(visitor.session.member, scope_of(visitor.session)),
        )  # fmt: skip

    def page(
        self, visitor: DashboardVisitor, template: str, *, title: str, status: int = 200, wrong: Refusal | None = None,
        section: str = "", **facts: Any,
    ) -> Html:  # fmt: skip
        """A page in the frame of the business."""
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
            path=lambda below="": self.site.url(visitor.path(below)),
            problems=problems_of(wrong),
            is_sandbox=self.is_sandbox,
            may=lambda name: visitor.may(Permission[name]),
            asks_factor=lambda name: self._asks_for_factor(visitor, Permission[name]),
            # Kept only where something has to be corrected: a form that was taken is empty again.
            typed=visitor.form if wrong else NOTHING_SENT,
            **facts,
        )
        cookies, uses_passkeys = self.csrf.cookie(guest), bool(facts.get("passkey"))
        return Html(body, status, [(b"cache-control", b"no-store")], cookies, uses_passkeys=uses_passkeys)

    def to(self, visitor: DashboardVisitor, below: str) -> Html:
        return see_other(self.site.url(visitor.path(below)))

    async def once(self, visitor: DashboardVisitor, act: OnceAct) -> Html:
        return self.to(visitor, await do_once(self.db, visitor.business.id, visitor.form, act, now=visitor.now))

    async def first_time(self, visitor: DashboardVisitor, below: str, act: Callable[[Tx], Awaitable[T]]) -> T | None:
        """For what is shown in the answer alone. None where the form was sent before: `below` is then the page."""
        made: list[T] = []

        async def keep(tx: Tx) -> str:
            made.append(await act(tx))
            return below

        await self.once(visitor, keep)
        return made[0] if made else None

    def render_error(self, refusal: Refusal, status: int, request: PageRequest) -> Html:
        body = self.renderer.render(
            "error.html",
            nonce=request.nonce,
            title=title_of(status),
            message=refusal.message[:1].upper() + refusal.message[1:],
            request_id=request.request_id,
            home=self.site.url(PATH),
            is_sandbox=self.is_sandbox,
        )
        return Html(body, status, [(b"cache-control", b"no-store")])


_TITLES = {
    403: "You may not do this",
    404: "There is nothing here",
    409: "It has changed meanwhile",
    429: "Too many tries",
    503: "Not available right now",
}


def title_of(status: int) -> str:
    return _TITLES.get(status, "This did not work")


def page_of(row: DashboardRoute, pages: Set[str]) -> str:
    """The page that has the form of a row."""
    if row.page is not None:
        return row.page
    below = row.path
    while below not in pages:
        below = below.rpartition("/")[0]
    return below


def problems_of(wrong: Refusal | None) -> list[tuple[str, str]]:
    """Field and sentence, for the summary at the top of a form."""
    if wrong is None:
        return []
    if isinstance(wrong, Invalid):
        return [(one.field, _sentence(_words_of(one))) for one in wrong.problems]
    return [("", _sentence(wrong.message))]


# Fields as the forms call them. The rules behind them are the API's, and call them by the API's names.
_LABELS = {
    "url": "The address",
    "redirectUrl": "The address where the customer goes",
    "endsAt": "The last day",
    "amountMin": "The least amount",
    "amountMax": "The greatest amount",
    "paymentsMax": "How often it may be paid",
    "successMessage": "The text after the payment",
    "name": "The name",
    "currency": "The currency",
    "amount": "The amount",
    "addresses": "An address",
    "scopes": "What the key may do",
}


def _words_of(problem: Problem) -> str:
    if problem.message[:1].isupper():
        return problem.message
    if problem.field in _LABELS:
        return f"{_LABELS[problem.field]} {problem.message}"
    return problem.text


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
