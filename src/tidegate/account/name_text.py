"""Splits the text of a name into words. Accepts any text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from tidegate.account.name_letters import fold, spellings

# The longest name in a bank message (ISO 20022, Max140Text).
NAME_CHARACTERS_MAX = 140
# Cut to this length first, since normalisation can expand one letter to many.
TEXT_CHARACTERS_MAX = 1_000
WORDS_MAX = 24

_APOSTROPHES = dict.fromkeys(map(ord, "'’‘‛ʼʻʹ′＇`´ˈ᾽"), "'")
# Controls, invisible format characters (zero width, direction), surrogates, unassigned and private use.
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Cn", "Co"))
_PARTS_OF_WORDS = frozenset("LMN")
_TOO_SHORT_FOR_A_TYPO = 3


class Word(msgspec.Struct, frozen=True):
    shown: str
    # Without accents, in Latin letters where a scheme exists; one per scheme.
    spellings: tuple[str, ...]
    # Joined by a hyphen to the word before it.
    is_tied: bool = False

    @property
    def plain(self) -> str:
        return self.spellings[0]


def clean(text: str | None) -> str:
    """One line without invisible characters. Safe to store as JSON and to show."""
    seen = ("".join(map(_visible, (text or "")[: TEXT_CHARACTERS_MAX + 1]))).split()
    return " ".join(seen)


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) in _INVISIBLE else character


def words_of(cleaned: str) -> tuple[Word, ...]:
    """At most one more than WORDS_MAX, so that the caller can detect too many."""
    # Apostrophes first: NFKC takes some of them apart into a space and an accent.
    text = unicodedata.normalize("NFKC", cleaned.translate(_APOSTROPHES)).translate(_APOSTROPHES)
    words = (Word(shown, spellings(fold(shown)), is_tied) for shown, is_tied in _split(text))
    return tuple(islice((word for word in words if word.plain), WORDS_MAX + 1))


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """Words in order, and whether a hyphen joins each to the one before."""
    letters: list[str] = []
    is_tied = False
    for character in f"{text} ":
        if unicodedata.category(character)[0] in _PARTS_OF_WORDS:
            letters.append(character)
            continue
        if character == "'":
            continue
        if letters:
            yield "".join(letters), is_tied
        is_tied = bool(letters) and unicodedata.category(character) == "Pd"
        letters = []
        if character in "&+":
            yield "and", False


def joined(words: Sequence[Word]) -> tuple[str, ...]:
    """As one word, per scheme: "Mac Donald" and "MacDonald"."""
    return tuple(map("".join, zip(*(word.spellings for word in words), strict=True)))


def shown(words: Sequence[Word]) -> str:
    return " ".join(word.shown for word in words)


def are_equal(one: Sequence[str], other: Sequence[str]) -> bool:
    return not set(one).isdisjoint(other)


def are_one_letter_apart(one: Sequence[str], other: Sequence[str]) -> bool:
    return any(_is_typo(a, b) for a in set(one) for b in set(other))


def _is_typo(a: str, b: str) -> bool:
    """One letter added, missing or different, or two adjacent letters swapped (optimal string alignment distance 1).

    Names of three letters are often one letter apart (Obi, Oba, Odi), so the longer word must have four.
    In scripts without a Latin spelling, one character may be a whole name.
    """
    if a == b or max(len(a), len(b)) <= _TOO_SHORT_FOR_A_TYPO or not (a.isascii() or b.isascii()):
        return False
    short, long = sorted((a, b), key=len)
    same = next((at for at, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    rest, other = short[same:], long[same:]
    if len(short) < len(long):
        return rest == other[1:]
    return rest[1:] == other[1:] or (rest[:2] == other[1::-1] and rest[2:] == other[2:])
