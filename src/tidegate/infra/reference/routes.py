"""The API reference: /openapi.json for programs, /docs for people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from tidegate.infra.http.operation import Operation, encode
from tidegate.infra.http.routing import Route, answering
from tidegate.infra.page import static
from tidegate.infra.page.compress import gzip_once
from tidegate.infra.page.response import Html
from tidegate.infra.page.router import PageRequest, PageRoute, PageRouter
from tidegate.infra.page.site import Site
from tidegate.infra.reference import view

_PACKAGE = "tidegate.infra.reference"
_TEMPLATE = "reference.html"


@dataclass(frozen=True)
class SandboxKeys:
    """Put into the examples, so that they run when pasted. Only a local sandbox has them."""

    secret_key: str
    public_key: str
    business_id: str

    @property
    def by_header(self) -> dict[str, str]:
        return {"api-key": self.secret_key, "x-pub-key": self.public_key, "x-business-id": self.business_id}


def routes(
    document: Mapping[str, Any],
    operations: Sequence[Operation],
    keys: SandboxKeys | None,
    router: PageRouter | None = None,
) -> list[Route]:
    """Everything is rendered here, once; a request only sends it."""
    site = Site(document["servers"][0]["url"])
    static_files = static.load(_PACKAGE, "static", under="/docs/static", site=site)
    body = _render(document, operations, keys, static_files).encode()
    page = Html(body, compressed=gzip_once(body))
    description = encode(document)

    async def show(_: PageRequest) -> Html:
        return page

    async def describe(_: Request) -> Response:
        return Response(description, media_type="application/json")

    return [
        answering("/openapi.json", describe),
        *(router or PageRouter()).routes([PageRoute("GET", "/docs", "showReference", show)]),
        *static.routes(static_files.values()),
    ]


def _render(
    document: Mapping[str, Any],
    operations: Sequence[Operation],
    keys: SandboxKeys | None,
    static_files: Mapping[str, static.StaticFile],
) -> str:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(prose=prose, highlighted=highlighted, breakable=breakable)
    template = environment.from_string((files(_PACKAGE) / "templates" / _TEMPLATE).read_text(encoding="utf-8"))
    return template.render(page=view.page_of(document, operations, keys.by_header if keys else {}), files=static_files)


_CODE = re.compile(r"`([^`]+)`")
_TOKEN = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")(?P<colon>:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*')


def prose(text: str) -> Markup:
    """Plain text with backticks for code. No other markup."""
    code = Markup("<code>{}</code>")
    return Markup().join(code.format(piece) if index % 2 else piece for index, piece in enumerate(_CODE.split(text)))


def breakable(path: str) -> Markup:
    """A line may end before each slash."""
    return Markup("<wbr>/").join(path.split("/"))


def highlighted(json_text: str) -> Markup:
    """JSON with keys, strings and other values in different colours."""
    marked = Markup()
    end = 0
    for token in _TOKEN.finditer(json_text):
        kind = "k" if token["colon"] else "s" if token["text"] else "n"
        marked += escape(json_text[end : token.start()])
        marked += Markup('<span class="{}">{}</span>').format(kind, token[0])
        end = token.end()
    return marked + escape(json_text[end:])
