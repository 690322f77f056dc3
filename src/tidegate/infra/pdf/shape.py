"""From characters to glyphs: cleaned, put in the order of the eye, joined and placed by HarfBuzz."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import uharfbuzz as hb

from tidegate.infra.pdf import bidi
from tidegate.infra.pdf.bidi import Direction
from tidegate.infra.pdf.font import Font

# No language stacks more on one letter; more would climb over the lines above.
MARKS_MAX = 4

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
# Isolates, and the marks of direction: they steer the order and are not part of what is read.
_STEERING = re.compile("[\u2066-\u2069\u200e\u200f\u061c]")
# The same, and what joins letters or keeps them apart.
_INVISIBLE = re.compile("[\u2066-\u2069\u200e\u200f\u061c\u200c\u200d]")
# Formatting characters in name only: signs that enclose numbers.
_ARABIC_SIGNS = re.compile("[\u0600-\u0605\u06dd\u0890\u0891\u08e2]")
_BREAKS_AND_SPACES = re.compile(r"[ \t-\r\x1c-\x1f\x85\u2028\u2029]+")
_MARK_CATEGORIES = ("Mn", "Me")

# As many characters on each side as HarfBuzz looks at.
_CONTEXT = 5
# Letters that need not be joined stay apart, so that a part of them can be marked and copied.
_FEATURES = {"liga": False, "clig": False}


class Glyph(NamedTuple):
    """One shape; measures are thousandths of the size."""

    font: Font
    number: int
    # The character it stands for when somebody copies it. A mark stands for none: see _with_text.
    text: str
    advance: int
    dx: int
    dy: int


def clean(text: str) -> str:
    """One paragraph of characters that can be shown; whatever would only steer a terminal or hide is gone."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    spaced = _BREAKS_AND_SPACES.sub(" ", unicodedata.normalize("NFC", whole)).strip(" ")
    kept: list[str] = []
    marks = 0
    for character in filter(_is_kept, spaced):
        marks = marks + is_mark(character) if is_dependent(character) else 0
        if marks <= MARKS_MAX or not is_mark(character):
            kept.append(character)
    # A mark without a letter stands on a space, or it would hang over the edge of the column.
    return NO_BREAK_SPACE + "".join(kept) if kept and is_mark(kept[0]) else "".join(kept)


def is_mark(character: str) -> bool:
    return unicodedata.category(character) in _MARK_CATEGORIES


def is_dependent(character: str) -> bool:
    """Nothing that could begin a line."""
    return is_mark(character) or bool(_INVISIBLE.match(character))


def _is_kept(character: str) -> bool:
    if unicodedata.category(character) not in ("Cc", "Cf"):
        return True
    return bool(_INVISIBLE.match(character) or _ARABIC_SIGNS.match(character))


class ShapedText:
    """A cleaned text, any stretch of which can be had as glyphs."""

    def __init__(self, text: str, *, direction: Direction, fonts: Sequence[Font], language: str) -> None:
        self.text = text
        self._language = language
        self._codes = [ord(character) for character in text]
        self._fonts = _fonts_of(text, fonts)
        _, self._levels = bidi.levels(text, direction)

    def glyphs(self, start: int, end: int) -> list[Glyph]:
        """From left to right, as the eye meets them."""
        return [glyph for piece in self._pieces(start, end) for glyph in self._glyphs_of(piece)]

    def width(self, start: int, end: int) -> int:
        pieces = self._pieces(start, end)
        return sum(place.x_advance for piece in pieces for place in self._shape(piece).glyph_positions)

    def _pieces(self, start: int, end: int) -> Iterator[_Piece]:
        """Stretches of one font that run one way, from left to right."""
        for run_start, run_end, level in bidi.visual_runs(self._levels, start, end):
            is_rtl = level % 2 == 1
            pieces = []
            for _, alike in itertools.groupby(range(run_start, run_end), key=lambda i: self._fonts[i].name):
                indices = list(alike)
                pieces.append(_Piece(self._fonts[indices[0]], indices[0], indices[-1] + 1, is_rtl))
            yield from reversed(pieces) if is_rtl else pieces

    def _shape(self, piece: _Piece) -> hb.Buffer:
        buffer = hb.Buffer()
        # With what stands around it, letters join across the border of a piece as they would inside.
        before = self._codes[max(0, piece.start - _CONTEXT) : piece.start]
        behind = self._codes[piece.start : piece.end + _CONTEXT]
        buffer.add_codepoints(before + behind, len(before), piece.end - piece.start)
        buffer.direction = "rtl" if piece.is_rtl else "ltr"
        buffer.script = piece.font.script
        buffer.language = self._language
        buffer.cluster_level = hb.BufferClusterLevel.MONOTONE_GRAPHEMES
        buffer.flags = hb.BufferFlags.REMOVE_DEFAULT_IGNORABLES
        hb.shape(piece.font.shaper, buffer, _FEATURES)
        return buffer

    def _glyphs_of(self, piece: _Piece) -> Iterator[Glyph]:
        buffer = self._shape(piece)
        offset = piece.start - min(piece.start, _CONTEXT)
        clusters: dict[int, list[Glyph]] = {}
        for info, place in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
            glyph = Glyph(piece.font, info.codepoint, "", place.x_advance, place.x_offset, place.y_offset)
            clusters.setdefault(info.cluster + offset, []).append(glyph)
        # A cluster reaches to the next one; what is before the first, and was nothing to see, goes with it.
        starts = sorted(clusters)
        ends = dict(itertools.pairwise([*starts, piece.end]))
        for start, glyphs in clusters.items():
            text = _STEERING.sub("", self.text[piece.start if start == starts[0] else start : ends[start]])
            if len(glyphs) == len(text) == 1:
                (_, number, _, advance, dx, dy) = glyphs[0]
                yield Glyph(piece.font, number, text, advance, dx, dy)
            else:
                yield from _with_text(glyphs, text, is_rtl=piece.is_rtl)


class _Piece(NamedTuple):
    font: Font
    start: int
    end: int
    is_rtl: bool


def _with_text(glyphs: list[Glyph], text: str, *, is_rtl: bool) -> list[Glyph]:
    """Says what glyphs that belong together stand for: the letter for one character, and blanks beside it for the rest.

    A letter and its marks, or a ligature, could be one glyph for several characters. But viewers turn text that runs
    from right to left round character by character, and some take a letter that is also a mark for a mark alone.
    """
    if not text:
        return glyphs
    letter = max(range(len(glyphs)), key=lambda i: glyphs[i].advance)
    font = glyphs[letter].font
    own = max((i for i, character in enumerate(text) if not is_mark(character)), default=0) if is_rtl else 0
    characters = [Glyph(font, font.blank, character, 0, 0, 0) for character in text]
    characters[own] = glyphs[letter]._replace(text=text[own])
    return glyphs[:letter] + (characters[::-1] if is_rtl else characters) + glyphs[letter + 1 :]


def _fonts_of(text: str, fonts: Sequence[Font]) -> list[Font]:
    """The first font that has the character. What cannot stand alone goes with the character before it."""
    found: list[Font] = []
    before = fonts[0]
    for character in text:
        code = ord(character)
        is_at_home = code in before.covered and (character == " " or is_mark(character))
        if not is_at_home and not _INVISIBLE.match(character):
            # The first font also shows the box for what no font has.
            before = next((font for font in fonts if code in font.covered), fonts[0])
        found.append(before)
    return found
