"""Where a page of a list begins, as the address says it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_START = datetime.fromtimestamp(0, UTC)
# Of what an address may say: the year 5138.
_MOMENT_MAX = 10**17


def number_in(text: str) -> int | None:
    """None for what is no number of a row."""
    return int(text) if _NUMBER.fullmatch(text) else None


def place_of(moment: datetime, number: int) -> str:
    """In a list by time: the moment, in microseconds, and the row's number."""
    return f"{(moment - _START) // timedelta(microseconds=1)}-{number}"


def place_in(text: str) -> tuple[datetime, int] | None:
    """None for what is no place."""
    moment, _, number = (number_in(part) or 0 for part in text.partition("-"))
    return (_START + timedelta(microseconds=min(moment, _MOMENT_MAX)), number) if moment and number else None
