"""Files of the package for browsers: named after their content, so that they may be kept for ever."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.types import Receive, Scope

from tidegate.core.errors import MethodNotAllowed
from tidegate.infra.http.compress import accepts_gzip, gzip_once
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.http.reply import Reply
from tidegate.infra.http.routing import Route

HASH_DIGITS = 16
# Comments on lines of their own, and white space: a fifth of a compressed script, of use only to its authors.
_FOR_AUTHORS = {
    ".css": re.compile(rb"\s*/\*[^*]*\*/\s*|^[ \t]+|(?<=[{};,:])\s+(?![\s\"])|[ \t]+(?=\{)", re.MULTILINE),
    ".js": re.compile(rb"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE),
}
OPERATION = "staticFile"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, kw_only=True)
class StaticFile:
    name: str
    body: bytes
    media_type: str
    folder: str
    site: PublicUrl

    @cached_property
    def path(self) -> str:
        name = PurePosixPath(self.name)
        return f"{self.folder}/{name.stem}.{hashlib.sha256(self.body).hexdigest()[:HASH_DIGITS]}{name.suffix}"

    @property
    def url(self) -> str:
        """For a page's link to it."""
        return self.site.url(self.path)

    @cached_property
    def integrity(self) -> str:
        """For a page's `integrity` attribute: the browser uses the file only if it is this one."""
        return f"sha384-{b64encode(hashlib.sha384(self.body).digest()).decode()}"


def load(package: str, folder: str, *, under: str, site: PublicUrl) -> dict[str, StaticFile]:
    """Every file of a package's folder, by its name."""
    found = (entry for entry in files(package).joinpath(folder).iterdir() if entry.is_file())
    return {
        entry.name: StaticFile(
            name=entry.name,
            body=_body(entry),
            media_type=_MEDIA_TYPES[PurePosixPath(entry.name).suffix],
            folder=under,
            site=site,
        )
        for entry in found
    }


def _body(entry: Traversable) -> bytes:
    for_authors = _FOR_AUTHORS.get(PurePosixPath(entry.name).suffix)
    return for_authors.sub(b"", entry.read_bytes()) if for_authors else entry.read_bytes()


def routes(static_files: Iterable[StaticFile]) -> list[Route]:
    return [Route(file.path, _Sender(file)) for file in static_files]


class _Sender:
    """Compresses once; a request only chooses between two answers."""

    def __init__(self, file: StaticFile) -> None:
        smaller = gzip_once(file.body)
        self._plain = file.body
        self._gzip = smaller if len(smaller) < len(file.body) else None
        self._headers = [
            (b"content-type", file.media_type.encode("ascii")),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"vary", b"accept-encoding"),
            _FOREVER,
        ]

    async def __call__(self, scope: Scope, _: Receive, reply: Reply) -> None:
        scope["tidegate.operation"] = OPERATION
        if scope["method"] not in ("GET", "HEAD"):
            raise MethodNotAllowed(["GET", "HEAD"])
        if self._gzip is not None and accepts_gzip(Headers(scope["headers"]).all(b"accept-encoding")):
            await reply.whole(200, self._gzip, [*self._headers, _GZIP])
        else:
            await reply.whole(200, self._plain, self._headers)


_FOREVER = (b"cache-control", b"public, max-age=31536000, immutable")
_GZIP = (b"content-encoding", b"gzip")
