"""The hosted page with what a frame needs: what became of the payment, and the script that tells the shop."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import structs

from tidegate.checkout.page.model import ROOT, PageModel
from tidegate.checkout.page.renderer import PageRenderer
from tidegate.checkout.page.state import RESULTS, PageState
from tidegate.embed.frame import Frame
from tidegate.infra.http.cookie import CookieLines
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.page.response import Html
from tidegate.infra.page.static import StaticFile

_ENDED = {PageState.PAID: "success", PageState.EXPIRED: "expired"}
_SCRIPT = Markup(
    '<script src="{src}" integrity="{integrity}" nonce="{nonce}" data-origin="{origin}" data-id="{id}" '
    'data-reference="{reference}" data-pay-code="{pay_code}" data-full="{full}" defer></script></head>'
)


class NoPanel:
    """A shop's page is no place for the simulator."""

    def panel(self, page: PageModel) -> None:
        return None


class FrameRenderer(PageRenderer):
    def __init__(self, shared: PageRenderer, frame: Frame, script: StaticFile, site: PublicUrl) -> None:
        self._shared = shared
        self._frame = frame
        self._script = script
        self._site = site

    def page(self, page: PageModel, *, template: str | None = None, status: int = 200, cookies: CookieLines) -> Html:
        # The shop takes its customer on from the dialog; the frame itself goes nowhere.
        order = structs.replace(page.payment.order, redirect_url=None)
        snapshot = structs.replace(page.snapshot, payment=structs.replace(page.payment, order=order))
        inside = structs.replace(page, snapshot=snapshot)
        return self._with_script(self._shared.page(inside, template=template, status=status, cookies=cookies), page)

    def receipt(self, page: PageModel, *, cookies: CookieLines) -> Html:
        return self._with_script(self._shared.receipt(page, cookies=cookies), page)

    def _with_script(self, html: Html, page: PageModel) -> Html:
        state = "leave" if page.state is PageState.ISSUER else "failed" if page.state in RESULTS else "open"
        script = _SCRIPT.format(
            src=self._script.url,
            integrity=self._script.integrity,
            nonce=page.nonce,
            origin=self._frame.origin,
            id=self._frame.id,
            reference=page.payment.reference,
            pay_code=page.payment.pay_code,
            full=self._site.url(f"{ROOT}/{page.payment.pay_code}"),
        )
        body = html.body.replace(b"</head>", script.encode(), 1)
        body = body.replace(
            b'<div id="page"', f'<div id="page" data-frame="{_ENDED.get(page.state, state)}"'.encode(), 1
        )
        # Browsers show no question of a script in a frame; without it the server asks, on a page.
        return structs.replace(html, body=body.replace(b" data-sure=", b" data-asks="))
