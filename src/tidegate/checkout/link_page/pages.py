"""The page of a payment link: the payer's details, and the amount where it is the payer's; then the payment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO

import segno

from tidegate.checkout.language.catalog import LANGUAGES
from tidegate.checkout.language.negotiate import is_known
from tidegate.checkout.link_page.model import (
    LINK_ROOT,
    LinkPageModel,
    LinkPageState,
    read_form,
    state_of_page,
    typed,
)
from tidegate.checkout.link_page.poster import poster_of, poster_pdf
from tidegate.checkout.page.layout import Layout, colours_of, contact_of
from tidegate.checkout.page.model import NOTHING_TYPED, ROOT, FormState
from tidegate.checkout.page.pages import QR_STYLE, CheckoutPages
from tidegate.core import ids
from tidegate.core.errors import Conflict, Invalid, NotFound
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.routing import Route
from tidegate.infra.http.status import STATUS_OF
from tidegate.infra.page.response import File, Html, see_other
from tidegate.infra.page.router import PageRequest, PageRoute
from tidegate.merchant.model import Business
from tidegate.payment.wire import MethodsTaken
from tidegate.payment_link import commands
from tidegate.payment_link.commands import NO_LINK, OpenedLink, Opening
from tidegate.payment_link.openings import LinkOpenings

PATH = f"{LINK_ROOT}/{{linkId}}"
# Pixels of one module: sharp on paper, and still a small file.
_QR_SCALE = 8
_QR_HEADERS = [(b"cache-control", b"private, max-age=86400")]


@dataclass(frozen=True)
class LinkPages:
    pages: CheckoutPages
    taken: MethodsTaken
    openings: LinkOpenings

    async def show(self, request: PageRequest) -> Html:
        business, opened = await self._open(request)
        if is_opened_by_browser(request.method, request.headers):
            self.openings.note(business.id, opened.view.link.id)
        if opened.pay_code is not None:
            return self._to_payment(opened.pay_code)
        return self._page(request, business, opened)

    async def submit(self, request: PageRequest) -> Html:
        self.pages.csrf.check(request.headers, request.form.get("token"), scope=request.path["linkId"])
        business, opened = await self._open(request)
        words, terms = self.pages.words_of(request), opened.view.link.terms
        found = read_form(request.form, terms, words)
        form_id = request.form.get("once", "")
        if isinstance(found, Mapping) or not ids.looks_like_form_id(form_id):
            errors = found if isinstance(found, Mapping) else {}
            return self._page(request, business, opened, FormState(typed(request.form), errors), status=422)
        if not business.is_active:
            return self._page(request, business, opened, status=409)
        opening = Opening(opened.view.link.id, form_id, *found)
        db, now = self.pages.commands.deps.db, self.pages.commands.clock.now_of(business.id)
        try:
            pay_code = await commands.open_payment(db, business, opening, taken=self.taken, now=now)
        except Conflict:
            # Ended, paid or taken meanwhile: the page as it now stands says which.
            return see_other(self.pages.site.url(f"{LINK_ROOT}/{opened.view.link.id}"))
        return self._to_payment(pay_code)

    async def qr_svg(self, request: PageRequest) -> File:
        svg = BytesIO()
        self._qr(request).save(svg, kind="svg", **QR_STYLE)
        return File(svg.getvalue(), "image/svg+xml", headers=_QR_HEADERS)

    async def qr_png(self, request: PageRequest) -> File:
        png = BytesIO()
        self._qr(request).save(png, kind="png", scale=_QR_SCALE, border=QR_STYLE["border"], light="#fff")
        return File(png.getvalue(), "image/png", headers=_QR_HEADERS)

    async def poster(self, request: PageRequest) -> File:
        if (asked := request.query.get("lang")) and not is_known(asked):
            known = ", ".join(LANGUAGES)
            text = f"There is no poster in this language. Let `lang` be one of {known}, or leave it out.\n"
            return File(text.encode(), "text/plain; charset=utf-8", STATUS_OF[Invalid])
        business, opened = await self._open(request)
        logo = await self.pages.logo_of(business)
        document = poster_of(
            business,
            opened.view.link,
            self.pages.words_of(request),
            address=self._address(opened.view.link.id),
            logo=logo.body if logo else None,
            is_test=self.pages.simulator is not None,
        )
        # Takes some milliseconds, during which the event loop must go on.
        body = await asyncio.to_thread(poster_pdf, document)
        return File(body, "application/pdf", headers=[(b"content-disposition", b'inline; filename="poster.pdf"')])

    def _qr(self, request: PageRequest) -> segno.QRCode:
        """Made from the id alone: nothing else is shown by it."""
        link_id = request.path["linkId"]
        if ids.business_code_of_link(link_id) is None:
            raise NotFound(NO_LINK)
        return segno.make(self._address(link_id), error="m", micro=False)

    def _address(self, link_id: str) -> str:
        return f"{self.pages.site.base_url}{LINK_ROOT}/{link_id}"

    async def _open(self, request: PageRequest) -> tuple[Business, OpenedLink]:
        link_id, checkout = request.path["linkId"], self.pages.commands
        code = ids.business_code_of_link(link_id)
        business = await checkout.key_cache.business_by_code(code) if code else None
        try:
            if business is None:
                raise NotFound(NO_LINK)
            now = checkout.clock.now_of(business.id)
            return business, await commands.open_link(checkout.deps.db, business.id, link_id, now=now)
        except NotFound:
            checkout.limit.count_unknown(request.client)
            raise

    def _page(
        self,
        request: PageRequest,
        business: Business,
        opened: OpenedLink,
        form: FormState = NOTHING_TYPED,
        *,
        status: int = 200,
    ) -> Html:
        csrf, link_id = self.pages.csrf, opened.view.link.id
        visitor = csrf.visitor_of(request.cookies)
        once = request.form.get("once", "")
        page = LinkPageModel(
            business=business,
            view=opened.view,
            state=state_of_page(business, opened.view, now=self.pages.commands.clock.now_of(business.id)),
            words=self.pages.words_of(request),
            site=self.pages.site,
            token=csrf.token(visitor, scope=link_id),
            form_id=once if ids.looks_like_form_id(once) else ids.new_form_id(),
            form=form,
        )
        is_open = page.state is LinkPageState.FORM
        return self.pages.renderer.html(
            "link.html",
            _layout(page, is_test=self.pages.simulator is not None),
            nonce=request.nonce,
            status=status if is_open or status != 200 else 410,
            cookies=csrf.cookie(visitor) + self.pages.remember_language(request),
            page=page,
        )

    def _to_payment(self, pay_code: str) -> Html:
        return see_other(self.pages.site.url(f"{ROOT}/{pay_code}"))

    def routes(self) -> list[Route]:
        read, write = self.pages.commands.limit.read, self.pages.commands.limit.write
        router = self.pages.router
        pages = [
            PageRoute("GET", PATH, "showPaymentLink", self.show, read),
            PageRoute("POST", PATH, "submitPaymentLink", self.submit, write),
            PageRoute("GET", f"{PATH}/qr.svg", "showLinkQrCode", self.qr_svg, read),
            PageRoute("GET", f"{PATH}/qr.png", "downloadLinkQrCode", self.qr_png, read),
            PageRoute("GET", f"{PATH}/poster.pdf", "printLinkPoster", self.poster, read),
        ]
        return [*router.routes(pages), router.nothing_else(f"{LINK_ROOT}/{{rest:path}}")]


def is_opened_by_browser(method: str, headers: Headers) -> bool:
    """Not a page that is fetched ahead of a click, nor by a program that shows no page, such as most that draw previews
    of links in a chat."""
    purpose = (headers.one(b"sec-purpose") or headers.one(b"purpose") or "").lower()
    shows_pages = "text/html" in (headers.one(b"accept") or "")
    return method == "GET" and shows_pages and not purpose.startswith(("prefetch", "preview"))


def _layout(page: LinkPageModel, *, is_test: bool) -> Layout:
    return Layout(
        words=page.words,
        title=page.title,
        is_test=is_test,
        here=page.here,
        colours=colours_of(page.business.brand.accent),
        contact=contact_of(page.business),
    )
