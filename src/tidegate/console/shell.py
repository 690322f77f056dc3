"""What every page of the console passes through: session, staff, role, form token, step-up."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote

import msgspec

from tidegate.audit import model as audit_model
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.console import queue_store
from tidegate.console.navigation import ConsoleItem, console_items
from tidegate.console.queue_store import QueueCounts
from tidegate.core.clock import Clock
from tidegate.core.errors import AccessDenied, Invalid, Refusal
from tidegate.core.ids import PLATFORM_BUSINESS_ID, Mode
from tidegate.dashboard.form import OnceAct, do_once, scope_of, show_factor, shows_factor
from tidegate.dashboard.format import Times
from tidegate.dashboard.renderer import Renderer
from tidegate.dashboard.shell import DEVICE_COOKIE, problems_of, title_of
from tidegate.infra.db import Database
from tidegate.infra.http.routing import Route
from tidegate.infra.page.cookie import Cookie, CookieLines
from tidegate.infra.page.csrf import Csrf
from tidegate.infra.page.form import Form
from tidegate.infra.page.response import Html, see_other
from tidegate.infra.page.router import PageAnswer, PageRequest, PageRoute, PageRouter
from tidegate.infra.page.site import Site
from tidegate.member.limit import SignInLimit
from tidegate.member.model import MemberSession
from tidegate.member.passkey import Passkeys
from tidegate.member.permission import Grant
from tidegate.member.realm import CONSOLE
from tidegate.member.sign_in import SignIn
from tidegate.staff import store as staff_store
from tidegate.staff.model import StaffMember
from tidegate.staff.permission import StaffPermission, grant_of, is_granted

PATH = CONSOLE.path
# Not carried to the page that asks for a factor, and never drawn again.
_OF_THE_SHELL = frozenset({"token", "factor", "passkey"})


@dataclass(frozen=True)
class ConsoleVisitor:
    """Who looks, and as what."""

    request: PageRequest
    session: MemberSession
    staff: StaffMember
    now: datetime
    queues: QueueCounts = field(default_factory=QueueCounts)
    # Set when the session got a new id on the way.
    cookies: CookieLines = ()

    @property
    def by(self) -> Actor:
        return audit_model.staff(self.staff.member.id, self.request.client)

    @property
    def times(self) -> Times:
        return Times("UTC", self.now)

    @property
    def form(self) -> Form:
        return self.request.form

    @property
    def navigation(self) -> list[list[ConsoleItem]]:
        return console_items(self.queues)

    def may(self, wanted: StaffPermission) -> bool:
        return is_granted(self.staff.role, wanted)


ConsoleHandler = Callable[[ConsoleVisitor], Awaitable[PageAnswer]]


@dataclass(frozen=True)
class ConsoleRoute:
    """One row of the table that makes the routes."""

    method: str
    path: str
    name: str
    permission: StaffPermission
    handler: ConsoleHandler
    # Of a form with a file.
    upload_bytes_max: int | None = None


@dataclass(frozen=True)
class ConsoleShell:
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

    @cached_property
    def csrf(self) -> Csrf:
        return Csrf(self.site, key=hmac.digest(self.secret(), b"forms of the console", "sha256"))

    @cached_property
    def session_cookie(self) -> Cookie:
        return Cookie(self.sign_in.realm.cookie, self.site)

    @cached_property
    def device_cookie(self) -> Cookie:
        return Cookie(DEVICE_COOKIE, self.site)

    @cached_property
    def router(self) -> PageRouter:
        return PageRouter(self.render_error)

    def routes(self, table: Sequence[ConsoleRoute]) -> list[Route]:
        return self.router.routes(
            PageRoute(
                row.method, PATH + row.path, row.name, self._guarded(row),
                self.limit.form if row.method == "POST" else None, row.upload_bytes_max,
            )
            for row in table
        )  # fmt: skip

    def _guarded(self, row: ConsoleRoute) -> Callable[[PageRequest], Awaitable[PageAnswer]]:
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
            if visitor.cookies and isinstance(answer, Html):
                answer = msgspec.structs.replace(answer, cookies=(*answer.cookies, *visitor.cookies))
            return answer

        return handle

    async def _visitor(self, request: PageRequest, wanted: StaffPermission) -> ConsoleVisitor | Html:
        """Or the page where to go first."""
        found = await self.sign_in.find(request.cookies.get(self.session_cookie.name), None)
        if found is None:
            return see_other(self.site.url(f"{PATH}/sign-in"))
        session = found.session
        if session.needs_second_factor:
            return see_other(self.site.url(f"{PATH}/second-factor"))
        if session.lacks_second_factor:
            return see_other(self.site.url(f"{PATH}/two-step"))
        async with self.db.connection() as tx:
            staff = await staff_store.find(tx, session.member.id)
            if staff is None:
                return see_other(self.site.url(f"{PATH}/sign-in"))
            queues = await queue_store.count(tx)
        visitor = ConsoleVisitor(request, session, staff, self.clock.now(), queues)
        if not visitor.may(wanted):
            await self._refuse(visitor, wanted)
        return visitor

    async def _refuse(self, visitor: ConsoleVisitor, wanted: StaffPermission) -> None:
        role = visitor.staff.role.value
        async with self.db.connection() as tx:
            await audit.insert(
                tx, PLATFORM_BUSINESS_ID, visitor.by, action="access.denied", subject=wanted.name.lower(),
                details={"role": role}, now=visitor.now,
            )  # fmt: skip
        raise AccessDenied(f"as {role} you may not {wanted.value}; another of the staff can")

    async def _stepped_up(self, visitor: ConsoleVisitor, row: ConsoleRoute) -> ConsoleVisitor | Html:
        """Where the role needs it: a factor of the last ten minutes, or the page that asks for one and goes on."""
        is_needed = grant_of(visitor.staff.role, row.permission) is Grant.STEP_UP
        if not is_needed or visitor.session.is_stepped_up(self.sign_in.clock.now()):
            return visitor
        if not shows_factor(visitor.form):
            return await self._ask_for_factor(visitor, row, None)
        try:
            token = await show_factor(self.sign_in, self.passkeys, visitor.session, self.mode, visitor.form)
        except Invalid as wrong:
            return await self._ask_for_factor(visitor, row, wrong)
        return replace(visitor, cookies=self.session_cookie.set(token))

    async def _ask_for_factor(self, visitor: ConsoleVisitor, row: ConsoleRoute, wrong: Invalid | None) -> Html:
        """The form waits in this page's own form, and goes on with it."""
        below = row.path.format(**{name: quote(text) for name, text in visitor.request.path.items()})
        fields = [(name, value) for name, value in visitor.form.items() if name not in _OF_THE_SHELL]
        return self.page(
            visitor, "step_up.html", title="Confirm it is you", status=422 if wrong else 200, wrong=wrong,
            action=self.site.url(PATH + below), fields=fields, member=visitor.session.member,
            passkey=await self.passkeys.options_to_show(visitor.session.member, scope_of(visitor.session)),
        )  # fmt: skip

    def page(
        self, visitor: ConsoleVisitor, template: str, *, title: str, status: int = 200, wrong: Refusal | None = None,
        section: str = "", **facts: Any,
    ) -> Html:  # fmt: skip
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
            path=lambda below="": self.site.url(PATH + below),
            problems=problems_of(wrong),
            is_sandbox=self.mode is Mode.SANDBOX,
            may=lambda name: visitor.may(StaffPermission[name]),
            typed=visitor.form,
            said=SAID.get(request.query.get("said", ""), ""),
            **facts,
        )
        cookies, uses_passkeys = self.csrf.cookie(guest), bool(facts.get("passkey"))
        return Html(body, status, [(b"cache-control", b"no-store")], cookies, uses_passkeys=uses_passkeys)

    def to(self, below: str) -> Html:
        return see_other(self.site.url(PATH + below))

    async def once(self, visitor: ConsoleVisitor, act: OnceAct) -> Html:
        return self.to(await do_once(self.db, PLATFORM_BUSINESS_ID, visitor.form, act, now=visitor.now))

    def render_error(self, refusal: Refusal, status: int, request: PageRequest) -> Html:
        body = self.renderer.render(
            "error.html",
            nonce=request.nonce,
            title=title_of(status),
            message=refusal.message[:1].upper() + refusal.message[1:],
            request_id=request.request_id,
            home=self.site.url(PATH),
            is_sandbox=self.mode is Mode.SANDBOX,
        )
        return Html(body, status, [(b"cache-control", b"no-store")])


# What a page says after a form; the address has the word alone.
SAID = {
    "proposed": "Proposed. It waits for one of the approvers.",
    "approved": "Approved and done.",
    "declined": "Declined; nothing was done.",
    "done": "Done.",
}
