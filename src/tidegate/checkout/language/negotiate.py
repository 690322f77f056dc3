"""Which language a payer reads: the one asked for, the one of the last visit, or what the browser says."""

from __future__ import annotations

import re
from functools import lru_cache

from tidegate.checkout.language.catalog import DEFAULT_LANGUAGE, LANGUAGES

# A browser with a dozen languages needs half of it. A longer header is ignored.
ACCEPT_LANGUAGE_LENGTH_MAX = 500
TAG_LENGTH_MAX = 35
# Browsers that are set up alike send the same one.
HEADERS_REMEMBERED_MAX = 1_000

_ANY = "*"
_RANGE = re.compile(
    r"[ \t]*(\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)[ \t]*(?:;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*)?",
    re.ASCII | re.IGNORECASE,
)


def is_known(tag: str) -> bool:
    return _known(tag) is not None


def negotiate_language(*, asked: str | None, remembered: str | None, accept_language: str | None) -> str:
    """Always a language that has a catalog."""
    chosen = (asked and _known(asked)) or (remembered and _known(remembered))
    return chosen or _understood(accept_language) or DEFAULT_LANGUAGE


def _known(tag: str) -> str | None:
    if len(tag) > TAG_LENGTH_MAX:
        return None
    language = _language_of(tag)
    return language if language in LANGUAGES else None


def _language_of(tag: str) -> str:
    """pt-BR is Portuguese too."""
    return tag.lower().partition("-")[0]


def _understood(header: str | None) -> str | None:
    return None if header is None or len(header) > ACCEPT_LANGUAGE_LENGTH_MAX else _preferred(header)


@lru_cache(maxsize=HEADERS_REMEMBERED_MAX)
def _preferred(header: str) -> str | None:
    qualities = _qualities(header)
    quality_of_others = qualities.get(_ANY, 0.0)
    # Of equals the first one wins: in the browser's order where it names them, otherwise in ours.
    candidates = [*(language for language in qualities if language in LANGUAGES), *LANGUAGES]
    best = max(candidates, key=lambda language: qualities.get(language, quality_of_others))
    return best if qualities.get(best, quality_of_others) > 0 else None


def _qualities(header: str) -> dict[str, float]:
    """The best that is said of each language; nought rules it out. Parts that make no sense are passed over."""
    qualities: dict[str, float] = {}
    for part in header.split(","):
        found = _RANGE.fullmatch(part)
        if found is not None:
            language = _language_of(found[1])
            qualities[language] = max(float(found[2] or 1), qualities.get(language, 0.0))
    return qualities
