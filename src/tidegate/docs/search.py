"""Search without a server: an index of words, and the same ranking as `docs.js` for readers without scripts. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

RESULTS_MAX = 20
WORDS_MAX = 8
# Against a word in the text, a word counts for this much in a title, and more in a page's than in a heading's.
TITLE_WEIGHT, PAGE_WEIGHT = 5, 6
_WORD = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*")
# A shorter word is one letter away from too many others.
TYPO_LENGTH_MIN = 4
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
    # Other words that readers use for it; each counts as one of its title.
    keywords: str = ""


def words_in(text: str) -> list[str]:
    """Each once, without the common ones."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if not _COMMON.fullmatch(word)]


def found(query: str, entries: Sequence[SearchEntry]) -> list[SearchEntry]:
    """Those that have a word of the query, in any of its forms; first those that have more and rarer of its words."""
    wanted = [_corrected(word, entries) for word in words_in(query)[:WORDS_MAX]]
    scores = [0.0] * len(entries)
    matched = [0] * len(entries)
    for word in wanted:
        points = [_points(word, entry) for entry in entries]
        rarity = log(1 + len(entries) / max(1, sum(1 for each in points if each)))
        for place, each in enumerate(points):
            scores[place] += each * rarity
            matched[place] += bool(each)
    ranked = [
        (score * (count / len(wanted)) ** 2 * _name_weight(entry, wanted), entry)
        for entry, score, count in zip(entries, scores, matched, strict=True)
        if count
    ]
    return [entry for _, entry in sorted(ranked, key=lambda each: -each[0])[:RESULTS_MAX]]


def _name_weight(entry: SearchEntry, wanted: list[str]) -> int:
    """Most for the very title, such as a field's. A page is also named by its address, as an operation is."""
    if entry.title.lower() == " ".join(wanted):
        return 20
    last_part = entry.path.rpartition("/")[2].replace("-", "")
    return 10 if words_in(entry.title) == wanted or last_part == "".join(wanted) else 1


def _corrected(word: str, entries: Sequence[SearchEntry]) -> str:
    """A word that is nowhere stands for the most frequent one that differs from it in one letter."""
    if len(word) < TYPO_LENGTH_MIN or any(_points(word, entry) for entry in entries):
        return word
    texts = (text for entry in entries for text in (entry.title, entry.words))
    known = Counter(each for text in texts for each in words_in(text))
    return max((each for each in known if _is_one_edit(word, each)), key=known.__getitem__, default=word)


def _is_one_edit(typed: str, meant: str) -> bool:
    """A letter too many, too few or another one, or two that changed places."""
    at = next((at for at, (a, b) in enumerate(zip(typed, meant, strict=False)) if a != b), min(len(typed), len(meant)))
    return (
        typed[at + 1 :] == meant[at:]
        or typed[at:] == meant[at + 1 :]
        or typed[at + 1 :] == meant[at + 1 :]
        or (typed[at : at + 2] == meant[at : at + 2][::-1] and typed[at + 2 :] == meant[at + 2 :])
    )


def _points(word: str, entry: SearchEntry) -> int:
    weight = TITLE_WEIGHT if "#" in entry.path else PAGE_WEIGHT
    named = max(_likeness(word, entry.title), _likeness(word, entry.keywords))
    return max(weight * named, _likeness(word, entry.words))


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
