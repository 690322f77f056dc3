"""Draws pages: one template for each state, rendered anew for each payer."""

from __future__ import annotations

from typing import Any, Protocol

from tidegate.checkout.language.catalog import DEFAULT_LANGUAGE, Catalog
from tidegate.checkout.page.language_templates import PACKAGE, templates_for
from tidegate.checkout.page.layout import Layout, colours_of, layout_of
from tidegate.checkout.page.model import PageModel
from tidegate.checkout.page.panel import panels_of
from tidegate.checkout.page.price import costs_of, prices_of
from tidegate.checkout.page.receipt import receipt_of
from tidegate.checkout.page.result import Result, movements_of, result_of
from tidegate.checkout.page.state import RESULTS, PageState
from tidegate.core.errors import Refusal
from tidegate.infra.http.cookie import CookieLines
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.page import static
from tidegate.infra.page.response import Html

STATIC_PATH = "/pay/static"
SCRIPT = "checkout.js"
STYLE = "checkout.css"
# Where the style sheet goes. It is put in as bytes: encoded with the page's text, it took 50 µs each time. What others
# wrote has `"` and `<` escaped.
_STYLE_PLACE = b'"></style>'
# Without script a page that waits reloads itself this often.
REFRESH_EVERY_S = 10
# words: error.not_found, error.not_found_more, error.refused, error.refused_more, error.busy, error.busy_more
# words: error.broken, error.broken_more, error.wrong_request, error.wrong_request_more
_ERRORS = {403: "refused", 404: "not_found", 500: "broken", 503: "busy"}
_OTHER_ERROR = "wrong_request"


class PanelSource(Protocol):
    """What the sandbox adds to the page."""

    def panel(self, page: PageModel) -> Any: ...


class PageRenderer:
    """The style sheet is prepared once, templates once for each language; nothing is kept from one page to the next."""

    def __init__(self, site: PublicUrl, simulator: PanelSource | None) -> None:
        self._files = static.load(PACKAGE, "static", under=STATIC_PATH, site=site)
        self._simulator = simulator
        # In the page itself, so that the first paint needs one request.
        self._style = b'">' + self._files[STYLE].body + b"</style>"
        templates_for(DEFAULT_LANGUAGE)

    @property
    def scripts(self) -> list[static.StaticFile]:
        return [self._files[SCRIPT]]

    def page(self, page: PageModel, *, template: str | None = None, status: int = 200, cookies: CookieLines) -> Html:
        costs = costs_of(page)
        result = result_of(page) if page.state in RESULTS else None
        return self.html(
            template or ("result.html" if result else f"{page.state}.html"),
            layout_of(page, refresh=_refresh(page, result)),
            nonce=page.nonce,
            status=status,
            cookies=cookies,
            page=page,
            prices=prices_of(page, costs),
            panels=panels_of(page, costs) if page.state is PageState.CHOOSE else (),
            result=result,
            returns=() if result else tuple(movements_of(page)),
            simulator=self._simulator.panel(page) if self._simulator else None,
        )

    def receipt(self, page: PageModel, *, cookies: CookieLines) -> Html:
        layout = layout_of(page, receipt=True)
        return self.html("receipt.html", layout, nonce=page.nonce, cookies=cookies, page=page, receipt=receipt_of(page))

    def error(
        self,
        refusal: Refusal,
        status: int,
        words: Catalog,
        *,
        here: str,
        nonce: str,
        request_id: str,
        cookies: CookieLines,
    ) -> Html:
        """What went wrong, that no money is lost by it, and what to do."""
        if status == 429:
            title = words("error.limited")
            lead = words("error.limited_more", seconds=refusal.retry_after_s or 1)
        else:
            key = _ERRORS.get(status, _OTHER_ERROR)
            title, lead = words(f"error.{key}"), words(f"error.{key}_more")
        is_test = self._simulator is not None
        layout = Layout(words=words, title=title, is_test=is_test, here=here, colours=colours_of(None))
        facts: dict[str, Any] = {"lead": lead, "retry_href": None if status == 404 else here, "request_id": request_id}
        return self.html("error.html", layout, nonce=nonce, status=status, cookies=cookies, **facts)

    def html(
        self, template: str, layout: Layout, *, nonce: str, status: int = 200, cookies: CookieLines, **facts: Any
    ) -> Html:
        shown = {**facts, "layout": layout, "nonce": nonce, "script": self._files[SCRIPT]}
        text = templates_for(layout.words.language).render(template, shown)
        return Html(text.encode().replace(_STYLE_PLACE, self._style, 1), status, cookies=cookies)


def _refresh(page: PageModel, result: Result | None) -> str | None:
    """What a browser without script does by itself: look again, or go back to the shop."""
    if result is not None:
        return f"{result.leave_after_s};url={result.leave_url}" if result.leave_after_s else None
    attempt = page.attempt
    is_waiting = page.state in (PageState.WORKING, PageState.SHORT) or (
        page.state is PageState.CHOOSE and attempt is not None and attempt.is_open and not page.goes_back
    )
    # Only while the waiting panel is the one shown: a reload would empty a form that is being filled in.
    is_shown = page.asked is None or (attempt is not None and page.asked is attempt.method)
    return str(REFRESH_EVERY_S) if is_waiting and is_shown else None
