"""Transliteration to plain Latin letters. Each scheme is one that passports, banks or newspapers use.

Two names are equal when any of their spellings are, so that "Müller" is both "Muller" and "Mueller".
"""

from __future__ import annotations

import unicodedata

import msgspec

_LATIN = {
    "ä": "a", "ö": "o", "ü": "u", "å": "a", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th",
    "ı": "i", "ħ": "h", "ŋ": "n", "ŧ": "t", "ə": "e", "ɓ": "b", "ɗ": "d", "ƙ": "k", "ƴ": "y",
}  # fmt: skip
_GERMAN = {**_LATIN, "ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe"}
_NORDIC = {**_GERMAN, "å": "aa", "đ": "dj"}

_CYRILLIC = {
    "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ё": "e", "ж": "zh", "з": "z", "и": "i", "й": "y",
    "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t", "у": "u", "ф": "f",
    "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ы": "y", "ь": "", "э": "e", "ю": "yu", "я": "ya",
    "і": "i", "ї": "yi", "є": "ye", "ґ": "g", "ў": "u", "ј": "j", "љ": "lj", "њ": "nj", "ћ": "c", "ђ": "dj", "џ": "dz",
    "ѓ": "g", "ќ": "k", "ѕ": "dz",
}  # fmt: skip
_PASSPORT = {**_CYRILLIC, "й": "i", "ъ": "ie", "ю": "iu", "я": "ia", "ї": "i", "є": "ie"}
_UKRAINIAN = {**_PASSPORT, "г": "h", "и": "y"}
_SERBIAN = {
    **_CYRILLIC, "ж": "z", "х": "h", "ц": "c", "ч": "c", "ш": "s", "й": "j", "ђ": "d", "ю": "ju", "я": "ja",
}  # fmt: skip
_BULGARIAN = {**_CYRILLIC, "х": "h", "щ": "sht", "ъ": "a"}

_GREEK = {
    "α": "a", "β": "v", "γ": "g", "δ": "d", "ε": "e", "ζ": "z", "η": "i", "θ": "th", "ι": "i", "κ": "k", "λ": "l",
    "μ": "m", "ν": "n", "ξ": "x", "ο": "o", "π": "p", "ρ": "r", "σ": "s", "τ": "t", "υ": "y", "φ": "f", "χ": "ch",
    "ψ": "ps", "ω": "o",
}  # fmt: skip
_GREEK_SPOKEN = {**_GREEK, "υ": "i", "χ": "h"}
_GREEK_PAIRS = (("ου", "ou"), ("αυ", "av"), ("ευ", "ev"), ("γγ", "ng"), ("γξ", "nx"), ("γχ", "nch"))
_GREEK_PAIRS_SPOKEN = (("ου", "ou"), ("αυ", "af"), ("ευ", "ef"), ("γγ", "ng"), ("μπ", "b"), ("ντ", "d"), ("γκ", "g"))


class Transliteration(msgspec.Struct, frozen=True):
    letters: dict[int, str]
    # Letter groups for one sound, replaced before single letters.
    pairs: tuple[tuple[str, str], ...] = ()
    # Replaced at the start of a word only.
    starts: tuple[tuple[str, str], ...] = ()

    def spell(self, word: str) -> str:
        for start, plain in self.starts:
            if word.startswith(start):
                word = plain + word.removeprefix(start)
        for pair, plain in self.pairs:
            word = word.replace(pair, plain)
        return word.translate(self.letters)


def _scheme(
    *tables: dict[str, str], pairs: tuple[tuple[str, str], ...] = (), starts: tuple[tuple[str, str], ...] = ()
) -> Transliteration:
    return Transliteration({ord(letter): plain for table in tables for letter, plain in table.items()}, pairs, starts)


_UKRAINIAN_STARTS = (("ю", "yu"), ("я", "ya"), ("є", "ye"), ("ї", "yi"), ("й", "y"))
# The first one is shown.
SCHEMES = (
    _scheme(_LATIN, _CYRILLIC, _GREEK, pairs=_GREEK_PAIRS, starts=(("μπ", "b"), ("γκ", "g"))),
    _scheme(_GERMAN, _PASSPORT, _GREEK_SPOKEN, pairs=_GREEK_PAIRS_SPOKEN),
    _scheme(_NORDIC, _UKRAINIAN, _GREEK, starts=_UKRAINIAN_STARTS),
    _scheme(_LATIN, _CYRILLIC, _GREEK, pairs=(("ий", "y"), ("ый", "y"), ("ё", "yo"), ("кс", "x"))),
    _scheme(_LATIN, _SERBIAN, _GREEK),
    _scheme(_LATIN, _BULGARIAN, _GREEK),
)
_KEPT = frozenset(_LATIN) | frozenset(_CYRILLIC)

# Accents of European letters, and the optional vowel signs of Arabic and Hebrew. The signs of other scripts, such as
# Devanagari, are part of the name and stay.
_OPTIONAL_MARKS = (
    (0x0300, 0x036F), (0x0591, 0x05C7), (0x064B, 0x065F), (0x0670, 0x0670), (0x0640, 0x0640),
    (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F),
)  # fmt: skip


def fold(text: str) -> str:
    """Lower case without accents; letters that a scheme transliterates stay as they are."""
    if text.isascii():
        return text.lower()  # Most names: the way below costs many times as much.
    composed = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", "".join(map(_without_accents, composed)))


def _without_accents(letter: str) -> str:
    if letter in _KEPT:
        return letter
    return "".join(c for c in unicodedata.normalize("NFD", letter) if not _is_optional_mark(c))


def _is_optional_mark(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _OPTIONAL_MARKS)


def spellings(folded: str) -> tuple[str, ...]:
    """One per scheme, in their order. A word of mixed alphabets stays as it is: it may hold a look-alike letter. One of
    plain letters does too: no scheme changes them.
    """
    if folded.isascii() or len({_alphabet(letter) for letter in folded}) > 1:
        return (folded,) * len(SCHEMES)
    return tuple(scheme.spell(folded) for scheme in SCHEMES)


def _alphabet(letter: str) -> str:
    if "\u0370" <= letter <= "\u03ff":
        return "greek"
    return "cyrillic" if "\u0400" <= letter <= "\u052f" else "other"
