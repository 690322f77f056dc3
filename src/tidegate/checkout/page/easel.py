"""Where pages of a payment are drawn: once for each shape, and filled for each payer."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import msgspec

from tidegate.checkout.page import values
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.receipt import pdf_of, receipt_of
from tidegate.checkout.page.receipt_pdf import Receipt
from tidegate.checkout.page.render import Own, Renderer
from tidegate.checkout.page.shape import Shape, shape_of
from tidegate.checkout.page.sketch import Sketch
from tidegate.checkout.page.view import NOTHING_SPECIAL, Filled, Special, is_special, page_of, special_of
from tidegate.core.method import MethodNames
from tidegate.infra.page.answer import Html
from tidegate.infra.page.cookie import CookieLines
from tidegate.infra.page.site import Site

TEMPLATE = "checkout.html"


class Play(Protocol):
    """What the sandbox adds to the page."""

    def panel(self, sketch: Sketch) -> Any: ...


class Pose(msgspec.Struct, frozen=True):
    """Everything that a page without anything special depends on, but for the values that are written into it."""

    shape: Shape
    # The key of a sentence above it.
    notice: str | None = None
    template: str = TEMPLATE


class Easel:
    def __init__(self, site: Site, names: MethodNames, simulator: Play | None) -> None:
        self._site = site
        self._names = names
        self._simulator = simulator

    @cached_property
    def renderer(self) -> Renderer:
        return Renderer(self._site)

    @property
    def is_test(self) -> bool:
        return self._simulator is not None

    def page(
        self,
        look: Look,
        *,
        filled: Filled | None = None,
        notice: str | None = None,
        template: str = TEMPLATE,
        status: int = 200,
        cookies: CookieLines,
    ) -> Html:
        pose = Pose(shape_of(look), notice, template)
        if filled is None and not is_special(look):
            return self.renderer.filled(pose, look, lambda own: self._draw(pose, own), cookies=cookies)
        return self.renderer.html(self.drawn_for(look, pose, filled), status=status, cookies=cookies)

    def drawn_for(self, look: Look, pose: Pose, filled: Filled | None = None) -> str:
        """For this payer alone."""
        own = _own_of(look)
        return self._draw(pose, own, special_of(look, self._sketch(pose.shape, own), filled))

    def _draw(self, pose: Pose, own: Own, special: Special = NOTHING_SPECIAL) -> str:
        sketch = self._sketch(pose.shape, own)
        simulator = self._simulator.panel(sketch) if self._simulator else None
        page = page_of(sketch, special, notice=pose.notice, simulator=simulator)
        return self.renderer.text(pose.template, page.shell, nonce=own(values.nonce), page=page)

    def receipt(self, look: Look, *, cookies: CookieLines) -> Html:
        receipt = receipt_of(look, self._sketch(shape_of(look), _own_of(look)))
        text = self.renderer.text("receipt.html", receipt.shell, nonce=look.nonce, receipt=receipt)
        return self.renderer.html(text, cookies=cookies)

    def receipt_file(self, look: Look, *, logo: bytes | None) -> Receipt:
        return pdf_of(look, self._sketch(shape_of(look), _own_of(look)), logo=logo)

    def _sketch(self, shape: Shape, own: Own) -> Sketch:
        return Sketch(shape, own, self._names, self._site, self.is_test)


def _own_of(look: Look) -> Own:
    return lambda value: value(look)
