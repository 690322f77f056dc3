"""Pages before all others, of dashboard and console: sign in, second factor, new password."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from tidegate.core.errors import Conflict, Invalid, NotFound, RateLimited, Refusal
from tidegate.core.ids import Mode
from tidegate.dashboard import next_page
from tidegate.dashboard.form import scope_of
from tidegate.dashboard.problem import problems_of
from tidegate.dashboard.renderer import Renderer
from tidegate.dashboard.signed_in import DEVICE_LASTS_S
from tidegate.infra.db import Database
from tidegate.infra.http.cookie import Cookie, CookieLines
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.routing import Route
from tidegate.infra.page.csrf import Csrf
from tidegate.infra.page.response import File, Html, see_other
from tidegate.infra.page.router import PageRequest, PageRoute, PageRouter
from tidegate.member.model import Member, MemberSession
from tidegate.member.passkey import Passkeys
from tidegate.member.sign_in import RESET, SignedIn, SignIn, SignInRequest
from tidegate.member.sign_in_limit import SignInLimit

SCOPE = "gate"

SignedHandler = Callable[[PageRequest, MemberSession], Awaitable[Html]]
SignInHandler = Callable[[PageRequest], Awaitable[Html | File]]
# Method, path below that of the realm, name, handler.
SignInRow = tuple[str, str, str, SignInHandler]


class SignInShell(Protocol):
    """What they need of the pages behind it."""

    @property
    def db(self) -> Database: ...
    @property
    def mode(self) -> Mode: ...
    @property
    def site(self) -> PublicUrl: ...
    @property
    def sign_in(self) -> SignIn: ...
    @property
    def passkeys(self) -> Passkeys: ...
    @property
    def limit(self) -> SignInLimit: ...
    @property
    def renderer(self) -> Renderer: ...
    @property
    def csrf(self) -> Csrf: ...
    @property
    def session_cookie(self) -> Cookie: ...
    @property
    def device_cookie(self) -> Cookie: ...
    @property
    def router(self) -> PageRouter: ...


@dataclass(frozen=True)
class SignInPages(ABC):
    shell: SignInShell

    @property
    def path(self) -> str:
        return self.shell.sign_in.realm.path

    def page(
        self, request: PageRequest, template: str, *, title: str, scope: str = SCOPE, wrong: Refusal | None = None,
        status: int = 200, cookies: CookieLines = (), **facts: Any,
    ) -> Html:  # fmt: skip
        shell = self.shell
        guest = shell.csrf.visitor_of(request.cookies)
        body = shell.renderer.render(
            template,
            nonce=request.nonce,
            title=title,
            token=shell.csrf.token(guest, scope=scope),
            problems=problems_of(wrong),
            typed=request.form,
            is_sandbox=shell.mode is Mode.SANDBOX,
            sign_in_url=lambda below="": shell.site.url(self.path + below),
            realm=shell.sign_in.realm.name,
            **facts,
        )
        status = _STATUS.get(type(wrong), 422) if wrong else status
        headers = [(b"cache-control", b"no-store")]
        if isinstance(wrong, RateLimited) and wrong.retry_after_s:
            headers.append((b"retry-after", str(wrong.retry_after_s).encode()))
        uses_passkeys = bool(facts.get("passkey"))
        return Html(body, status, headers, (*shell.csrf.cookie(guest), *cookies), uses_passkeys=uses_passkeys)

    def check(self, request: PageRequest, scope: str = SCOPE) -> None:
        self.shell.csrf.check(request.headers, request.form.get("token"), scope=scope)

    def sign_in_request(self, request: PageRequest) -> SignInRequest:
        browser = (request.headers.one(b"user-agent") or "unknown")[:200]
        return SignInRequest(browser, request.client, request.cookies.get(self.shell.device_cookie.name))

    def entered(self, signed_in: SignedIn, path: str) -> Html:
        cookies = (
            *self.shell.session_cookie.set(signed_in.token),
            *self.shell.device_cookie.set(signed_in.device, max_age_s=DEVICE_LASTS_S),
        )
        return Html(b"", 303, [(b"location", self.shell.site.url(path).encode())], cookies)

    def to(self, path: str, cookies: CookieLines = ()) -> Html:
        html = see_other(self.shell.site.url(path))
        return Html(html.body, html.status, html.headers, cookies)

    def next_in(self, text: str) -> str:
        """Home for everything that is not surely a page of ours."""
        return next_page.next_in(text, self.path)

    def keeping(self, below: str, after: str) -> str:
        return next_page.keeping(self.path + below, after, self.path)

    # Signing in

    async def show_sign_in(self, request: PageRequest) -> Html:
        return self._sign_in_page(request, after=self.next_in(request.query.get("next", "")))

    def _sign_in_page(self, request: PageRequest, *, after: str, wrong: Refusal | None = None) -> Html:
        said = "Your new password is set. Sign in with it." if request.query.get("said") == "reset" else ""
        passkey = self.shell.passkeys.options_to_enter()
        return self.page(request, "sign_in.html", title="Sign in", wrong=wrong, after=after, said=said, passkey=passkey)

    async def sign_in(self, request: PageRequest) -> Html:
        self.check(request)
        after = self.next_in(request.form.get("next", ""))
        try:
            if "passkey" in request.form:
                entered = await self.shell.passkeys.enter(request.form["passkey"], self.sign_in_request(request))
                return self.entered(entered, after)
            signed_in = await self.shell.sign_in.with_password(
                request.form.get("email", ""), request.form.get("password", ""), self.sign_in_request(request)
            )
        except (Invalid, RateLimited) as wrong:
            return self._sign_in_page(request, after=after, wrong=wrong)
        has_more = signed_in.member.has_second_factor
        return self.entered(signed_in, self.keeping("/second-factor", after) if has_more else after)

    async def show_second_factor(self, request: PageRequest, session: MemberSession) -> Html:
        after = self.next_in(request.query.get("next", ""))
        return (
            await self._second_factor_page(request, session, after) if session.needs_second_factor else self.to(after)
        )

    async def _second_factor_page(
        self, request: PageRequest, session: MemberSession, after: str, wrong: Refusal | None = None
    ) -> Html:
        scope = scope_of(session)
        return self.page(
            request, "second_factor.html", title="Second step", scope=scope, wrong=wrong, after=after,
            passkey=await self.shell.passkeys.options_to_show(session.member, scope),
            has_totp=session.member.has_totp,
        )  # fmt: skip

    async def second_factor(self, request: PageRequest, session: MemberSession) -> Html:
        form, after = request.form, self.next_in(request.form.get("next", ""))
        try:
            if "passkey" in form:
                token = await self.shell.passkeys.show(session, form["passkey"], scope_of(session))
            else:
                token = await self.shell.sign_in.second_factor(session, form.get("code", ""))
        except (Invalid, RateLimited) as wrong:
            return await self._second_factor_page(request, session, after, wrong)
        return self.to(after, self.shell.session_cookie.set(token))

    async def sign_out(self, request: PageRequest, session: MemberSession) -> Html:
        await self.shell.sign_in.sign_out(request.cookies.get(self.shell.session_cookie.name, ""))
        return self.to(f"{self.path}/sign-in", self.shell.session_cookie.set("", max_age_s=0))

    # A new password

    async def show_forgot(self, request: PageRequest) -> Html:
        return self.page(request, "forgot.html", title="New password", is_sent=False)

    async def forgot(self, request: PageRequest) -> Html:
        self.check(request)
        try:
            await self.shell.sign_in.ask_for_reset(request.form.get("email", ""))
        except Invalid as wrong:
            return self.page(request, "forgot.html", title="New password", is_sent=False, wrong=wrong)
        return self.page(request, "forgot.html", title="New password", is_sent=True)

    async def show_reset(self, request: PageRequest) -> Html:
        member = await self.shell.sign_in.find_link(request.path["link"], RESET)
        return self.page(request, "reset.html", title="New password", email=member.email)

    async def reset(self, request: PageRequest) -> Html:
        self.check(request)
        try:
            await self.shell.sign_in.reset_password(request.path["link"], request.form.get("password", ""))
        except Invalid as wrong:
            member = await self.shell.sign_in.find_link(request.path["link"], RESET)
            return self.page(request, "reset.html", title="New password", email=member.email, wrong=wrong)
        return self.to(f"{self.path}/sign-in?said=reset")

    # The sandbox's own people

    async def show_enter(self, request: PageRequest) -> Html:
        """Nothing is spent by looking: a preview of a chat program burns no link."""
        sign_in = self.shell.sign_in
        member = await sign_in.find_link(request.path["link"], sign_in.realm.enter)
        role = await self.role_of(member)
        return self.page(request, "enter.html", title="Enter the sandbox", member=member, role=role)

    @abstractmethod
    async def role_of(self, member: Member) -> str:
        """Of a person of the sandbox, where there is one."""

    async def enter(self, request: PageRequest) -> Html:
        self.check(request)
        signed_in = await self.shell.sign_in.enter(request.path["link"], self.sign_in_request(request))
        return self.entered(signed_in, self.path)

    def signed(self, handler: SignedHandler, *, is_complete: bool = True) -> Callable[[PageRequest], Awaitable[Html]]:
        """For a signed-in person; complete: with the second factor shown, where there is one."""

        async def handle(request: PageRequest) -> Html:
            found = await self.shell.sign_in.find(request.cookies.get(self.shell.session_cookie.name), None)
            given = request.form if request.method == "POST" else request.query
            # What is no page to come back to leads where it would have led itself.
            after = request.address if is_complete and request.method != "POST" else given.get("next", "")
            if found is None:
                return self.to(self.keeping("/sign-in", after))
            if is_complete and found.session.needs_second_factor:
                return self.to(self.keeping("/second-factor", after))
            if request.method == "POST":
                self.check(request, scope_of(found.session))
            return await handler(request, found.session)

        return handle

    def more(self) -> list[SignInRow]:
        """Pages of one realm only."""
        return []

    def routes(self) -> list[Route]:
        signed = self.signed
        table: list[SignInRow] = [
            *self.more(),
            ("GET", "/sign-in", "showSignIn", self.show_sign_in),
            ("POST", "/sign-in", "signIn", self.sign_in),
            ("GET", "/second-factor", "showSecondFactor", signed(self.show_second_factor, is_complete=False)),
            ("POST", "/second-factor", "giveSecondFactor", signed(self.second_factor, is_complete=False)),
            ("POST", "/sign-out", "signOut", signed(self.sign_out, is_complete=False)),
            ("GET", "/forgot", "showForgotten", self.show_forgot),
            ("POST", "/forgot", "askForReset", self.forgot),
            ("GET", "/reset/{link}", "showReset", self.show_reset),
            ("POST", "/reset/{link}", "resetPassword", self.reset),
        ]
        if self.shell.mode is Mode.SANDBOX:
            table += [
                ("GET", "/enter/{link}", "showEntrance", self.show_enter),
                ("POST", "/enter/{link}", "enterSandbox", self.enter),
            ]
        return self.routes_of(table)

    def routes_of(self, table: Iterable[SignInRow]) -> list[Route]:
        address = self.shell.limit.address
        return self.shell.router.routes(
            PageRoute(method, self.path + path, name, handler, address if method == "POST" else None)
            for method, path, name, handler in table
        )


_STATUS: dict[type, int] = {RateLimited: 429, NotFound: 404, Conflict: 409}
