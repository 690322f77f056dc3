"""The letters we carry: Noto Sans for Latin, and Noto Sans Arabic, in two weights; fonts/README.md says which parts."""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

import uharfbuzz as hb

# Everything is measured in thousandths of the size of the letters, which is how PDF measures too.
EM = 1000


class Weight(StrEnum):
    REGULAR = "Regular"
    BOLD = "SemiBold"


@dataclass(frozen=True, eq=False)
class Font:
    name: str
    # As ISO 15924 calls it.
    script: str
    face: hb.Face
    shaper: hb.Font
    covered: frozenset[int]
    # A glyph without width and ink.
    blank: int
    ascent: int
    descent: int
    cap_height: int
    box: tuple[int, int, int, int]

    def advance(self, glyph: int) -> int:
        return int(self.shaper.get_glyph_h_advance(glyph))

    def outline(self, glyph: int) -> str:
        """A glyph as the path operators of a page, in thousandths of the size."""
        path: list[str] = []
        self.shaper.draw_glyph(glyph, _PATH_OPERATORS, path)
        return " ".join(path)

    def part(self, glyphs: Collection[int]) -> tuple[bytes, dict[int, int]]:
        """A font file with these glyphs alone, and the number that each has got in it."""
        wanted = hb.SubsetInput()
        wanted.glyph_set.update(glyphs)
        wanted.drop_table_tag_set.update(_TABLES_TO_DROP)
        wanted.flags = hb.SubsetFlags.NOTDEF_OUTLINE | hb.SubsetFlags.NO_LAYOUT_CLOSURE
        plan = hb.SubsetPlan(self.face, wanted)
        number_of = plan.old_to_new_glyph_mapping
        return bytes(plan.execute().blob.data), {glyph: number_of[glyph] for glyph in glyphs}


# A PDF finds glyphs by their numbers and has its own map to Unicode, so only the outlines are needed.
_TABLES_TO_DROP = [
    int.from_bytes(tag) for tag in (b"GSUB", b"GPOS", b"GDEF", b"OS/2", b"cmap", b"gasp", b"name", b"post")
]


@cache
def family(weight: Weight) -> tuple[Font, ...]:
    """The fonts of one weight, the one to prefer first."""
    return _load(f"NotoSans-{weight}", "Latn"), _load(f"NotoSansArabic-{weight}", "Arab")


def _path_operators() -> hb.DrawFuncs:
    functions = hb.DrawFuncs()
    functions.set_move_to_func(lambda x, y, path: path.append(f"{x:.0f} {y:.0f} m"))
    functions.set_line_to_func(lambda x, y, path: path.append(f"{x:.0f} {y:.0f} l"))
    # HarfBuzz turns the curves of TrueType into those of PDF.
    functions.set_cubic_to_func(lambda *points: points[-1].append(" ".join(f"{p:.0f}" for p in points[:-1]) + " c"))
    functions.set_close_path_func(lambda path: path.append("h"))
    return functions


_PATH_OPERATORS = _path_operators()


def _load(name: str, script: str) -> Font:
    face = hb.Face((resources.files(__package__) / "fonts" / f"{name}.ttf").read_bytes())
    shaper = hb.Font(face)
    shaper.scale = (EM, EM)
    extents = shaper.get_font_extents("ltr")
    return Font(
        name=name,
        script=script,
        face=face,
        shaper=shaper,
        covered=frozenset(face.unicodes),
        blank=shaper.get_nominal_glyph(ord("\N{ZERO WIDTH SPACE}")),
        ascent=extents.ascender,
        descent=extents.descender,
        cap_height=shaper.get_metric_position_with_fallback(hb.OTMetricsTag.CAP_HEIGHT),
        box=_box(face),
    )


def _box(face: hb.Face) -> tuple[int, int, int, int]:
    """The box that holds any glyph: four numbers of the head table, after its first 36 bytes."""
    left, bottom, right, top = (
        side * EM // face.upem for side in struct.unpack_from(">4h", face.reference_table("head").data, 36)
    )
    return left, bottom, right, top
