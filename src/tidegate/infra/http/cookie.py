"""Cookies: one name, one rule, and nothing a browser sends is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tidegate.infra.http.operation import Headers
from tidegate.infra.http.public_url import PublicUrl

COOKIES_MAX = 50
# The characters that need no quoting, so that every browser and proxy reads the value as it was written.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")
_NO_COOKIES: Mapping[str, str] = {}
# As headers.
CookieLines = tuple[tuple[bytes, bytes], ...]
NOTHING_SET: CookieLines = ()


@dataclass(frozen=True)
class Cookie:
    """Out of reach of scripts and of other sites' forms."""

    base_name: str
    site: PublicUrl

    @cached_property
    def name(self) -> str:
        """With the prefix, no other host of the same domain can set it. Browsers allow it over HTTPS only."""
        return f"__Host-{self.base_name}" if self.site.is_secure else self.base_name

    def set(self, value: str, *, max_age_s: int | None = None) -> CookieLines:
        """The header. Without an age the cookie goes when the browser is closed."""
        if not _PLAIN.fullmatch(value):
            raise ValueError(f"a value of the cookie {self.name} needs quoting")
        age = "" if max_age_s is None else f"; Max-Age={max_age_s}"
        return ((b"set-cookie", f"{self.name}={value}{self._attributes}{age}".encode("ascii")),)

    @cached_property
    def _attributes(self) -> str:
        return "; Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if self.site.is_secure else "")


def cookies_of(headers: Headers) -> Mapping[str, str]:
    """Of two with one name the first counts: browsers send the one of the narrower path first."""
    given = headers.all(b"cookie")
    if not given:
        return _NO_COOKIES
    found: dict[str, str] = {}
    # Over HTTP/2 a browser may split the header, and a proxy may pass it on in pieces.
    text = b";".join(given).decode("latin-1")
    for pair in text.split(";", COOKIES_MAX)[:COOKIES_MAX]:
        name, equals, value = pair.partition("=")
        if equals:
            found.setdefault(name.strip(), value.strip())
    return found
