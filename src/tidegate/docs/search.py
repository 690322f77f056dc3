"""Search without a server: an index of words, and the same ranking as `docs.js` for readers without scripts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

RESULTS_MAX = 20
# A page goes before a place in a page that fits as well.
PAGE_POINTS = 5
_WORD = re.compile(r"[a-z0-9_.]+")


class SearchEntry(NamedTuple):
    """One line of the index. A heading, a field or an error has the address of its place in a page."""

    title: str
    path: str
    where: str
    words: str


def found(query: str, entries: Iterable[SearchEntry]) -> list[SearchEntry]:
    """Those that have every word of the query, or the beginning of it; best first."""
    wanted = _WORD.findall(query.lower())
    if not wanted:
        return []
    ranked = [(score, entry) for entry in entries if (score := _score(entry, wanted))]
    return [entry for _, entry in sorted(ranked, key=lambda each: -each[0])[:RESULTS_MAX]]


def _score(entry: SearchEntry, wanted: Sequence[str]) -> int:
    title = entry.title.lower()
    total = (100 if title == " ".join(wanted) else 0) + (PAGE_POINTS if "#" not in entry.path else 0)
    for word in wanted:
        best = max(_points(word, title, 20), _points(word, entry.words.lower(), 4))
        if best == 0:
            return 0
        total += best
    return total


def _points(word: str, text: str, weight: int) -> int:
    if word not in text:
        return 0
    words = _WORD.findall(text)
    if word in words:
        return weight * 2
    return weight if any(each.startswith(word) for each in words) else 1
