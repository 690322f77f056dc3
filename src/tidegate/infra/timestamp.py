"""Times as JSON."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

_encode = msgspec.json.Encoder().encode
# "2026-11-15T12:30:00.123456Z", in quotes; without a fraction it is shorter.
_LENGTH_WITH_FRACTION = 29
_MILLISECONDS = slice(1, 24)
_SECONDS = slice(1, 20)


def to_iso(moment: datetime) -> str:
    """UTC with milliseconds and a Z, as JavaScript writes it.

    msgspec is four times as fast as `isoformat`; its microseconds are cut to milliseconds.
    """
    text = _encode(moment if moment.tzinfo is UTC else moment.astimezone(UTC))
    if len(text) == _LENGTH_WITH_FRACTION:
        return text[_MILLISECONDS].decode() + "Z"
    return text[_SECONDS].decode() + ".000Z"
