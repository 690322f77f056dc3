"""Which of two representations a client would rather have, by its `Accept` header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# RFC 9110, section 12.4.2.
_QUALITY = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def prefers(accept: Sequence[bytes], wanted: str, *, over: str) -> bool:
    """Only what is plainly preferred: the usual representation needs no header, and is not lost by a vague one.

    Where both are wanted alike, the one that is named goes before the one that is only covered by a wildcard.
    """
    ranges = list(_ranges(accept))
    worth = _worth(wanted, ranges)
    return worth > _worth(over, ranges) and worth > _REFUSED


_Worth = tuple[float, int]
_ANY, _GROUP, _NAMED = 1, 2, 3
_REFUSED: _Worth = (0.0, _NAMED)


def _worth(media: str, ranges: Sequence[tuple[str, float]]) -> _Worth:
    """The quality that the most specific range gives it, and how specific that range is."""
    specificity_of = {"*/*": _ANY, f"{media.partition('/')[0]}/*": _GROUP, media: _NAMED}
    matching = ((specificity_of[name], quality) for name, quality in ranges if name in specificity_of)
    specificity, quality = max(matching, default=(0, 0.0))
    return quality, specificity


def _ranges(accept: Sequence[bytes]) -> Iterator[tuple[str, float]]:
    """Parameters other than the quality are ignored: nothing here has more than one variant.

    A comma in a quoted parameter splits it into two pieces that fit nothing, which no real client notices.
    """
    for piece in b",".join(accept).decode("latin-1").split(","):
        media, *parameters = (part.strip().lower() for part in piece.split(";"))
        quality = _quality_in(parameters)
        if quality is not None:
            yield media, quality


def _quality_in(parameters: Sequence[str]) -> float | None:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return float(value) if _QUALITY.fullmatch(value.strip()) else None
    return 1.0
