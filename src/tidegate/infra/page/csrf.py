"""Forms that only our own pages can send.

A page carries a token made from the visitor's cookie; another site can neither read the one nor set the other.
Nothing is stored. The token is another text in every answer, so that compressing the page gives nothing away.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

import msgspec

from tidegate.core.errors import AccessDenied
from tidegate.infra.http.cookie import NOTHING_SET, Cookie, CookieLines, cookies_of
from tidegate.infra.http.operation import Headers
from tidegate.infra.http.public_url import PublicUrl

COOKIE_NAME = "tidegate"
KEY_BYTES_MIN = 32
_VISITOR_BYTES = 16
_SALT_BYTES = 16
_MAC_BYTES = 32
_VISITOR = re.compile(r"[A-Za-z0-9_-]{22}")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{64}")


class Visitor(msgspec.Struct, frozen=True):
    id: str
    is_new: bool

    def __repr__(self) -> str:
        """Its id stays secret."""
        return f"Visitor(is_new={self.is_new})"


class Csrf:
    def __init__(self, site: PublicUrl, *, key: bytes) -> None:
        if len(key) < KEY_BYTES_MIN:
            raise ValueError(f"the key must have at least {KEY_BYTES_MIN} bytes")
        self._origin = site.origin.encode()
        # A key as long as BLAKE2 takes it, and taken in once.
        self._keyed = hashlib.blake2b(key=hashlib.blake2b(key).digest(), digest_size=_MAC_BYTES)
        self._cookie = Cookie(COOKIE_NAME, site)

    def visitor_of(self, cookies: Mapping[str, str]) -> Visitor:
        known = self._known(cookies)
        return Visitor(known or secrets.token_urlsafe(_VISITOR_BYTES), is_new=known is None)

    def cookie(self, visitor: Visitor) -> CookieLines:
        """To be sent with the page that has the token."""
        return self._cookie.set(visitor.id) if visitor.is_new else NOTHING_SET

    def token(self, visitor: Visitor, *, scope: str) -> str:
        """Good for this visitor and this scope, such as the thing that the form is about."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return urlsafe_b64encode(salt + self._mac(salt, visitor.id, scope)).decode("ascii")

    def check(self, headers: Headers, token: str | None, *, scope: str, visitor: str | None = None) -> None:
        """Of the visitor that the cookie names, where none is given."""
        self._refuse_other_sites(headers)
        visitor = visitor or self._known(cookies_of(headers))
        if visitor is None:
            raise AccessDenied("your browser sent no cookie with this form; allow cookies, reload the page, try again")
        if token is None or not _TOKEN.fullmatch(token):
            raise _stale()
        raw = urlsafe_b64decode(token)
        salt, given = raw[:_SALT_BYTES], raw[_SALT_BYTES:]
        if not hmac.compare_digest(given, self._mac(salt, visitor, scope)):
            raise _stale()

    def _refuse_other_sites(self, headers: Headers) -> None:
        if any(site != b"same-origin" for site in headers.all(b"sec-fetch-site")):
            raise _foreign()
        # A page that sends no referrer, as ours do, makes its forms say "null". So does a stranger's sandboxed
        # frame, but that has neither the cookie nor the token.
        if any(origin not in (self._origin, b"null") for origin in headers.all(b"origin")):
            raise _foreign()

    def _known(self, cookies: Mapping[str, str]) -> str | None:
        value = cookies.get(self._cookie.name)
        return value if value and _VISITOR.fullmatch(value) else None

    def _mac(self, salt: bytes, visitor: str, scope: str) -> bytes:
        # Salt and visitor have fixed lengths, so no two scopes make the same message.
        mac = self._keyed.copy()
        mac.update(salt + visitor.encode() + scope.encode())
        return mac.digest()


def _stale() -> AccessDenied:
    return AccessDenied("this page has been open too long, or in another browser; reload it and try again")


def _foreign() -> AccessDenied:
    return AccessDenied("this form was not sent from our own page; reload the page and try again")
