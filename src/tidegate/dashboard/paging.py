"""Where a page of a list begins, as the address says it."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


def number_in(text: str) -> int | None:
    """None for what is no number of a row."""
    return int(text) if _NUMBER.fullmatch(text) else None
