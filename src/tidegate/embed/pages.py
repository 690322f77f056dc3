"""The hosted page below an address that names its frame: the same handlers, without cookies, framed by one origin."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tidegate.checkout.language.catalog import LANGUAGES, Catalog, catalog_for
from tidegate.checkout.language.negotiate import negotiate_language
from tidegate.checkout.page.model import ROOT
from tidegate.checkout.page.pages import CheckoutPages
from tidegate.checkout.page.renderer import PageRenderer
from tidegate.core import ids
from tidegate.core.errors import AccessDenied
from tidegate.core.ids import Mode
from tidegate.embed.frame import Frame
from tidegate.embed.renderer import FrameRenderer, NoPanel
from tidegate.infra.http.cookie import NOTHING_SET
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.routing import Route, answering
from tidegate.infra.page import static
from tidegate.infra.page.csrf import Csrf, Visitor
from tidegate.infra.page.response import File, Html, see_other
from tidegate.infra.page.router import PageHandler, PageRequest

_PACKAGE = "tidegate.embed"
PREFIX = "/embed/{frame}"
SCRIPT_PATH = "/checkout/v1.js"
# The script has one address for ever; a change of it reaches shops within this time.
SCRIPT_KEPT_S = 300


class FrameCsrf(Csrf):
    """The opening of the dialog in place of a cookie. Browsers say where a form in a frame comes from."""

    def __init__(self, site: PublicUrl, frame: Frame, *, key: bytes) -> None:
        super().__init__(site, key=key)
        self._frame = frame

    def visitor_of(self, cookies: Any) -> Visitor:
        return Visitor(self._frame.id, is_new=False)

    def check(self, headers: Headers, token: str | None, *, scope: str, visitor: str | None = None) -> None:
        if headers.one(b"sec-fetch-site") != "same-origin":
            raise AccessDenied("this form was not sent from our own page; open the payment in a full page")
        super().check(headers, token, scope=scope, visitor=self._frame.id)


@dataclass(frozen=True, kw_only=True)
class FramedPages(CheckoutPages):
    frame: Frame
    frame_renderer: FrameRenderer

    @cached_property
    def csrf(self) -> Csrf:
        return FrameCsrf(self.site, self.frame, key=hmac.digest(self.secret(), b"forms in a frame", "sha256"))

    @cached_property
    def renderer(self) -> PageRenderer:
        return self.frame_renderer

    def words_of(self, request: PageRequest) -> Catalog:
        header = request.headers.one(b"accept-language")
        language = negotiate_language(asked=self.frame.language, remembered=None, accept_language=header)
        return catalog_for(language)


@dataclass(frozen=True)
class EmbedPages:
    pages: CheckoutPages
    mode: Mode

    @cached_property
    def _renderer(self) -> PageRenderer:
        return PageRenderer(self.pages.site, NoPanel() if self.pages.simulator else None)

    @cached_property
    def _script(self) -> static.StaticFile:
        return static.load(_PACKAGE, "static", under="/embed/static", site=self.pages.site)["frame.js"]

    def routes(self, streams: Iterable[Route]) -> list[Route]:
        """`streams` are the events of a payment, which the page inside the frame follows too."""
        own = self.pages.own_pages()
        framed = [replace(page, path=PREFIX + page.path, handler=self._framed(page.handler.__name__)) for page in own]
        return [
            answering(SCRIPT_PATH, self._show_script),
            *static.routes([self._script]),
            *self.pages.page_routes(framed, self._framed("way_back")),
            *(Route(PREFIX + stream.path, stream.app) for stream in streams),
            self.pages.router.nothing_else("/embed/{rest:path}"),
        ]

    def _framed(self, name: str) -> PageHandler:
        async def handle(request: PageRequest) -> Html | File:
            frame = Frame.parse(request.path["frame"])
            await self._admit(frame, request)
            chosen = request.query.get("lang", "")
            if chosen.isalpha() and len(chosen) <= 3 and chosen != frame.language:
                # In the address from now on.
                return see_other(self._site_of(replace(frame, language=chosen)).url(_path_of(request)))
            answer: Html | File = await getattr(self._pages_of(frame), name)(request)
            if isinstance(answer, Html):
                return msgspec.structs.replace(answer, cookies=NOTHING_SET, framed_by=frame.origin)
            return answer

        return handle

    async def _admit(self, frame: Frame, request: PageRequest) -> None:
        code = ids.business_code_of(request.path["payCode"]) if "payCode" in request.path else None
        business = await self.pages.commands.key_cache.business_by_code(code) if code else None
        if business is not None and not frame.is_allowed_by(business, self.mode):
            raise AccessDenied(
                f"{frame.origin} is not among the origins that may show this business's checkout; ask the operator "
                "to add it"
            )

    def _pages_of(self, frame: Frame) -> FramedPages:
        pages = self.pages
        return FramedPages(
            pages.commands,
            self._site_of(frame),
            pages.secret,
            pages.simulator,
            frame=frame,
            frame_renderer=FrameRenderer(self._renderer, frame, self._script, pages.site),
        )

    def _site_of(self, frame: Frame) -> PublicUrl:
        return PublicUrl(self.pages.site.base_url.rstrip("/") + PREFIX.format(frame=frame.text))

    @cached_property
    def _shop_script(self) -> bytes:
        script = static.load(_PACKAGE, "script", under="/checkout", site=self.pages.site)["v1.js"].body
        return script.replace(b'"TEXTS"', msgspec.json.encode(_dialog_texts()), 1)

    async def _show_script(self, _: Request) -> Response:
        """For pages of any origin."""
        headers = {
            "cross-origin-resource-policy": "cross-origin",
            "access-control-allow-origin": "*",
            "cache-control": f"public, max-age={SCRIPT_KEPT_S}",
        }
        return Response(self._shop_script, media_type="text/javascript", headers=headers)


def _dialog_texts() -> dict[str, list[str]]:
    """Of the dialog around the frame, by language; the first one is the default. A fourth one says: right to left."""
    catalogs = [catalog_for(language) for language in LANGUAGES]
    return {
        words.language: [words("dialog.label"), words("dialog.close"), words("dialog.full_page")]
        + (["rtl"] if words.direction == "rtl" else [])
        for words in catalogs
    }


def _path_of(request: PageRequest) -> str:
    return f"{ROOT}/{request.path['payCode']}"
