"""The hosted page: each step a form that works without script, each answer the page as it now stands."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol
from urllib.parse import quote

import msgspec
import structlog

from tidegate.checkout import store
from tidegate.checkout.desk import Desk, PayerAt
from tidegate.checkout.model import NO_MOVEMENTS, Movements
from tidegate.checkout.page import sent, typed
from tidegate.checkout.page.again import COUNTDOWN
from tidegate.checkout.page.choice import choose
from tidegate.checkout.page.easel import TEMPLATE, Easel
from tidegate.checkout.page.failure import failure_of
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.qr import qr_svg
from tidegate.checkout.page.receipt_pdf import receipt_pdf
from tidegate.checkout.page.scene import Scene, scene_of
from tidegate.checkout.page.shell import bare_shell
from tidegate.checkout.page.sketch import ROOT, Sketch
from tidegate.checkout.page.time_format import countdown_text
from tidegate.checkout.page.view import Filled
from tidegate.checkout.page.words import Words, words_for
from tidegate.core import ids
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, RateLimited, Refusal, TooSoon
from tidegate.core.method import Method
from tidegate.infra.http.routing import Route
from tidegate.infra.in_step import Steps
from tidegate.infra.page import static
from tidegate.infra.page.answer import File, Html, see_other
from tidegate.infra.page.cookie import NOTHING_SET, Cookie, CookieLines
from tidegate.infra.page.csrf import Csrf
from tidegate.infra.page.door import Door, Drawn, Page, Visit
from tidegate.infra.page.security import REPORTS_PATH
from tidegate.infra.page.site import Site
from tidegate.merchant import store as merchants
from tidegate.merchant.logo import Logo
from tidegate.merchant.model import Business
from tidegate.payment.attempt import AttemptStatus
from tidegate.payment.change import Situation
from tidegate.payment.model import Payment, Status

PATH = f"{ROOT}/{{payCode}}"
LANGUAGE_FOR_S = 365 * 24 * 3600
SEEN_DIGITS_MAX = 18
_UNSAFE_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]")
_FORM_NAMES = frozenset({"token", "seen", "type", "sure", "action", "amount", *sent.FIELDS})

# What the address says became of the last form, besides where it is.
_NOTICES = ("changed", "extended", "refused", "soon")

log = structlog.get_logger("page")


class Simulator(Protocol):
    """What the sandbox adds to the page, and the pages that it adds."""

    def panel(self, sketch: Sketch) -> Any: ...

    def routes(self, pages: CheckoutPages) -> Sequence[Route]: ...


@dataclass(frozen=True)
class CheckoutPages:
    desk: Desk
    site: Site
    # Known once the database is open.
    secret: Callable[[], bytes]
    simulator: Simulator | None = None

    @cached_property
    def csrf(self) -> Csrf:
        return Csrf(self.site, key=hmac.digest(self.secret(), b"forms of the hosted page", "sha256"))

    @cached_property
    def easel(self) -> Easel:
        return Easel(self.site, self.desk.till.names, self.simulator)

    @cached_property
    def door(self) -> Door:
        return Door(self._render_error, self._render_slowed, reports_to=self.site.url(REPORTS_PATH))

    async def show(self, visit: Visit) -> Steps[Html]:
        situation = await self.desk.look(_payer_at(visit))
        movements = await self._movements(situation.payment)
        notice = next((f"notice.{name}" for name in _NOTICES if name in visit.query), None)
        return self._drawn(visit, situation, movements, notice=notice)

    async def show_as(self, visit: Visit, template: str, scene: Scene) -> Drawn:
        """In another template, while the payment is at that scene; otherwise as it is."""
        situation = await self.desk.look(_payer_at(visit))
        if scene_of(situation, now=self.desk.clock.now_of(situation.business.id)) is not scene:
            return self.back_to(visit)
        return self._drawn(visit, situation, await self._movements(situation.payment), template=template)

    async def charge(self, visit: Visit) -> Drawn:
        payer = self.admit(visit)
        method = self.desk.till.names.find(visit.form.get("type", ""))
        try:
            await self.desk.charge(payer, sent.charge_in(visit.form, method), seen=_seen(visit))
        except Conflict as refusal:
            return await self._refused(visit, refusal)
        except Invalid as wrong:
            return await self._form_again(visit, wrong, asked=method)
        query = f"?method={self.desk.till.names.in_record(method)}" if method else ""
        return self._remembering(visit, self.back_to(visit, query))

    async def authorize(self, visit: Visit) -> Drawn:
        payer = self.admit(visit)
        try:
            await self.desk.authorize(payer, sent.answer_in(visit.form))
        except Conflict as refusal:
            return await self._refused(visit, refusal)
        except Invalid as wrong:
            return await self._form_again(visit, wrong)
        return self._remembering(visit, self.back_to(visit))

    async def resend(self, visit: Visit) -> Html:
        try:
            return await self._act(visit, self.desk.resend)
        except TooSoon:
            return self.back_to(visit, "?soon=1")

    async def say_sent(self, visit: Visit) -> Html:
        return await self._act(visit, self.desk.say_sent)

    async def extend(self, visit: Visit) -> Html:
        return await self._act(visit, self.desk.extend, "?extended=1")

    async def cancel(self, visit: Visit) -> Drawn:
        """The page's script has asked whether the payer is sure; without script, a page asks."""
        if "sure" in visit.form:
            return await self._act(visit, self.desk.cancel)
        situation = await self.desk.look(self.admit(visit))
        return self._drawn(visit, situation, await self._movements(situation.payment), template="sure.html")

    async def receipt(self, visit: Visit) -> Html:
        situation = await self.desk.look(_payer_at(visit))
        look = self._look(visit, situation, await self._movements(situation.payment))
        if look.situation.payment.status is not Status.SUCCESS:
            return self.back_to(visit)
        return self.easel.receipt(look, cookies=self._remember_language(visit))

    async def receipt_file(self, visit: Visit) -> Html | File:
        situation = await self.desk.look(_payer_at(visit))
        payment = situation.payment
        if payment.status is not Status.SUCCESS:
            return self.back_to(visit)
        look = self._look(visit, situation, await self._movements(payment))
        logo = await self._logo(situation.business)
        name = _UNSAFE_IN_A_NAME.sub("-", payment.reference)
        disposition = f'attachment; filename="receipt-{name}.pdf"'.encode("ascii")
        # Some milliseconds of arithmetic, during which others want to be answered.
        receipt = self.easel.receipt_file(look, logo=logo.body if logo else None)
        body = await asyncio.to_thread(receipt_pdf, receipt)
        return File(body, "application/pdf", headers=[(b"content-disposition", disposition)])

    async def logo(self, visit: Visit) -> File:
        """The hash is in the address, so it may be kept for ever."""
        business = await self.desk.keyring.business_by_code(visit.path["code"])
        logo = await self._logo(business) if business else None
        if logo is None or logo.hash != visit.path["hash"]:
            raise NotFound("there is no such logo")
        return File(logo.body, logo.media_type, headers=[(b"cache-control", b"public, max-age=31536000, immutable")])

    async def qr(self, visit: Visit) -> File:
        """The link of the payment. Drawn from the pay code alone, so that it costs no look-up and says nothing new."""
        pay_code = visit.path["payCode"]
        if not ids.looks_like_pay_code(pay_code):
            raise NotFound("there is no such payment")
        body = qr_svg(f"{self.desk.checkout_url}/{pay_code}")
        return File(body, "image/svg+xml", headers=[(b"cache-control", b"private, max-age=86400")])

    async def _logo(self, business: Business) -> Logo | None:
        if business.brand.logo_hash is None:
            return None
        async with self.desk.till.db.connection() as tx:
            return await merchants.find_logo(tx, business.id, business.brand.logo_hash)

    def admit(self, visit: Visit) -> PayerAt:
        """Whoever sends a form of ours. What else is in it is not applied, but somebody should know."""
        self.csrf.check(visit.headers, visit.form.get("token"), scope=visit.path["payCode"])
        if strange := sent.unexpected(visit.form, _FORM_NAMES):
            log.warning("a form has fields that ours do not have", fields=strange, request_id=visit.request_id)
        return _payer_at(visit)

    def back_to(self, visit: Visit, query: str = "") -> Html:
        return see_other(self._here(visit) + query)

    async def _act(self, visit: Visit, act: Callable[[PayerAt], Awaitable[Situation]], query: str = "") -> Html:
        payer = self.admit(visit)
        try:
            await act(payer)
        except Conflict as refusal:
            return await self._refused(visit, refusal)
        return self.back_to(visit, query)

    async def _refused(self, visit: Visit, refusal: Conflict) -> Html:
        """To the payment as it stands, which has changed since the form was drawn, or does not allow it."""
        situation = await self.desk.look(_payer_at(visit))
        has_changed = isinstance(refusal, ChangedElsewhere) or situation.payment.version != _seen(visit)
        return self.back_to(visit, "?changed=1" if has_changed else "?refused=1")

    @cached_property
    def _typed(self) -> Cookie:
        return Cookie("tidegate-typed", self.site)

    def _remembering(self, visit: Visit, answer: Html) -> Html:
        cookies = typed.remember(self._typed, visit.cookies or {}, visit.path["payCode"], visit.form)
        return msgspec.structs.replace(answer, cookies=cookies)

    def _filled_again(self, visit: Visit, situation: Situation) -> Filled | None:
        """After a failure: what the payer typed before, in this browser."""
        attempt = situation.attempt
        if attempt is None or attempt.status is not AttemptStatus.FAILED or not visit.cookies:
            return None
        values = typed.recall(self._typed, visit.cookies, situation.payment.pay_code)
        return Filled(values) if values else None

    async def _form_again(self, visit: Visit, wrong: Invalid, *, asked: Method | None = None) -> Steps[Html]:
        situation = await self.desk.look(_payer_at(visit))
        words = self._words(visit)
        filled = sent.filled_of(visit.form, wrong, words, situation.payment.order.asked.currency)
        if filled is None:
            raise wrong
        movements = await self._movements(situation.payment)
        return self._drawn(visit, situation, movements, filled=filled, asked=asked, status=422)

    def _drawn(
        self,
        visit: Visit,
        situation: Situation,
        movements: Movements,
        *,
        status: int = 200,
        asked: Method | None = None,
        filled: Filled | None = None,
        notice: str | None = None,
        template: str = TEMPLATE,
    ) -> Steps[Html]:
        visitor = self.csrf.visitor_of(visit.cookies)
        token = self.csrf.token(visitor, scope=situation.payment.pay_code)
        cookies = self.csrf.cookie(visitor) + self._remember_language(visit)
        filled = filled or self._filled_again(visit, situation)
        yield
        look = self._look(visit, situation, movements, asked=asked, token=token)
        yield
        return self.easel.page(look, filled=filled, notice=notice, template=template, status=status, cookies=cookies)

    def _look(
        self, visit: Visit, situation: Situation, movements: Movements, *, asked: Method | None = None, token: str = ""
    ) -> Look:
        query = visit.query
        return Look.of(
            situation,
            movements=movements,
            words=self._words(visit),
            now=self.desk.clock.now_of(situation.business.id),
            token=token,
            nonce=visit.nonce,
            asked=asked or (self.desk.till.names.find(query["method"]) if "method" in query else None),
            goes_back="again" in query,
            stays="stay" in query,
            can_resend=self.desk.can_resend(situation),
        )

    async def _movements(self, payment: Payment) -> Movements:
        """Most looks are before any money came, and cost no question."""
        if not (payment.paid_at or payment.held.minor or payment.returned.minor):
            return NO_MOVEMENTS
        async with self.desk.till.db.connection() as tx:
            return await store.list_movements(tx, payment.business_id, payment.id)

    def _here(self, visit: Visit) -> str:
        return self.site.url(f"{ROOT}/{visit.path['payCode']}")

    @cached_property
    def _language(self) -> Cookie:
        return Cookie("tidegate-language", self.site)

    def _words(self, visit: Visit) -> Words:
        remembered = visit.cookies.get(self._language.name) if visit.cookies else None
        header = visit.headers.one(b"accept-language")
        return words_for(choose(asked=visit.query.get("lang"), remembered=remembered, accept_language=header))

    def _remember_language(self, visit: Visit) -> CookieLines:
        """Only what the payer chose; what the browser says is asked anew each time."""
        if "lang" not in visit.query:
            return NOTHING_SET
        return self._language.set(self._words(visit).language, max_age_s=LANGUAGE_FOR_S)

    def _render_error(self, refusal: Refusal, status: int, visit: Visit) -> Html:
        words = self._words(visit)
        pay_code = visit.path.get("payCode", "")
        here = self.site.url(f"{ROOT}/{quote(pay_code)}") if ids.looks_like_pay_code(pay_code) else ""
        failed = failure_of(refusal, status, words, retry_href=here, request_id=visit.request_id)
        shell = bare_shell(words, title=failed.title, here=here, is_test=self.easel.is_test)
        text = self.easel.renderer.text("error.html", shell, nonce=visit.nonce, failure=failed)
        return self.easel.renderer.html(text, status=status, cookies=self._remember_language(visit))

    async def _render_slowed(self, refusal: RateLimited, visit: Visit) -> Steps[Html]:
        """The payment, and when the payer can go on. Not more often than the payment may be shown at all."""
        if "payCode" not in visit.path:
            raise refusal
        payer = _payer_at(visit)
        self.desk.limit.slowed_look(payer.pay_code, payer.client)
        situation = await self.desk.look(payer)
        words, seconds = self._words(visit), refusal.retry_after_s or 1
        time = COUNTDOWN.format(seconds, countdown_text(seconds))
        # Without a form when it was refused before it was read.
        said = Filled(typed.shown_again(visit.form), notice=words.rich("notice.slowed", time=time))
        method = self.desk.till.names.find(visit.form.get("type", ""))
        return self._drawn(visit, situation, await self._movements(situation.payment), filled=said, asked=method)

    def routes(self) -> list[Route]:
        look, act = self.desk.limit.look, self.desk.limit.act
        pages = [
            Page("GET", PATH, "showCheckout", self.show, look),
            Page("POST", f"{PATH}/charge", "chargeOnPage", self.charge, act),
            Page("POST", f"{PATH}/authorize", "authorizeOnPage", self.authorize, act),
            Page("POST", f"{PATH}/again", "resendOnPage", self.resend, act),
            Page("POST", f"{PATH}/sent", "saySentOnPage", self.say_sent, act),
            Page("POST", f"{PATH}/extend", "extendOnPage", self.extend, act),
            Page("POST", f"{PATH}/cancel", "cancelOnPage", self.cancel, act),
            Page("GET", f"{PATH}/receipt", "showReceipt", self.receipt, look),
            Page("GET", f"{PATH}/receipt.pdf", "downloadReceipt", self.receipt_file, look),
            Page("GET", f"{PATH}/qr.svg", "showQrCode", self.qr, look),
            Page("GET", f"{ROOT}/logo/{{code}}/{{hash}}", "showLogo", self.logo, look),
        ]
        return [
            *static.routes(self.easel.renderer.scripts),
            *self.door.routes(pages),
            *(self.simulator.routes(self) if self.simulator else ()),
            self.door.nothing_else(f"{ROOT}/{{rest:path}}"),
        ]


def _payer_at(visit: Visit) -> PayerAt:
    return PayerAt(visit.path["payCode"], visit.client)


def _seen(visit: Visit) -> int:
    """The version of the payment that the form was drawn for; without one, nothing matches."""
    text = visit.form.get("seen", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < SEEN_DIGITS_MAX else -1
