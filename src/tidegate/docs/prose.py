"""Plain text as HTML. Pure."""

from __future__ import annotations

import re

from markupsafe import Markup

_CODE = re.compile(r"`([^`]+)`")


def prose(text: str) -> Markup:
    """Plain text with backticks for code. No other markup."""
    code = Markup("<code>{}</code>")
    return Markup().join(code.format(piece) if index % 2 else piece for index, piece in enumerate(_CODE.split(text)))


def breakable(path: str) -> Markup:
    """A line may end before each slash."""
    return Markup("<wbr>/").join(path.split("/"))
