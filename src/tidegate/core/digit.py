"""Digits as keyboards of other scripts type them."""

from __future__ import annotations

import unicodedata


def in_ascii(text: str) -> str:
    """Every decimal digit as ASCII has it (٣, ۳, ३ and ３ are 3); all else stays as it is."""
    return text if text.isascii() else "".join(str(unicodedata.decimal(each, each)) for each in text)
