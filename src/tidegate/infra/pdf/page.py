"""One page: what is drawn on it, measured in points from its upper left corner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from tidegate.core.colour import Colour
from tidegate.infra.pdf.embed import EmbeddedFont
from tidegate.infra.pdf.font import EM, Font
from tidegate.infra.pdf.paragraph import Line, Paragraph
from tidegate.infra.pdf.picture import Picture
from tidegate.infra.pdf.structure import Element
from tidegate.infra.pdf.syntax import Reference, number

A4_WIDTH = 595.276
A4_HEIGHT = 841.890

Side = Literal["left", "right"]


@dataclass
class Page:
    reference: Reference
    # How fonts and pictures are called on pages; the document knows.
    key_of_font: Callable[[Font], tuple[str, EmbeddedFont]]
    key_of_picture: Callable[[Picture], str]
    operators: list[str] = field(default_factory=list)
    marks: int = 0

    def write(self, paragraph: Paragraph, *, x: float, top: float, side: Side, part: Element | None) -> float:
        """Sets a paragraph with this side of it at x, and says where it ends below. Without a part it is decoration."""
        size = paragraph.style.size
        with self._marked(part):
            self.operators.append(_fill(paragraph.style.colour))
            for index, line in enumerate(paragraph.lines):
                left = x - line.width * size / EM if side == "right" else x
                baseline = A4_HEIGHT - top - paragraph.first_baseline - index * paragraph.line_height
                self.operators += ["BT", f"1 0 0 1 {number(left)} {number(baseline)} Tm", *self._show(line, size), "ET"]
                self.operators += _outlines(line, size, left, baseline)
        return top + paragraph.height

    def rectangle(self, *, x: float, top: float, width: float, height: float, colour: Colour) -> None:
        corner = f"{number(x)} {number(A4_HEIGHT - top - height)} {number(width)} {number(height)}"
        with self._marked(None):
            self.operators += [_fill(colour), f"{corner} re f"]

    def place(self, picture: Picture, *, x: float, top: float, width: float, height: float, part: Element) -> None:
        key = self.key_of_picture(picture)
        with self._marked(part):
            corner = f"{number(x)} {number(A4_HEIGHT - top - height)}"
            self.operators.append(f"q {number(width)} 0 0 {number(height)} {corner} cm /{key} Do Q")

    def _show(self, line: Line, size: float) -> Iterator[str]:
        """Puts each glyph where HarfBuzz wants it; `back` is how far that is behind the end of the one before."""
        back = 0
        for (_, rise), alike in groupby(line.glyphs, key=lambda glyph: (glyph.font.name, glyph.dy)):
            neighbours = list(alike)
            key, font = self.key_of_font(neighbours[0].font)
            shown = []
            for glyph in neighbours:
                if not glyph.text:
                    back -= glyph.advance
                    continue
                back -= glyph.dx
                shown.append(f">{back}<{font.code(glyph):04X}" if back else f"{font.code(glyph):04X}")
                back = glyph.dx + font.width(glyph.number) - glyph.advance
            if shown:
                yield f"/{key} {number(size)} Tf {number(rise * size / EM)} Ts [<{''.join(shown)}>] TJ"

    @contextmanager
    def _marked(self, part: Element | None) -> Iterator[None]:
        if part is None:
            self.operators.append("/Artifact BMC")
        else:
            self.operators.append(f"/{part.tag} <</MCID {self.marks}>> BDC")
            part.hold(self.reference, self.marks)
            self.marks += 1
        yield
        self.operators.append("EMC")


def _outlines(line: Line, size: float, left: float, baseline: float) -> Iterator[str]:
    """The glyphs that stand for nothing, drawn as shapes: whatever is shown as text could also be copied."""
    scale = f"{size / EM:.6f}"
    pen = 0
    for glyph in line.glyphs:
        if not glyph.text:
            x, y = left + (pen + glyph.dx) * size / EM, baseline + glyph.dy * size / EM
            yield f"q {scale} 0 0 {scale} {number(x)} {number(y)} cm {glyph.font.outline(glyph.number)} f Q"
        pen += glyph.advance


def _fill(colour: Colour) -> str:
    return " ".join(number(channel / 255) for channel in (colour.red, colour.green, colour.blue)) + " rg"
