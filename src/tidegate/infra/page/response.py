"""A page as a handler returns it, and as it is sent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec

from tidegate.infra.http.compress import accepts_gzip, gzip_of
from tidegate.infra.http.cookie import NOTHING_SET, CookieLines
from tidegate.infra.http.operation import Headers, RawHeaders, Stream
from tidegate.infra.page.security import page_headers

# Shorter than this, gzip saves no packet.
GZIP_BYTES_MIN = 1_000
# All control characters but the tab.
_UNSAFE = bytes([*range(9), *range(10, 32), 127])
# Neither `//elsewhere` nor `/\elsewhere`, which browsers take for another host.
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")


class Html(msgspec.Struct, frozen=True):
    body: bytes
    status: int = 200
    headers: RawHeaders = []
    cookies: CookieLines = NOTHING_SET
    # Of a page that never changes, gzipped once.
    compressed: bytes | None = None
    # The one origin whose pages may show it in a frame.
    framed_by: str | None = None
    # Its script may ask the browser for a passkey.
    uses_passkeys: bool = False
    # It shows another page of ours in a frame.
    frames_own_pages: bool = False


@dataclass(frozen=True)
class File:
    """A picture or a document, sent as it is, or compressed where that was made with it."""

    body: bytes
    media_type: str
    status: int = 200
    headers: RawHeaders = field(default_factory=list)
    compressed: bytes | None = None


@dataclass(frozen=True)
class StreamedFile:
    """A file of any length, sent as fast as the browser takes it. `caller` is whose downloads are counted together."""

    stream: Stream
    content_type: bytes
    head: bytes
    caller: str


def see_other(path: str) -> Html:
    """After a form, to a page of our own: browsers refuse any other under our `form-action`."""
    if not _OWN_PATH.fullmatch(path):
        raise ValueError("a form ends at a path of our own")
    return Html(b"", 303, [(b"location", path.encode("ascii"))])


class EncodedPage(msgspec.Struct, frozen=True):
    """As `Reply.whole` takes it."""

    status: int
    body: bytes
    headers: RawHeaders


def encode_page(answer: Html | File, request: Headers, *, nonce: str, reports_to: str) -> EncodedPage:
    """Everything that can fail happens before anything is sent, so that an error page can still be sent instead."""
    for name, value in answer.headers:
        header = name + value
        if header.translate(None, delete=_UNSAFE) != header:
            raise ValueError(f"the header {name!r} would end early")
    if isinstance(answer, File):
        (body, kind), cookies = _file(answer, request), NOTHING_SET
        headers = page_headers(nonce, reports_to)
    else:
        (body, kind), cookies = _page(answer, request), answer.cookies
        headers = page_headers(
            nonce, reports_to, answer.framed_by, uses_passkeys=answer.uses_passkeys,
            frames_own_pages=answer.frames_own_pages,
        )  # fmt: skip
    return EncodedPage(answer.status, body, [*kind, *headers, *cookies, *answer.headers])


def _file(answer: File, request: Headers) -> tuple[bytes, RawHeaders]:
    kind = (b"content-type", answer.media_type.encode("ascii"))
    if answer.compressed is None:
        return answer.body, [kind]
    if accepts_gzip(request.all(b"accept-encoding")):
        return answer.compressed, [kind, _VARIES, _GZIP]
    return answer.body, [kind, _VARIES]


def _page(answer: Html, request: Headers) -> tuple[bytes, RawHeaders]:
    if len(answer.body) < GZIP_BYTES_MIN or not accepts_gzip(request.all(b"accept-encoding")):
        return answer.body, _PLAIN_PAGE
    return answer.compressed or gzip_of(answer.body), _GZIP_PAGE


_VARIES, _GZIP = (b"vary", b"accept-encoding"), (b"content-encoding", b"gzip")
_PLAIN_PAGE: RawHeaders = [(b"content-type", b"text/html; charset=utf-8"), _VARIES]
_GZIP_PAGE: RawHeaders = [*_PLAIN_PAGE, _GZIP]
