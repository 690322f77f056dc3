"""A person's own page: name, password, passkeys, codes of an app, sessions; and the fresh proof that changes need."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import segno
from markupsafe import Markup

from tidegate.core.errors import AccessDenied, Conflict, Invalid, NotFound, RateLimited, Refusal
from tidegate.dashboard.browser_words import browser_words
from tidegate.dashboard.form import NO_ACTION, scope_of, show_factor
from tidegate.dashboard.format import Times
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.sign_in_pages import SignedHandler, SignInPages
from tidegate.infra.http.routing import Route
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageRequest
from tidegate.member import session_store, store, totp
from tidegate.member.model import MemberSession, name_in
from tidegate.member.passkey import Passkeys
from tidegate.member.sign_in import SignIn

# What a fresh proof is asked for, by the page that needs it.
_CONFIRMS = {"/security": "Change how you sign in", "/two-step": "Set up two-step sign-in"}


@dataclass(frozen=True)
class SecurityPages:
    sign_in_pages: SignInPages

    @property
    def passkeys(self) -> Passkeys:
        return self.sign_in_pages.shell.passkeys

    @property
    def sign_in(self) -> SignIn:
        return self.sign_in_pages.shell.sign_in

    def is_fresh(self, session: MemberSession) -> bool:
        """The first second factor needs no proof; everything after it does."""
        return not session.member.has_second_factor or session.is_stepped_up(self.sign_in.clock.now())

    async def show(self, request: PageRequest, session: MemberSession) -> Html:
        return await self._page(request, session)

    async def _page(
        self, request: PageRequest, session: MemberSession, wrong: Refusal | None = None, said: str = ""
    ) -> Html:
        member, now = session.member, self.sign_in.clock.now()
        async with self.sign_in.db.connection() as tx:
            sessions, codes_left = await session_store.list_of(tx, member, now=now)
        known, is_fresh = await self.passkeys.of(member), self.is_fresh(session)
        passkey = self.passkeys.creation_options(member, scope_of(session), known) if is_fresh else ""
        return self.sign_in_pages.page(
            request, "security.html", title="Security", scope=scope_of(session), wrong=wrong, said=said,
            session=session,
            sessions=[(one, browser_words(one.browser)) for one in sessions],
            codes_left=codes_left, times=Times("UTC", now), known=known,
            is_fresh=is_fresh, passkey=passkey, has_passkeys=self.passkeys.rp_id is not None,
        )  # fmt: skip

    async def change(self, request: PageRequest, session: MemberSession) -> Html:
        actions: dict[str, Callable[[PageRequest, MemberSession], Awaitable[str]]] = {
            "name": self._set_name,
            "password": self._set_password,
            "end": self._end,
            "others": self._end_others,
            "passkey": self._remove_passkey,
            "codes": self._switch_off_codes,
        }
        what = request.form.get("what", "")
        if what not in actions:
            raise NotFound(NO_ACTION)
        if what in ("passkey", "codes") and not self.is_fresh(session):
            return self._to_confirm("/security")
        try:
            said = await actions[what](request, session)
        except (Invalid, RateLimited, Conflict) as wrong:
            return await self._page(request, session, wrong)
        return await self._drawn_again(request, session, said)

    async def _drawn_again(self, request: PageRequest, session: MemberSession, said: str) -> Html:
        """With the person as they are now."""
        found = await self.sign_in.find(request.cookies.get(self.sign_in_pages.shell.session_cookie.name), None)
        return await self._page(request, found.session if found else session, said=said)

    async def _set_name(self, request: PageRequest, session: MemberSession) -> str:
        async with self.sign_in.db.connection() as tx:
            await store.set_name(tx, session.member.id, name_in(request.form.get("name", "")))
        return "Your name is changed."

    async def _set_password(self, request: PageRequest, session: MemberSession) -> str:
        """The old one is asked for whatever the session's age."""
        form = request.form
        if session.member.has_password:
            await self.sign_in.confirm_password(session.member, form.get("old", ""))
        await self.sign_in.change_password(session, form.get("password", ""))
        return "Your password is changed. All other sessions have ended."

    async def _end(self, request: PageRequest, session: MemberSession) -> str:
        number = number_in(request.form.get("session", ""))
        async with self.sign_in.db.connection() as tx:
            if number is None or not await session_store.delete_one(tx, session.member.id, number):
                raise NotFound("this session has ended already")
        return "The session has ended."

    async def _end_others(self, request: PageRequest, session: MemberSession) -> str:
        async with self.sign_in.db.connection() as tx:
            await session_store.delete_others(tx, session.member.id, session.token_hash)
        return "All other sessions have ended."

    async def _remove_passkey(self, request: PageRequest, session: MemberSession) -> str:
        number = number_in(request.form.get("id", ""))
        if number is None:
            raise NotFound("there is no such passkey; open the page again and choose one of the list")
        await self.passkeys.remove(session, number)
        return "The passkey is removed. Remove it from your device too."

    async def _switch_off_codes(self, request: PageRequest, session: MemberSession) -> str:
        await self.passkeys.switch_off_codes(session)
        return "Codes of an app are switched off."

    # A second factor

    async def show_enrol(self, request: PageRequest, session: MemberSession) -> Html:
        return await self._enrol_page(request, session, request.query)

    async def _enrol_page(
        self, request: PageRequest, session: MemberSession, given: Mapping[str, str], wrong: Refusal | None = None
    ) -> Html:
        if not self.is_fresh(session):
            return self._to_confirm("/two-step")
        secret = await self.sign_in.pending_totp(session) or await self.sign_in.new_totp(session)
        address = totp.address(secret, email=session.member.email)
        known = await self.passkeys.of(session.member)
        passkey = "" if known else self.passkeys.creation_options(session.member, scope_of(session), known)
        return self.sign_in_pages.page(
            request, "enrol.html", title="Set up two-step sign-in", scope=scope_of(session), wrong=wrong,
            secret=" ".join(secret[at : at + 4] for at in range(0, len(secret), 4)), qr=qr_of(address),
            passkey=passkey, after=self.sign_in_pages.next_in(given.get("next", "")),
        )  # fmt: skip

    async def enrol(self, request: PageRequest, session: MemberSession) -> Html:
        if not self.is_fresh(session):
            return self._to_confirm("/two-step")
        form = request.form
        try:
            if "passkey" in form:
                token, codes = await self.passkeys.register(
                    session, form["passkey"], form.get("passkey_name", ""), scope_of(session)
                )
            else:
                token, codes = await self.sign_in.confirm_totp(session, form.get("code", ""))
        except (Invalid, Conflict) as wrong:
            return await self._enrol_page(request, session, form, wrong)
        cookies = self.sign_in_pages.shell.session_cookie.set(token)
        if not codes:
            return self.sign_in_pages.to(f"{self.sign_in_pages.path}/security", cookies)
        # Shown by this answer alone: a reload asks to send the form again, which its code does not allow.
        return self.sign_in_pages.page(
            request, "recovery_codes.html", title="Recovery codes", codes=codes, cookies=cookies,
            after=self.sign_in_pages.shell.site.url(self.sign_in_pages.next_in(form.get("next", ""))),
        )  # fmt: skip

    # A fresh proof

    def _to_confirm(self, below: str) -> Html:
        return self.sign_in_pages.to(
            f"{self.sign_in_pages.path}/confirm?next={quote(self.sign_in_pages.path + below, safe='/')}"
        )

    async def show_confirm(self, request: PageRequest, session: MemberSession) -> Html:
        return await self._confirm_page(request, session, self.sign_in_pages.next_in(request.query.get("next", "")))

    async def _confirm_page(
        self, request: PageRequest, session: MemberSession, after: str, wrong: Refusal | None = None
    ) -> Html:
        scope, below = scope_of(session), after.removeprefix(self.sign_in_pages.path)
        return self.sign_in_pages.page(
            request, "confirm.html", title="Confirm it is you", scope=scope, wrong=wrong, after=after,
            confirms=_CONFIRMS.get(below, ""),
            member=session.member, passkey=await self.passkeys.options_to_show(session.member, scope),
        )  # fmt: skip

    async def confirm(self, request: PageRequest, session: MemberSession) -> Html:
        after, form = self.sign_in_pages.next_in(request.form.get("next", "")), request.form
        try:
            token = await show_factor(self.sign_in, self.passkeys, session, self.sign_in_pages.shell.mode, form)
        except (Invalid, RateLimited) as wrong:
            return await self._confirm_page(request, session, after, wrong)
        return self.sign_in_pages.to(after, self.sign_in_pages.shell.session_cookie.set(token))

    def _own(self, handler: SignedHandler) -> Callable[[PageRequest], Awaitable[Html]]:
        """Who only looks at a business came by a link, which must not lead to another way to sign in."""

        async def handle(request: PageRequest, session: MemberSession) -> Html:
            if session.is_view:
                raise AccessDenied("you view a business for the operator; change your sign-in in the console")
            return await handler(request, session)

        return self.sign_in_pages.signed(handle)

    def routes(self) -> list[Route]:
        own = self._own
        return self.sign_in_pages.routes_of(
            [
                ("GET", "/two-step", "showEnrolment", own(self.show_enrol)),
                ("POST", "/two-step", "enrol", own(self.enrol)),
                ("GET", "/confirm", "showConfirm", own(self.show_confirm)),
                ("POST", "/confirm", "confirm", own(self.confirm)),
                ("GET", "/security", "showSecurity", own(self.show)),
                ("POST", "/security", "changeSecurity", own(self.change)),
            ]
        )


def qr_of(text: str) -> Markup:
    drawn = io.BytesIO()
    segno.make(text, error="m").save(drawn, kind="svg", xmldecl=False, svgns=False, omitsize=True, border=0)
    return Markup(drawn.getvalue().decode())  # noqa: S704 - drawn here, of modules alone
