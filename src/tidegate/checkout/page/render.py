"""Templates and what they are given."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tidegate.checkout.page.shell import Shell
from tidegate.infra.http.operation import RawHeaders
from tidegate.infra.page import static
from tidegate.infra.page.answer import Html
from tidegate.infra.page.compress import Constant
from tidegate.infra.page.site import Site

_PACKAGE = "tidegate.checkout.page"
STATIC_PATH = "/pay/static"
SCRIPT = "checkout.js"
STYLE = "checkout.css"


class Renderer:
    """Everything that can be made once is made here."""

    def __init__(self, site: Site) -> None:
        # The style sheet goes into the page itself, so that the first paint needs one request.
        self._style = Constant((files(_PACKAGE) / "static" / STYLE).read_bytes())
        self._files = static.load(_PACKAGE, "static", under=STATIC_PATH, site=site)
        self._environment = Environment(
            loader=PackageLoader(_PACKAGE),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(css=self._style, script=self._files[SCRIPT])

    def page(
        self,
        template: str,
        shell: Shell,
        *,
        nonce: str,
        status: int = 200,
        headers: RawHeaders | None = None,
        **facts: Any,
    ) -> Html:
        text = self._environment.get_template(template).render(words=shell.words, shell=shell, nonce=nonce, **facts)
        return Html.of(text, self._style, status=status, headers=headers)

    @property
    def scripts(self) -> list[static.StaticFile]:
        return [self._files[SCRIPT]]
