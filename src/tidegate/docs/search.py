"""Search without a server: an index of words, and the same ranking as `docs.js` for readers without scripts. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

RESULTS_MAX = 20
WORDS_MAX = 8
# Against a word in the text, a word counts for this much in a title, and more in a page's than in a heading's.
TITLE_WEIGHT, PAGE_WEIGHT = 5, 6
_WORD = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")
# Found everywhere, so they say nothing.
_COMMON = re.compile(
    "an?|and|are|can|do|does|for|from|how|i|if|in|is|its?|my|of|on|or|that|the|this|to|was|what|when|where|which|with|your?"
)
# What a word loses, so that its forms are one: refunds, refunded; verify, verified; overpaid, overpayment.
_PAID, _ENDING = re.compile("paid$"), re.compile(r"(?<=...)(ments?|ings?|ies|ied|ed|es|s|e|y)$")


class SearchEntry(NamedTuple):
    """One line of the index. A heading, a field or an error has the address of its place in a page."""

    title: str
    path: str
    where: str
    words: str


def words_in(text: str) -> list[str]:
    """Each once, without the common ones."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if not _COMMON.fullmatch(word)]


def found(query: str, entries: Sequence[SearchEntry]) -> list[SearchEntry]:
    """Those that have a word of the query, in any of its forms; first those that have more and rarer of its words."""
    wanted = words_in(query)[:WORDS_MAX]
    scores = [0.0] * len(entries)
    matched = [0] * len(entries)
    for word in wanted:
        points = [_points(word, entry) for entry in entries]
        rarity = log(1 + len(entries) / max(1, sum(1 for each in points if each)))
        for place, each in enumerate(points):
            scores[place] += each * rarity
            matched[place] += bool(each)
    whole = " ".join(wanted)
    ranked = [
        (score * (count / len(wanted)) ** 2 * (10 if " ".join(words_in(entry.title)) == whole else 1), entry)
        for entry, score, count in zip(entries, scores, matched, strict=True)
        if count
    ]
    return [entry for _, entry in sorted(ranked, key=lambda each: -each[0])[:RESULTS_MAX]]


def _points(word: str, entry: SearchEntry) -> int:
    weight = TITLE_WEIGHT if "#" in entry.path else PAGE_WEIGHT
    return max(weight * _likeness(word, entry.title), _likeness(word, entry.words))


@lru_cache(maxsize=20_000)
def _likeness(word: str, text: str) -> int:
    """From 4, the word itself, over its other forms and longer words, to 0."""
    words = _words_of(text)
    if word in words:
        return 4
    stem = _stem(word)
    if any(_stem(each) == stem for each in words):
        return 3
    if any(each.startswith(word) for each in words) and len(word) > 1:
        return 2
    return int(len(word) > 3 and any(word in each for each in words))


@lru_cache(maxsize=2_000)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(words_in(text))


@lru_cache(maxsize=10_000)
def _stem(word: str) -> str:
    return _ENDING.sub("", _PAID.sub("pay", word))
