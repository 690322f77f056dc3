"""The hosted page: each step a form that works without script, each answer the page as it now stands."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Protocol
from urllib.parse import quote

import msgspec
import segno
import structlog
from markupsafe import Markup

from tidegate.checkout import store
from tidegate.checkout.commands import CheckoutCommands, PayerRequest
from tidegate.checkout.language.catalog import Catalog, catalog_for
from tidegate.checkout.language.negotiate import negotiate_language
from tidegate.checkout.model import NO_MOVEMENTS, Movements
from tidegate.checkout.page import form_data
from tidegate.checkout.page.model import NOTHING_TYPED, ROOT, FormState, PageModel, countdown
from tidegate.checkout.page.receipt import pdf_of, receipt_pdf
from tidegate.checkout.page.renderer import PageRenderer, PanelSource
from tidegate.checkout.page.state import PageState, state_of
from tidegate.core import ids
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, RateLimited, Refusal, TooSoon
from tidegate.core.method import Method
from tidegate.infra.http.cookie import NOTHING_SET, Cookie, CookieLines
from tidegate.infra.http.csp_reports import REPORTS_PATH
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.routing import Route
from tidegate.infra.page import static
from tidegate.infra.page.csrf import Csrf
from tidegate.infra.page.response import File, Html, see_other
from tidegate.infra.page.router import PageHandler, PageRequest, PageRoute, PageRouter
from tidegate.merchant import store as merchants
from tidegate.merchant.logo import Logo
from tidegate.merchant.model import Business
from tidegate.payment.attempt import AttemptStatus
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import Payment, PaymentStatus
from tidegate.payment.pay import NOT_FOUND

PATH = f"{ROOT}/{{payCode}}"
LANGUAGE_FOR_S = 365 * 24 * 3600
SEEN_DIGITS_MAX = 18
# Black on white in either theme: not every phone reads the reverse. Four white modules around it, as its standard asks.
QR_STYLE = {"light": "#fff", "border": 4, "omitsize": True, "xmldecl": False, "svgclass": None, "lineclass": None}
_UNSAFE_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]")

# Names in the query that say what became of the last form.
_OUTCOMES = ("changed", "extended", "refused", "soon")

log = structlog.get_logger("page")


class PageSimulator(PanelSource, Protocol):
    """What the sandbox adds to the page, and the pages that it adds."""

    def routes(self, pages: CheckoutPages) -> Sequence[Route]: ...


@dataclass(frozen=True)
class CheckoutPages:
    commands: CheckoutCommands
    site: PublicUrl
    # Known once the database is open.
    secret: Callable[[], bytes]
    simulator: PageSimulator | None = None

    @cached_property
    def csrf(self) -> Csrf:
        return Csrf(self.site, key=hmac.digest(self.secret(), b"forms of the hosted page", "sha256"))

    @cached_property
    def renderer(self) -> PageRenderer:
        return PageRenderer(self.site, self.simulator)

    @cached_property
    def router(self) -> PageRouter:
        return PageRouter(self._render_error, self._render_slowed, reports_to=self.site.url(REPORTS_PATH))

    async def show(self, request: PageRequest) -> Html:
        snapshot = await self.commands.look(_payer_of(request))
        if "lang" in request.query:
            await self.commands.note_language(snapshot, self.words_of(request).language)
        return await self._page(request, snapshot)

    async def show_as(self, request: PageRequest, template: str, state: PageState) -> Html:
        """In another template, while the payment is in that state; otherwise its own page."""
        snapshot = await self.commands.look(_payer_of(request))
        if state_of(snapshot, now=self.commands.clock.now_of(snapshot.business.id)) is not state:
            return self.back_to(request)
        return await self._page(request, snapshot, template=template)

    async def charge(self, request: PageRequest) -> Html:
        payer = self.admit(request)
        method = self.commands.deps.names.find(request.form.get("type", ""))
        try:
            await self.commands.charge(payer, form_data.charge_in(request.form, method), seen=_seen(request))
        except Conflict as refusal:
            return await self._refused(request, refusal)
        except Invalid as wrong:
            return await self._form_again(request, wrong, asked=method)
        query = f"?method={self.commands.deps.names.in_record(method)}" if method else ""
        return self._remembering(request, self.back_to(request, query))

    async def authorize(self, request: PageRequest) -> Html:
        payer = self.admit(request)
        try:
            await self.commands.authorize(payer, form_data.answer_in(request.form))
        except Conflict as refusal:
            return await self._refused(request, refusal)
        except Invalid as wrong:
            return await self._form_again(request, wrong)
        return self._remembering(request, self.back_to(request))

    async def resend(self, request: PageRequest) -> Html:
        try:
            return await self._act(request, self.commands.resend)
        except TooSoon:
            return self.back_to(request, "?soon=1")

    async def resume_after_redirect(self, request: PageRequest) -> Html:
        """From the rail's own page. Whatever the address says proves nothing; the rail is asked."""
        await self.commands.resume_after_redirect(_payer_of(request))
        return self.back_to(request)

    async def report_transfer_sent(self, request: PageRequest) -> Html:
        return await self._act(request, self.commands.report_transfer_sent)

    async def extend(self, request: PageRequest) -> Html:
        return await self._act(request, self.commands.extend, "?extended=1")

    async def cancel(self, request: PageRequest) -> Html:
        """The page's script has asked whether the payer is sure; without script, a page asks."""
        if "sure" in request.form:
            return await self._act(request, self.commands.cancel)
        snapshot = await self.commands.look(self.admit(request))
        return await self._page(request, snapshot, template="confirm_cancel.html")

    async def receipt(self, request: PageRequest) -> Html:
        snapshot = await self.commands.look(_payer_of(request))
        if snapshot.payment.status is not PaymentStatus.SUCCESS:
            return self.back_to(request)
        page = await self._model(request, snapshot)
        return self.renderer.receipt(page, cookies=self.remember_language(request))

    async def receipt_file(self, request: PageRequest) -> Html | File:
        snapshot = await self.commands.look(_payer_of(request))
        payment = snapshot.payment
        if payment.status is not PaymentStatus.SUCCESS:
            return self.back_to(request)
        page = await self._model(request, snapshot)
        logo = await self.logo_of(snapshot.business)
        name = _UNSAFE_IN_A_NAME.sub("-", payment.reference)
        disposition = f'attachment; filename="receipt-{name}.pdf"'.encode("ascii")
        # Takes some milliseconds, during which the event loop must go on.
        body = await asyncio.to_thread(receipt_pdf, pdf_of(page, logo=logo.body if logo else None))
        return File(body, "application/pdf", headers=[(b"content-disposition", disposition)])

    async def logo(self, request: PageRequest) -> File:
        """The hash is in the address, so it may be kept for ever."""
        business = await self.commands.key_cache.business_by_code(request.path["code"])
        logo = await self.logo_of(business) if business else None
        if logo is None or logo.hash != request.path["hash"]:
            raise NotFound("there is no such logo")
        return File(logo.body, logo.media_type, headers=[(b"cache-control", b"public, max-age=31536000, immutable")])

    async def qr(self, request: PageRequest) -> File:
        """The link of the payment, for a phone. Made from the pay code alone: no query, and nothing else is shown."""
        pay_code = request.path["payCode"]
        if not ids.looks_like_pay_code(pay_code):
            raise NotFound("there is no such payment")
        code, svg = segno.make(f"{self.commands.checkout_url}/{pay_code}", error="m", micro=False), BytesIO()
        code.save(svg, kind="svg", **QR_STYLE)
        return File(svg.getvalue(), "image/svg+xml", headers=[(b"cache-control", b"private, max-age=86400")])

    async def logo_of(self, business: Business) -> Logo | None:
        if business.brand.logo_hash is None:
            return None
        async with self.commands.deps.db.connection() as tx:
            return await merchants.find_logo(tx, business.id, business.brand.logo_hash)

    def admit(self, request: PageRequest) -> PayerRequest:
        """The sender of one of our forms. Unknown fields are ignored and logged."""
        self.csrf.check(request.headers, request.form.get("token"), scope=request.path["payCode"])
        if unknown := form_data.unexpected(request.form):
            log.warning("a form has fields that ours do not have", fields=unknown, request_id=request.request_id)
        return msgspec.structs.replace(_payer_of(request), language=self.words_of(request).language)

    async def way_back(self, request: PageRequest) -> Html:
        """The address of a form, opened without one: after a reload, or from the history."""
        if not ids.looks_like_pay_code(request.path["payCode"]):
            raise NotFound(NOT_FOUND)
        return self.back_to(request)

    def back_to(self, request: PageRequest, query: str = "") -> Html:
        return see_other(self._here(request) + query)

    async def _act(
        self, request: PageRequest, act: Callable[[PayerRequest], Awaitable[PaymentSnapshot]], query: str = ""
    ) -> Html:
        payer = self.admit(request)
        try:
            await act(payer)
        except Conflict as refusal:
            return await self._refused(request, refusal)
        return self.back_to(request, query)

    async def _refused(self, request: PageRequest, refusal: Conflict) -> Html:
        """To the payment as it stands, which has changed since the form was drawn, or does not allow it."""
        snapshot = await self.commands.look(_payer_of(request))
        has_changed = isinstance(refusal, ChangedElsewhere) or snapshot.payment.version != _seen(request)
        return self.back_to(request, "?changed=1" if has_changed else "?refused=1")

    @cached_property
    def _typed(self) -> Cookie:
        return Cookie("tidegate-typed", self.site)

    def _remembering(self, request: PageRequest, answer: Html) -> Html:
        cookies = form_data.remember(self._typed, request.cookies, request.path["payCode"], request.form)
        return msgspec.structs.replace(answer, cookies=cookies)

    def _typed_before(self, request: PageRequest, snapshot: PaymentSnapshot) -> FormState:
        """After a failure: what the payer typed before, in this browser."""
        attempt = snapshot.attempt
        if attempt is None or attempt.status is not AttemptStatus.FAILED:
            return NOTHING_TYPED
        return FormState(form_data.recall(self._typed, request.cookies, snapshot.payment.pay_code))

    async def _form_again(self, request: PageRequest, wrong: Invalid, *, asked: Method | None = None) -> Html:
        snapshot = await self.commands.look(_payer_of(request))
        currency = snapshot.payment.order.asked.currency
        form = form_data.refused_form(request.form, wrong, self.words_of(request), currency)
        if form is None:
            raise wrong
        return await self._page(request, snapshot, form=form, asked=asked, status=422)

    async def _page(
        self,
        request: PageRequest,
        snapshot: PaymentSnapshot,
        *,
        status: int = 200,
        template: str | None = None,
        asked: Method | None = None,
        form: FormState | None = None,
        announcement: Markup | None = None,
    ) -> Html:
        visitor = self.csrf.visitor_of(request.cookies)
        token = self.csrf.token(visitor, scope=snapshot.payment.pay_code)
        form = form or self._typed_before(request, snapshot)
        page = await self._model(request, snapshot, token=token, asked=asked, form=form, announcement=announcement)
        cookies = self.csrf.cookie(visitor) + self.remember_language(request)
        return self.renderer.page(page, template=template, status=status, cookies=cookies)

    async def _model(
        self, request: PageRequest, snapshot: PaymentSnapshot, *, token: str = "", asked: Method | None = None,
        form: FormState = NOTHING_TYPED, announcement: Markup | None = None,
    ) -> PageModel:  # fmt: skip
        query, names = request.query, self.commands.deps.names
        if asked is None and "method" in query:
            asked = names.find(query["method"])
        return PageModel(
            snapshot=snapshot,
            movements=await self._movements(snapshot.payment),
            words=self.words_of(request),
            now=self.commands.clock.now_of(snapshot.business.id),
            site=self.site,
            names=names,
            is_test=self.simulator is not None,
            nonce=request.nonce,
            token=token,
            asked=asked,
            form=form,
            announcement=announcement,
            goes_back="again" in query,
            stays="stay" in query,
            offers=self.commands.offers_of(snapshot),
            can_resend=self.commands.can_resend(snapshot),
            can_extend=self.commands.can_extend(snapshot),
            outcome=next((name for name in _OUTCOMES if name in query), None),
        )

    async def _movements(self, payment: Payment) -> Movements:
        """Not asked for before any money came."""
        if not (payment.paid_at or payment.held.minor or payment.returned.minor):
            return NO_MOVEMENTS
        async with self.commands.deps.db.connection() as tx:
            return await store.list_movements(tx, payment.business_id, payment.id)

    def _here(self, request: PageRequest) -> str:
        return self.site.url(f"{ROOT}/{request.path['payCode']}")

    @cached_property
    def _language(self) -> Cookie:
        return Cookie("tidegate-language", self.site)

    def words_of(self, request: PageRequest) -> Catalog:
        remembered = request.cookies.get(self._language.name)
        header = request.headers.one(b"accept-language")
        language = negotiate_language(asked=request.query.get("lang"), remembered=remembered, accept_language=header)
        return catalog_for(language)

    def remember_language(self, request: PageRequest) -> CookieLines:
        """Only what the payer chose; the browser's own header is sent with each request anyway."""
        if "lang" not in request.query:
            return NOTHING_SET
        return self._language.set(self.words_of(request).language, max_age_s=LANGUAGE_FOR_S)

    def _render_error(self, refusal: Refusal, status: int, request: PageRequest) -> Html:
        pay_code = request.path.get("payCode", "")
        return self.renderer.error(
            refusal,
            status,
            self.words_of(request),
            here=self.site.url(f"{ROOT}/{quote(pay_code)}") if ids.looks_like_pay_code(pay_code) else "",
            nonce=request.nonce,
            request_id=request.request_id,
            cookies=self.remember_language(request),
        )

    async def _render_slowed(self, refusal: RateLimited, request: PageRequest) -> Html:
        """The payment, and when the payer can go on. Not more often than the payment may be shown at all."""
        if "payCode" not in request.path:
            raise refusal
        payer = _payer_of(request)
        self.commands.limit.slowed_read(payer.pay_code, payer.client)
        snapshot = await self.commands.look(payer)
        words = self.words_of(request)
        notice = words.rich("notice.slowed", time=countdown(refusal.retry_after_s or 1))
        method = self.commands.deps.names.find(request.form.get("type", ""))
        # The form is empty when the request was refused before it was read.
        form = FormState(form_data.harmless_fields(request.form))
        return await self._page(request, snapshot, form=form, asked=method, announcement=notice)

    def page_routes(self, pages: Sequence[PageRoute], way_back: PageHandler | None = None) -> list[Route]:
        read, back_by = self.commands.limit.read, way_back or self.way_back
        forms = [page for page in pages if page.method == "POST"]
        back = [PageRoute("GET", form.path, "returnToCheckout", back_by, read) for form in forms]
        return self.router.routes([*pages, *back])

    def own_pages(self) -> list[PageRoute]:
        read, write = self.commands.limit.read, self.commands.limit.write
        return [
            PageRoute("GET", PATH, "showCheckout", self.show, read),
            PageRoute("POST", f"{PATH}/charge", "chargeOnPage", self.charge, write),
            PageRoute("POST", f"{PATH}/authorize", "authorizeOnPage", self.authorize, write),
            PageRoute("POST", f"{PATH}/again", "resendOnPage", self.resend, write),
            PageRoute("GET", f"{PATH}/back", "resumeOnPage", self.resume_after_redirect, write),
            PageRoute("POST", f"{PATH}/sent", "reportTransferSentOnPage", self.report_transfer_sent, write),
            PageRoute("POST", f"{PATH}/extend", "extendOnPage", self.extend, write),
            PageRoute("POST", f"{PATH}/cancel", "cancelOnPage", self.cancel, write),
            PageRoute("GET", f"{PATH}/receipt", "showReceipt", self.receipt, read),
            PageRoute("GET", f"{PATH}/receipt.pdf", "downloadReceipt", self.receipt_file, read),
            PageRoute("GET", f"{PATH}/qr.svg", "showQrCode", self.qr, read),
            PageRoute("GET", f"{ROOT}/logo/{{code}}/{{hash}}", "showLogo", self.logo, read),
        ]

    def routes(self) -> list[Route]:
        return [
            *static.routes(self.renderer.scripts),
            *self.page_routes(self.own_pages()),
            *(self.simulator.routes(self) if self.simulator else ()),
            self.router.nothing_else(f"{ROOT}/{{rest:path}}"),
        ]


def _payer_of(request: PageRequest) -> PayerRequest:
    return PayerRequest(request.path["payCode"], request.client)


def _seen(request: PageRequest) -> int:
    """The version of the payment that the form was made for; without one, nothing matches."""
    text = request.form.get("seen", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < SEEN_DIGITS_MAX else -1
