"""Changes a font in place so that text in a PDF is copied as it reads: `compose.py FONT.ttf`.

A letter with marks becomes one glyph: several would each be copied as the whole letter. Two Arabic letters in one glyph
become that glyph and a blank: viewers turn text from right to left round glyph by glyph. Needs fonttools and uharfbuzz.
"""

import itertools
import sys
import unicodedata
from pathlib import Path

import uharfbuzz as hb
from fontTools.otlLib import builder as otl
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables import otTables
from fontTools.ttLib.tables._g_l_y_f import Glyph, GlyphComponent

LATIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzẸỌỊỤṢẹọịụṣ"
LATIN += "ƐƆƏƖƲƔŊƁƊƘƳƉƑɛɔəɩʋɣŋɓɗƙƴɖƒɲÃẼĨÕŨãẽĩõũÄËÖÜäëöü"
VOWELS = "AEIOUNMaeiounmƐƆɛɔ"
MARKS = "\u0300\u0301\u0302\u0303\u0304\u0308\u030c\u0323\u0329\u0331"
# A mark of the vowel's quality, and a tone.
PAIRS = [quality + tone for quality in "\u0303\u0323\u0329\u0331" for tone in "\u0300\u0301\u0302\u0304\u030c"]
ARABIC = [chr(code) for code in (*range(0x620, 0x64B), 0x671, 0x67E, 0x686, 0x698, 0x6A4, 0x6A9, 0x6AF, 0x6CC)]
ARABIC_MARKS = [*"\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670"]
ARABIC_MARKS += ["\u0651" + vowel for vowel in "\u064b\u064c\u064d\u064e\u064f\u0650\u0670"]
JOINER = "\u200d"

path = sys.argv[1]
font = TTFont(path, lazy=False, recalcTimestamp=False)
shaper = hb.Font(hb.Face(Path(path).read_bytes()))
order, glyf, gsub = font.getGlyphOrder(), font["glyf"], font["GSUB"].table
is_arabic = 0x628 in font.getBestCmap()


def add(name, components, advance):
    glyph = Glyph()
    glyph.numberOfContours = -1 if components else 0
    if components:
        glyph.components = []
        for part, x, y in components:
            component = GlyphComponent()
            component.glyphName, component.x, component.y, component.flags = part, x, y, 0x4 | 0x2
            glyph.components.append(component)
    glyf[name] = glyph
    glyph.recalcBounds(glyf)
    font["hmtx"].metrics[name] = (advance, getattr(glyph, "xMin", 0))
    font["GDEF"].table.GlyphClassDef.classDefs[name] = 1


def shaped(text):
    buffer = hb.Buffer()
    buffer.add_str(text)
    buffer.guess_segment_properties()
    buffer.flags = hb.BufferFlags.REMOVE_DEFAULT_IGNORABLES
    hb.shape(shaper, buffer)
    names = (order[info.codepoint] for info in buffer.glyph_infos)
    return list(zip(names, buffer.glyph_positions, strict=True))


def compose(texts):
    ligatures = {}
    for text in texts:
        glyphs = shaped(text)
        key = tuple(name for name, _ in (reversed(glyphs) if is_arabic else glyphs))
        if len(key) < 2 or ".notdef" in key or key in ligatures:
            continue
        pen, components = 0, []
        for name, place in glyphs:
            if font["glyf"][name].numberOfContours:
                components.append((name, pen + place.x_offset, place.y_offset))
            pen += place.x_advance
        ligatures[key] = f"composed{len(ligatures):04}"
        add(ligatures[key], components, pen)
    return ligatures


def append(lookup):
    gsub.LookupList.Lookup.append(lookup)
    return len(gsub.LookupList.Lookup) - 1


def use(index, feature):
    for record in gsub.FeatureList.FeatureRecord:
        if record.FeatureTag == feature:
            record.Feature.LookupListIndex.append(index)


def single(mapping):
    made = otl.SingleSubstBuilder(font, None)
    made.mapping = mapping
    return append(made.build())


def context(first, second, lookups):
    table = otTables.ChainContextSubst()
    table.Format, table.BacktrackGlyphCount, table.BacktrackCoverage = 3, 0, []
    numbers = font.getReverseGlyphMap()
    table.InputCoverage = [otl.buildCoverage(first, numbers), otl.buildCoverage([second], numbers)]
    table.InputGlyphCount, table.LookAheadGlyphCount, table.LookAheadCoverage = 2, 0, []
    table.SubstLookupRecord = []
    for position, index in enumerate(lookups):
        record = otTables.SubstLookupRecord()
        record.SequenceIndex, record.LookupListIndex = position, index
        table.SubstLookupRecord.append(record)
    table.SubstCount = len(lookups)
    return table


# What a letter and its marks are made of, after all other rules, and the glyph for them.
if is_arabic:
    forms = [(before, after) for before in ("", JOINER) for after in ("", JOINER)]
    ligatures = compose(b + letter + mark + a for letter in ARABIC for b, a in forms for mark in ARABIC_MARKS)
else:
    marked = [*itertools.product(LATIN, MARKS), *itertools.product(VOWELS, PAIRS)]
    texts = (unicodedata.normalize("NFC", letter + mark) for letter, mark in marked)
    ligatures = compose(dict.fromkeys(text for text in texts if len(text) > 1))

if is_arabic:
    # The ligatures of letters are the ones that skip marks. With marks between the letters they stay as they were.
    lookups = gsub.LookupList.Lookup
    (number,) = [n for n, lookup in enumerate(lookups) if (lookup.LookupType, lookup.LookupFlag) == (4, 9)]
    joined = lookups[number]
    seconds = {}
    for first, found in joined.SubTable[0].ligatures.items():
        for ligature in found:
            if len(ligature.Component) == 1:
                seconds.setdefault(ligature.Component[0], {})[first] = ligature.LigGlyph
    blanks = {second: f"{second}.blank" for second in seconds}
    for name in blanks.values():
        add(name, [], 1)
    font.setGlyphOrder(glyf.glyphOrder)
    hide = single(blanks)
    lookup = otTables.Lookup()
    lookup.LookupType, lookup.LookupFlag = 6, 0
    lookup.SubTable = [context(list(mapping), second, [single(mapping), hide]) for second, mapping in seconds.items()]
    lookup.SubTableCount = len(lookup.SubTable)
    gsub.LookupList.Lookup[number] = lookup
    use(append(joined), "rlig")

font.setGlyphOrder(glyf.glyphOrder)
made = otl.LigatureSubstBuilder(font, None)
made.ligatures = ligatures
use(append(made.build()), "rlig" if is_arabic else "ccmp")
gsub.LookupList.LookupCount = len(gsub.LookupList.Lookup)
font.save(path)
