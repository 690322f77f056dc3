"""The page that was asked for, kept as `next` in the address of the sign-in pages until it may be shown. Pure."""

from __future__ import annotations

import re
from urllib.parse import quote

# With each character escaped, an address of ours has room for it.
NEXT_CHARS_MAX = 2_000
# Our own pages alone: no other host, no scheme, no way up, no line break, escaped or not.
_PATH = r"(?:/(?!\.+(?:[/?]|$))(?:[A-Za-z0-9_.~:=@+-]|%(?![01]|2[EeFf]|5[Cc]|7[Ff])[0-9A-Fa-f]{2})+)*"
_QUERY = r"(?:\?(?:[A-Za-z0-9!$&'()*+,./:;=?@\[\]^_`{|}~-]|%(?![01]|7[Ff])[0-9A-Fa-f]{2})*)?"
_BELOW = re.compile(_PATH + _QUERY)


def next_in(text: str, root: str) -> str:
    """The root for everything that is not surely a page below it; without what it asks for, where that is too much."""
    for one in (text, text.partition("?")[0]):
        if len(one) <= NEXT_CHARS_MAX and one.startswith(root) and _BELOW.fullmatch(one[len(root) :]):
            return one
    return root


def keeping(address: str, after: str, root: str) -> str:
    """The address of a sign-in page that leads on to a page."""
    after = next_in(after, root)
    return address if after == root else f"{address}?next={quote(after, safe='/')}"
