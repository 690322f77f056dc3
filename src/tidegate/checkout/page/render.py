"""Templates and what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tidegate.checkout.page.look import Look
from tidegate.checkout.page.shell import Shell
from tidegate.checkout.page.values import OF_STEADY_LENGTH, Value
from tidegate.infra.page import static
from tidegate.infra.page.answer import Html
from tidegate.infra.page.compress import Constant
from tidegate.infra.page.cookie import NOTHING_SET, CookieLines
from tidegate.infra.page.drawing import Drawing
from tidegate.infra.page.site import Site
from tidegate.infra.page.slot import Slots

_PACKAGE = "tidegate.checkout.page"
STATIC_PATH = "/pay/static"
SCRIPT = "checkout.js"
STYLE = "checkout.css"
# At most 100 kB each. Of more shapes than that the oldest is forgotten, and drawn again when it is wanted.
DRAWINGS_MAX = 128

Own = Callable[[Value], str]
# Gives the template's text, with each value of the payment where `own` writes it.
Draw = Callable[[Own], str]


class Renderer:
    """Everything that can be made once is made here."""

    def __init__(self, site: Site) -> None:
        self._files = static.load(_PACKAGE, "static", under=STATIC_PATH, site=site)
        # The style sheet goes into the page itself, so that the first paint needs one request.
        self._style = Constant(self._files[STYLE].body)
        self._environment = Environment(
            loader=PackageLoader(_PACKAGE),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(css=self._style, script=self._files[SCRIPT])
        self._drawings: dict[object, Drawing] = {}

    def text(self, template: str, shell: Shell, *, nonce: str, **facts: Any) -> str:
        return self._environment.get_template(template).render(words=shell.words, shell=shell, nonce=nonce, **facts)

    def html(self, text: str, *, status: int = 200, cookies: CookieLines = NOTHING_SET) -> Html:
        return Html.of(text, self._style, status=status, cookies=cookies)

    def filled(self, shape: object, look: Look, draw: Draw, *, cookies: CookieLines) -> Html:
        """What `draw` gives for this look; it is asked once for each shape."""
        drawing = self._drawings.get(shape)
        if drawing is None:
            drawing = self._drawings[shape] = self._drawing(draw)
        return Html(drawing.fill(look), cookies=cookies)

    def _drawing(self, draw: Draw) -> Drawing:
        if len(self._drawings) >= DRAWINGS_MAX:
            del self._drawings[next(iter(self._drawings))]
        slots = Slots()
        return Drawing(draw(slots.of), slots, [self._style], steady=OF_STEADY_LENGTH.__contains__)

    @property
    def scripts(self) -> list[static.StaticFile]:
        return [self._files[SCRIPT]]
