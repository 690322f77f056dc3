"""The letters that a document uses, as the objects that carry them in the file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from tidegate.infra.pdf.font import Font
from tidegate.infra.pdf.shape import Glyph
from tidegate.infra.pdf.syntax import Name, Objects, Reference, Stream, Value

# Viewers leave out what has no width at all. A thousandth of the size, taken back at once, is none to the eye.
BLANK_WIDTH = 1
# So many lines at most may stand in one block of a character map.
CMAP_BLOCK_MAX = 100

# In a font descriptor: the glyphs are no standard set of Latin letters.
_SYMBOLIC = 4
# How thick stems are matters only to a viewer that has lost the font.
_STEM_WIDTH = 90
_CMAP = """/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
{blocks}
endcmap
CMapName currentdict /CMap defineresource pop
end
end
"""


@dataclass
class EmbeddedFont:
    """Gives every pair of a glyph and the character it stands for a code of its own.

    One shape may stand for several characters (a space, and one that does not break); whoever copies the text shall get
    the one that was written.
    """

    font: Font
    reference: Reference
    _codes: dict[tuple[int, str], int] = field(default_factory=dict)

    def code(self, glyph: Glyph) -> int:
        # Code 0 is the missing glyph in every font.
        return self._codes.setdefault((glyph.number, glyph.text), len(self._codes) + 1)

    def width(self, glyph: int) -> int:
        """How far a viewer moves on after the glyph."""
        return BLANK_WIDTH if glyph == self.font.blank else self.font.advance(glyph)

    def add_to(self, objects: Objects) -> None:
        outlines, number_of = self.font.part({glyph for glyph, _ in self._codes})
        # The tag in front says that this is a part of the font; it must differ where the parts do.
        tag = "".join(chr(ord("A") + byte % 26) for byte in hashlib.sha256(outlines).digest()[:6])
        name = Name(f"{tag}+{self.font.name}")
        glyph_of_code = b"\0\0" + b"".join(number_of[glyph].to_bytes(2) for glyph, _ in self._codes)
        descendant: Value = {
            "Type": Name("Font"),
            "Subtype": Name("CIDFontType2"),
            "BaseFont": name,
            "CIDSystemInfo": {"Registry": b"Adobe", "Ordering": b"Identity", "Supplement": 0},
            "FontDescriptor": objects.add(self._descriptor(name, objects.add(_font_file(outlines)))),
            "W": [1, [self.width(glyph) for glyph, _ in self._codes]],
            "CIDToGIDMap": objects.add(Stream({}, glyph_of_code)),
        }
        font: Value = {
            "Type": Name("Font"),
            "Subtype": Name("Type0"),
            "BaseFont": name,
            "Encoding": Name("Identity-H"),
            "DescendantFonts": [objects.add(descendant)],
            "ToUnicode": objects.add(Stream({}, self._to_unicode())),
        }
        objects.add(font, at=self.reference)

    def _descriptor(self, name: Name, file: Reference) -> Value:
        return {
            "Type": Name("FontDescriptor"),
            "FontName": name,
            "Flags": _SYMBOLIC,
            "FontBBox": self.font.box,
            "ItalicAngle": 0,
            "Ascent": self.font.ascent,
            "Descent": self.font.descent,
            "CapHeight": self.font.cap_height,
            "StemV": _STEM_WIDTH,
            "FontFile2": file,
        }

    def _to_unicode(self) -> bytes:
        lines = [f"<{code:04X}> <{_utf_16(text)}>" for (_, text), code in self._codes.items()]
        blocks = [lines[i : i + CMAP_BLOCK_MAX] for i in range(0, len(lines), CMAP_BLOCK_MAX)]
        parts = [f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks]
        return _CMAP.format(blocks="\n".join(parts)).encode("ascii")


def _utf_16(text: str) -> str:
    return text.encode("utf-16-be").hex().upper()


def _font_file(outlines: bytes) -> Stream:
    return Stream({"Length1": len(outlines)}, outlines)
