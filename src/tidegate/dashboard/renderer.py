"""Templates of the dashboard."""

from __future__ import annotations

import secrets
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from tidegate.dashboard import format as shown
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.page import static
from tidegate.infra.page.static import StaticFile
from tidegate.merchant.field import REMARK_LENGTH_MAX

PACKAGE = "tidegate.dashboard"
STATIC_PATH = "/static"


class Renderer:
    def __init__(self, site: PublicUrl, *, package: str = PACKAGE) -> None:
        """Another package adds templates and style of its own to these."""
        self.files = static.load(PACKAGE, "static", under=STATIC_PATH, site=site)
        own = static.load(package, "static", under=STATIC_PATH, site=site) if package != PACKAGE else {}
        styles = (self.files["dashboard.css"], *(file for name, file in own.items() if name.endswith(".css")))
        self._environment = Environment(
            loader=ChoiceLoader([PackageLoader(package), PackageLoader(PACKAGE)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(
            css="".join(style.body.decode() for style in styles),
            script=self.files["dashboard.js"],
            passkey_script=self.files["passkey.js"],
            site=site,
            amount=shown.amount,
            many=shown.many,
            account=account_words,
            once=_new_once,
            remark_chars_max=REMARK_LENGTH_MAX,
        )

    def render(self, template: str, **facts: Any) -> bytes:
        return self._environment.get_template(template).render(**facts).encode()

    @property
    def static_files(self) -> list[StaticFile]:
        return list(self.files.values())


def account_words(name: str) -> str:
    """An account of the ledger, as people write it."""
    return "VAT" if name == "vat" else name.replace("_", " ").capitalize()


def _new_once() -> str:
    return secrets.token_urlsafe(16)
