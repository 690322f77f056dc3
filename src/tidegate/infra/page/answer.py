"""A page as a handler gives it, and as it goes out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from tidegate.infra.http.operation import Headers, RawHeaders
from tidegate.infra.page.compress import Constant, Piece, accepts_gzip, gzip_of, plain_of, splice
from tidegate.infra.page.cookie import NOTHING_SET, CookieLines
from tidegate.infra.page.drawing import Filled
from tidegate.infra.page.security import page_headers

# Shorter than this, gzip saves no packet.
GZIP_BYTES_MIN = 1_000
# All control characters but the tab.
_UNSAFE = bytes([*range(9), *range(10, 32), 127])
# Neither `//elsewhere` nor `/\elsewhere`, which browsers take for another host.
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")


class Html(msgspec.Struct, frozen=True):
    # Drawn for this visitor, or filled for this visitor.
    content: Sequence[Piece] | Filled
    status: int = 200
    headers: RawHeaders = []
    cookies: CookieLines = NOTHING_SET

    @classmethod
    def of(cls, text: str, *constants: Constant, status: int = 200, cookies: CookieLines = NOTHING_SET) -> Html:
        """From a template's text, with each constant where the template wrote it."""
        return cls(splice(text, constants), status, cookies=cookies)


@dataclass(frozen=True)
class File:
    """What is no page: a picture, a document. It goes out as it is."""

    body: bytes
    media_type: str
    status: int = 200
    headers: RawHeaders = field(default_factory=list)


def see_other(path: str) -> Html:
    """After a form, to a page of our own: browsers refuse any other under our `form-action`."""
    if not _OWN_PATH.fullmatch(path):
        raise ValueError("a form ends at a path of our own")
    return Html([], 303, [(b"location", path.encode("ascii"))])


class Ready(msgspec.Struct, frozen=True):
    """As `Reply.whole` takes it."""

    status: int
    body: bytes
    headers: RawHeaders


def ready(answer: Html | File, request: Headers, *, nonce: str, reports_to: str) -> Ready:
    """All that can fail is done before anything is sent, so that it can still become another page."""
    for name, value in answer.headers:
        header = name + value
        if header.translate(None, delete=_UNSAFE) != header:
            raise ValueError(f"the header {name!r} would end early")
    if isinstance(answer, File):
        kind, body, cookies = [(b"content-type", answer.media_type.encode("ascii"))], answer.body, NOTHING_SET
    else:
        (body, kind), cookies = _page(answer.content, request), answer.cookies
    return Ready(answer.status, body, [*kind, *page_headers(nonce, reports_to), *cookies, *answer.headers])


def _page(content: Sequence[Piece] | Filled, request: Headers) -> tuple[bytes, RawHeaders]:
    takes_gzip = accepts_gzip(request.all(b"accept-encoding"))
    if isinstance(content, Filled):
        return (content.gzip(), _GZIP_PAGE) if takes_gzip else (content.plain(), _PLAIN_PAGE)
    plain = plain_of(content)
    if len(plain) < GZIP_BYTES_MIN or not takes_gzip:
        return plain, _PLAIN_PAGE
    return gzip_of(content), _GZIP_PAGE


_PLAIN_PAGE: RawHeaders = [(b"content-type", b"text/html; charset=utf-8"), (b"vary", b"accept-encoding")]
_GZIP_PAGE: RawHeaders = [*_PLAIN_PAGE, (b"content-encoding", b"gzip")]
