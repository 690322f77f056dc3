"""The documentation as files, for any web server: relative links, no keys, nothing to run."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from tidegate.docs import downloads, postman
from tidegate.docs.page import ROOT
from tidegate.docs.renderer import DocsRenderer
from tidegate.docs.site import DocsSite
from tidegate.infra.http.operation import encode
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.page import static

_PACKAGE = "tidegate.docs"


def write(folder: Path, docs: DocsSite) -> int:
    """Returns how many pages were written."""
    assets = static.load(_PACKAGE, "static", under="/static", site=PublicUrl(""))
    for asset in assets.values():
        _write(folder, asset.path, asset.body)
    for head in docs.heads:
        own = _file_of(head.path)

        def link(path: str, own: str = own) -> str:
            return _relative(_file_of(path), own)

        def asset_link(name: str, own: str = own) -> str:
            return _relative(assets[name].path, own)

        renderer = DocsRenderer(docs, asset_link, has_server=False)
        _write(folder, own, renderer.page(head.path, link).encode())
        _write(folder, _file_of(head.markdown_path), _linked(docs.markdown(head.path), own).encode())
    whole = DocsRenderer(docs, str, has_server=False)
    _write(folder, "/llms.txt", whole.llms(lambda path: _relative(_file_of(path), "/llms.txt")).encode())
    _write(folder, "/llms-full.txt", _linked(whole.llms_full(), "/llms-full.txt").encode())
    # A script: a page that is opened as a file may not fetch. Its addresses are relative to the first page.
    index = whole.index(lambda path: _file_of(path).lstrip("/"))
    _write(folder, "/search.js", b"var searchIndex = %s;\n" % index)
    _write(folder, "/openapi.json", encode(docs.document))
    _write(folder, postman.PATH, encode(postman.collection(docs.document)))
    for package in downloads.packages():
        _write(folder, package.path, package.body)
    return len(docs.heads)


def _file_of(path: str, ending: str = ".html") -> str:
    """`/docs/guides/refund` is `/guides/refund.html`; what has an ending of its own keeps it."""
    page, sign, anchor = path.partition("#")
    inner = page.removeprefix(ROOT).rstrip("/") or "/index"
    return (inner if PurePosixPath(inner).suffix in _ENDINGS else f"{inner}{ending}") + sign + anchor


_ENDINGS = {".md", ".js", ".json", ".txt", ".php"}
_LINK = re.compile(r"\]\((/[^)]*)\)")


def _linked(markdown: str, own: str) -> str:
    """With relative links, from Markdown to Markdown."""

    def relative(found: re.Match[str]) -> str:
        return f"]({_relative(_file_of(found[1], ending='.md'), own)})"

    return _LINK.sub(relative, markdown)


def _relative(target: str, page: str) -> str:
    return os.path.relpath(target, str(PurePosixPath(page).parent))


def _write(folder: Path, path: str, body: bytes) -> None:
    file = folder / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)
