"""The identifiers of a payment in a bank's files. Where there is none, banks write a word in its place."""

from __future__ import annotations

# Far above any bank's; MT has lines of any length.
_CHARS_MAX = 70
# EREF and KREF say that it stands elsewhere, in a file of MT.
_NONE_GIVEN = frozenset({"", "0", "EREF", "KREF", "NA", "N/A", "NONE", "NONREF", "NOREF", "NOTPROVIDED", "UNKNOWN"})
_WITHOUT = str.maketrans("", "", " -")


def given(identifier: str | None) -> str | None:
    """None for a word that only says that there is none: other payments have it too."""
    text = (identifier or "").strip()[:_CHARS_MAX]
    return None if text.upper().translate(_WITHOUT).rstrip("+") in _NONE_GIVEN else text
