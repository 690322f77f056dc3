"""What the page says, in the payer's language: `words("transfer.title", amount=…)`.

A catalog is `language/<code>.toml`; every such file is loaded. `meta` has the language's own name and its locale. Keys
are the names of the tables, joined by dots. All catalogs have the same keys and placeholders, and every key is used:
tests compare them with each other and with every call in checkout/. A call whose key is put together has a comment on
its lines, or the nearest one above it, that names what it may ask for:

    # words: result.paid, result.failed           {# words: decline.* #}
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.resources import files
from typing import Any, Self

from babel import Locale
from markupsafe import Markup, escape

from tidegate.checkout.language.money_format import MoneyFormat, MoneyParts
from tidegate.checkout.language.time_format import TimeFormat
from tidegate.core.money import Money

DEFAULT_LANGUAGE = "en"
_FILES = files("tidegate.checkout.language")
_META = "meta"
# Islands without a code of their own in ISO 3166, groups of countries, and codes that stand for none.
_NO_COUNTRIES = frozenset({"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"})

_PLACEHOLDER = re.compile(r"\{([a-z][a-z_]*)\}")
_BRACE = re.compile(r"[{}]")

# Text of the other direction, and the digits beside it, must not change places.
_LETTERS_FROM_THE_RIGHT = "\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
_RIGHT_TO_LEFT = re.compile(f"[{_LETTERS_FROM_THE_RIGHT}]")
_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
# In a name, these would turn around what stands behind it.
_WITHOUT_DIRECTION_SWITCHES = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_TURNING = re.compile(f"[{_LETTERS_FROM_THE_RIGHT}{''.join(map(chr, _WITHOUT_DIRECTION_SWITCHES))}]")

Value = str | int


@dataclass(frozen=True, slots=True)
class Text:
    """A text with its placeholders found: what is written and the names of values by turns, beginning with writing."""

    pieces: tuple[str, ...]
    names: frozenset[str]

    @classmethod
    def parse(cls, text: Any) -> Self:
        if not isinstance(text, str):
            raise ValueError("must be a text")
        pieces = tuple(_PLACEHOLDER.split(text))
        if any(_BRACE.search(written) for written in pieces[::2]):
            raise ValueError("has a brace that belongs to no {placeholder}")
        return cls(pieces, frozenset(pieces[1::2]))


@dataclass(frozen=True, slots=True)
class Catalog:
    """One language. Made once at the start; calling it gives a text with its values put in, in templates by the filter
    `text`: Jinja makes much of a call, and little of a filter."""

    language: str
    # In the language itself.
    name: str
    # As browsers write it: pt-PT.
    locale: str
    direction: str
    texts: Mapping[str, Text]
    money_format: MoneyFormat
    time_format: TimeFormat
    # By their ISO codes, in the order of the language's alphabet.
    countries: Mapping[str, str]

    @classmethod
    def of(cls, language: str, catalogue: Mapping[str, Any]) -> Self:
        meta = catalogue[_META]
        locale = Locale.parse(meta["locale"])
        texts = {name: table for name, table in catalogue.items() if name != _META}
        return cls(
            language=language,
            name=meta["name"],
            locale=meta["locale"].replace("_", "-"),
            direction=locale.text_direction,
            texts=dict(_parsed(texts, language=language)),
            money_format=MoneyFormat.of(locale),
            time_format=TimeFormat.of(locale),
            countries=dict(sorted(_countries(locale), key=lambda country: _folded(country[1]))),
        )

    def __getitem__(self, key: str) -> str:
        """A text without placeholders, as most are."""
        text = self.texts[key]
        if text.names:
            raise TypeError(f"{key} takes the values {sorted(text.names)}")
        return text.pieces[0]

    def __call__(self, key: str, /, **values: Value) -> str:
        if not values:
            return self[key]
        for value in values.values():
            if isinstance(value, Markup):
                raise TypeError(f"{key} is asked for as plain text; with markup in it, ask for it rich")
        return "".join(self._pieces(key, values))

    def rich(self, key: str, /, **values: Value) -> Markup:
        """Values that are plain text are escaped and set in bold; one that is Markup stays as it is."""
        names, pieces = self.texts[key].pieces[1::2], self._pieces(key, values)
        pieces[::2] = map(escape, pieces[::2])
        pieces[1::2] = [
            value if isinstance(values[name], Markup) else f"<b>{escape(value)}</b>"
            for name, value in zip(names, pieces[1::2], strict=True)
        ]
        # Every piece is escaped by now; `Markup.join` takes four times as long.
        return Markup("".join(pieces))  # noqa: S704

    def money(self, money: Money) -> str:
        return self.money_format.text(money)

    def money_parts(self, money: Money) -> MoneyParts:
        return self.money_format.parts(money)

    def time(self, moment: datetime, zone: timezone) -> str:
        return self.time_format.time(moment, zone)

    def moment(self, moment: datetime, zone: timezone) -> str:
        return self.time_format.moment(moment, zone)

    def _pieces(self, key: str, values: Mapping[str, Value]) -> list[str]:
        text = self.texts[key]
        if values.keys() != text.names:
            raise TypeError(f"{key} takes the values {sorted(text.names)}, not {sorted(values)}")
        pieces = list(text.pieces)
        pieces[1::2] = [self._placed(values[name], key) for name in text.pieces[1::2]]
        return pieces

    def _placed(self, value: Value, key: str) -> str:
        """As it may stand in a sentence; isolated where the two could run in different directions."""
        # Templates are not type-checked: None, or a Money of another language, must not be written out.
        if not isinstance(value, str) and type(value) is not int:
            raise TypeError(f"{key} takes texts and whole numbers, not {type(value).__name__}")
        text = value if isinstance(value, str) else str(value)
        if self.direction == "ltr" and (text.isascii() or not _TURNING.search(text)):
            return text
        text = text.translate(_WITHOUT_DIRECTION_SWITCHES)
        if self.direction == "ltr" and not _RIGHT_TO_LEFT.search(text):
            return text
        return _FIRST_STRONG_ISOLATE + text + _POP_ISOLATE


def _countries(locale: Locale) -> Iterator[tuple[str, str]]:
    return ((code, name) for code, name in locale.territories.items() if len(code) == 2 and code not in _NO_COUNTRIES)


def _folded(name: str) -> str:
    """To be sorted by: É beside E, أ beside ا."""
    return "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each)).casefold()


def catalog_for(language: str) -> Catalog:
    return _CATALOGS[language]


def _parsed(table: Mapping[str, Any], *, language: str, above: str = "") -> Iterator[tuple[str, Text]]:
    for name, entry in table.items():
        key = f"{above}{name}"
        if isinstance(entry, dict):
            yield from _parsed(entry, language=language, above=f"{key}.")
            continue
        try:
            yield key, Text.parse(entry)
        except ValueError as error:
            raise ValueError(f"{language}.toml: {key} {error}") from None


def _load() -> Iterator[Catalog]:
    for file in _FILES.iterdir():
        language, dot, kind = file.name.partition(".")
        if (dot, kind) == (".", "toml"):
            yield Catalog.of(language, tomllib.loads(file.read_text("utf-8")))


# In the order of the chooser: the default first, the others by name.
_CATALOGS = {
    words.language: words
    for words in sorted(_load(), key=lambda words: (words.language != DEFAULT_LANGUAGE, words.name))
}
# Every language by its own name.
LANGUAGES: Mapping[str, str] = {language: words.name for language, words in _CATALOGS.items()}
