"""Text set into lines that fit a width."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tidegate.core.colour import Colour
from tidegate.infra.pdf.bidi import Direction
from tidegate.infra.pdf.font import EM, Font, Weight, family
from tidegate.infra.pdf.shape import Glyph, ShapedText, clean, is_dependent

# About what a page holds. Longer text ends here, as if it had run out of lines.
CHARACTERS_MAX = 4_000
# Hardly a letter is narrower, in thousandths of the size; so what cannot fit anyway need not be looked at.
LETTER_WIDTH_MIN = 150
ELLIPSIS = "…"

# Behind these a line may end; behind a space that does not break it may not.
_OPPORTUNITY = re.compile(r" +|(?<=\w)[-/](?=\w)|[\u2010\u2013\u2014]")


@dataclass(frozen=True, slots=True)
class Style:
    size: float
    colour: Colour
    weight: Weight = Weight.REGULAR
    # From one baseline to the next, in sizes.
    leading: float = 1.4


@dataclass(frozen=True, slots=True)
class Line:
    # From left to right, as the eye meets them.
    glyphs: Sequence[Glyph]

    @property
    def width(self) -> int:
        return sum(glyph.advance for glyph in self.glyphs)


@dataclass(frozen=True)
class Paragraph:
    style: Style
    lines: tuple[Line, ...]

    @cached_property
    def width(self) -> float:
        return max((line.width for line in self.lines), default=0) * self.style.size / EM

    @property
    def line_height(self) -> float:
        return self.style.size * self.style.leading

    @property
    def height(self) -> float:
        return len(self.lines) * self.line_height

    @property
    def first_baseline(self) -> float:
        """How far below the top the first line stands, with the letters in the middle of its height."""
        font = family(self.style.weight)[0]
        return (self.line_height + (font.ascent + font.descent) * self.style.size / EM) / 2


def set_paragraph(
    text: str, style: Style, *, width: float, direction: Direction, language: str, lines_max: int
) -> Paragraph:
    """Breaks between words, inside a word only where it is longer than a line. What is too long ends in an ellipsis."""
    room = int(width * EM / style.size)
    limit = min(CHARACTERS_MAX, lines_max * room // LETTER_WIDTH_MIN)
    cleaned = clean(text[:limit]) + (ELLIPSIS if len(text) > limit else "")
    compositor = _Compositor(direction, family(style.weight), language, room)
    return Paragraph(style, tuple(compositor.lines(cleaned, lines_max)))


@dataclass(frozen=True)
class _Compositor:
    direction: Direction
    fonts: Sequence[Font]
    language: str
    room: int

    def lines(self, text: str, lines_max: int) -> Iterator[Line]:
        shaped = self._shaped(text)
        whole = _line(shaped, 0, len(text))
        if whole.width <= self.room:
            yield whole
            return
        start = 0
        while start < len(text) and lines_max > 0:
            end = self._end_of_line(shaped, start)
            lines_max -= 1
            yield _line(shaped, start, end) if lines_max or end == len(text) else self._last_line(shaped, start, end)
            start = end

    def _shaped(self, text: str) -> ShapedText:
        return ShapedText(text, direction=self.direction, fonts=self.fonts, language=self.language)

    def _end_of_line(self, shaped: ShapedText, start: int) -> int:
        """Behind as many words as fit and the space that follows them; inside a word when not even one fits."""
        reached, end = 0, start
        for word_end, next_word in _words(shaped.text, start):
            reached += shaped.width(end, word_end)
            if reached > self.room:
                break
            reached += shaped.width(word_end, next_word)
            end = next_word
        return end if end > start else self._end_inside_word(shaped, start, self.room)

    def _end_inside_word(self, shaped: ShapedText, start: int, room: int) -> int:
        text = shaped.text
        # Only as much is measured as a line may hold, for a word can be as long as the text.
        reach = 16
        while start + reach < len(text) and shaped.width(start, start + reach) <= room:
            reach *= 2
        ends = range(start + 1, min(start + reach, len(text)) + 1)
        end = start + max(1, bisect_right(ends, room, key=lambda stop: shaped.width(start, stop)))
        while end > start + 1 and end < len(text) and is_dependent(text[end]):
            end -= 1
        return end

    def _last_line(self, shaped: ShapedText, start: int, end: int) -> Line:
        room = self.room - self._shaped(ELLIPSIS).width(0, 1)
        if shaped.width(start, end) > room:
            end = self._end_inside_word(shaped, start, room)
        cut = self._shaped(shaped.text[:end].rstrip(" ") + ELLIPSIS)
        return _line(cut, start, len(cut.text))


def _line(shaped: ShapedText, start: int, end: int) -> Line:
    return Line(shaped.glyphs(start, start + len(shaped.text[start:end].rstrip(" "))))


def _words(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where each word ends, and where the next one begins."""
    for match in _OPPORTUNITY.finditer(text, start):
        yield (match.start() if match[0].startswith(" ") else match.end()), match.end()
    yield len(text), len(text)
