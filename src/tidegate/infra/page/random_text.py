"""Random texts for addresses, cookies and headers."""

from __future__ import annotations

import os
from binascii import b2a_base64

_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def url_safe(raw: bytes) -> str:
    """As `base64.urlsafe_b64encode` without padding, in a third of its time: a page needs three of them."""
    return b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=").decode("ascii")


def random_text(random_bytes: int) -> str:
    return url_safe(os.urandom(random_bytes))
