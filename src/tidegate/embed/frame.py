"""A frame: which page of a shop shows ours, and in which opening. Pure.

It is in the address of everything inside the frame, since browsers send no cookies there.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from urllib.parse import urlsplit

from tidegate.core.errors import NotFound
from tidegate.core.ids import Mode
from tidegate.infra.http.hosts import LOOPBACK
from tidegate.merchant.model import Business

ORIGIN_CHARS_MAX = 255
_ORIGIN = re.compile(r"https?://(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(?::[1-9][0-9]{0,4})?")
_TEXT = re.compile(r"([A-Za-z0-9_-]{22})\.([a-z]{0,3})\.([A-Za-z0-9_-]{1,340})")


def parse_origin(text: str, mode: Mode) -> str:
    """As a browser writes it. Raises ValueError, in words that follow the name of the setting."""
    origin = text.strip().lower().rstrip("/")
    if len(origin) > ORIGIN_CHARS_MAX or not _ORIGIN.fullmatch(origin):
        raise ValueError("must be an origin such as https://shop.example.com, without a path")
    if mode is Mode.LIVE and not origin.startswith("https://"):
        raise ValueError("must begin with https:// in live mode")
    return origin


@dataclass(frozen=True)
class Frame:
    # Random, of one opening of the dialog.
    id: str
    # Empty until the shop or the payer chose one.
    language: str
    origin: str

    @classmethod
    def parse(cls, text: str) -> Frame:
        match = _TEXT.fullmatch(text)
        try:
            origin = urlsafe_b64decode(f"{match[3]}===").decode("ascii") if match else ""
        except (binascii.Error, UnicodeDecodeError):
            origin = ""
        if match is None or len(origin) > ORIGIN_CHARS_MAX or not _ORIGIN.fullmatch(origin):
            raise NotFound("there is no such frame; close the dialog and open the payment again")
        return cls(match[1], match[2], origin)

    @property
    def text(self) -> str:
        return f"{self.id}.{self.language}.{urlsafe_b64encode(self.origin.encode()).decode().rstrip('=')}"

    def is_allowed_by(self, business: Business, mode: Mode) -> bool:
        """Shops on one's own machine need no setting in the sandbox."""
        if self.origin in business.checkout_origins:
            return True
        host = urlsplit(self.origin).hostname or ""
        return mode is Mode.SANDBOX and (host in LOOPBACK or f"[{host}]" in LOOPBACK)
