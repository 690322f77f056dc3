"""Digits of other scripts."""

from __future__ import annotations

import unicodedata


def in_ascii(text: str) -> str:
    """Every decimal digit in ASCII (٣, ۳, ३ and ３ are 3); the rest is unchanged."""
    return text if text.isascii() else "".join(str(unicodedata.decimal(each, each)) for each in text)
