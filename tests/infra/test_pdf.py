"""Documents are read back with another program; what the eye sees is told from the glyphs."""

from __future__ import annotations

import io
import re
import struct
from datetime import UTC, datetime
from typing import Any

import pypdf
import pytest
import uharfbuzz as hb
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.colour import Colour
from tidegate.infra.pdf.bidi import Direction
from tidegate.infra.pdf.document import Document
from tidegate.infra.pdf.font import EM, Weight, family
from tidegate.infra.pdf.paragraph import CHARACTERS_MAX, ELLIPSIS, Paragraph, Style, set_paragraph
from tidegate.infra.pdf.shape import MARKS_MAX, clean

BLACK = Colour.parse("#000000")
STYLE = Style(10, BLACK)
BOLD = Style(10, BLACK, Weight.BOLD)
MADE_AT = datetime(2026, 11, 15, 13, 8, tzinfo=UTC)
WIDTH = 300.0
# In every font, the glyph for what it does not have.
NOT_FOUND = 0

YORUBA = "Adébáyọ̀ Ọ̀láńrewájú, Ẹ̀kọ́"
HOSTILE = [
    ") Tj ET Q endstream endobj",
    "\\) \\\\ ( << >> [ ] / %",
    "%%EOF\nstartxref\n0\n%%EOF",
    "\x00\x01\x07\x1b[31m\x7f\x9b",
    "\u0301\u0301\u0301",
    "a" + "\u0301" * 500,
    "\ud800 and \udfff",
    "\u202egnp.exe\u202c",
    "\u2068" * 5_000 + "x",
    "\u2069\u2069\u2067",
    "👩🏽‍🚀🏴󠁧󠁢󠁥󠁮󠁧󠁿 \ufeff\ufffe\uffff\U0010ffff",
    "x" * 10_000,
    "سلام" * 2_500,
    "\u200d\u200c\u200b\u2060\u00ad",
    "",
    " \n\t ",
]


def set_text(
    text: str, *, style: Style = STYLE, width: float = WIDTH, direction: Direction = "auto", lines_max: int = 4
) -> Paragraph:
    return set_paragraph(text, style, width=width, direction=direction, language="en", lines_max=lines_max)


def file_of(*texts: str, title: str = "Title", language: str = "en") -> bytes:
    document = Document(title=title, language=language, made_at=MADE_AT)
    page = document.add_page()
    top = 20.0
    for text in texts:
        top = page.write(set_text(text), x=20, top=top, side="left", part=document.content.add("P"))
    return document.file()


def read(file: bytes) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(file), strict=True)


def text_of(file: bytes) -> str:
    return "\n".join(page.extract_text() for page in read(file).pages)


def characters(paragraph: Paragraph) -> list[str]:
    """Each line as the eye meets it."""
    return ["".join(glyph.text for glyph in line.glyphs) for line in paragraph.lines]


def fonts_of(file: bytes) -> dict[str, Any]:
    resources: Any = read(file).pages[0]["/Resources"]
    fonts = [font.get_object() for font in resources["/Font"].values()]
    return {font["/BaseFont"]: font["/DescendantFonts"][0].get_object()["/FontDescriptor"] for font in fonts}


# What is copied.


@pytest.mark.parametrize(
    "text", ["₦10,000.00", "GH₵5.00", "€12 £3 KSh 40", YORUBA, "Ŋgũgĩ Ɓukar Ɗan Ƙwara ƴar ɛ́ɔ̀", "10\u202f000,00"]
)
def test_latin_text_comes_out_as_it_went_in(text: str) -> None:
    assert text in text_of(file_of(text))


def test_arabic_comes_out_in_the_order_of_reading() -> None:
    # With ligatures, whose parts viewers turn round.
    assert "السلام عليكم إلى لا" in text_of(file_of("السلام عليكم إلى لا"))


def test_a_reference_inside_arabic_comes_out_whole() -> None:
    text = text_of(file_of("تحويل من \u2068Zenith ··4471\u2069 بالمرجع LCR-20418"))
    assert "Zenith ··4471" in text
    assert "LCR-20418" in text
    assert "بالمرجع" in text


def test_characters_that_share_a_shape_come_out_as_themselves() -> None:
    assert "a\u00a0b c" in text_of(file_of("a\u00a0b c"))


def test_what_no_font_has_is_a_box_and_is_copied_as_itself() -> None:
    text = "日本 שלום"
    boxes = [glyph for glyph in set_text(text).lines[0].glyphs if glyph.text != " "]
    assert {glyph.number for glyph in boxes} == {NOT_FOUND}
    assert all(glyph.advance > 0 for glyph in boxes)
    assert "日本" in text_of(file_of(text))


# What is seen.


def test_arabic_letters_are_joined() -> None:
    word, letters = set_text("بيت").lines[0], [set_text(letter).lines[0] for letter in "بيت"]
    alone = {line.glyphs[0].number for line in letters}
    assert not alone & {glyph.number for glyph in word.glyphs}


def test_letters_stay_joined_where_a_long_word_is_broken() -> None:
    first, second, *_ = set_text("ب" * 500).lines
    assert first.glyphs[0].number == second.glyphs[-1].number == first.glyphs[5].number


def test_an_accent_stands_on_its_letter() -> None:
    letter, accent = [glyph for glyph in set_text("Ọ̀").lines[0].glyphs if glyph.advance or not glyph.text]
    assert (letter.text, accent.text) == ("Ọ", "")
    assert accent.dy > 0
    assert -letter.advance < accent.dx < 0 < letter.advance


def test_a_letter_stands_for_itself_and_blanks_for_what_is_on_it() -> None:
    # Both are drawn as one from right to left: a letter with its mark, and a ligature.
    letter_with_mark, ligature = set_text("بَ").lines[0], set_text("لا").lines[0]
    assert [(glyph.text, glyph.advance > 0) for glyph in letter_with_mark.glyphs if glyph.text] == [
        ("\N{ARABIC FATHA}", False),
        ("ب", True),
    ]
    assert [(glyph.text, glyph.advance > 0) for glyph in ligature.glyphs] == [("ا", True), ("ل", False)]


def test_the_glyphs_of_the_file_are_those_of_the_font() -> None:
    file = file_of("Ada ₦")
    resources: Any = read(file).pages[0]["/Resources"]
    (font,) = (font.get_object() for font in resources["/Font"].values())
    descendant = font["/DescendantFonts"][0].get_object()
    embedded = hb.Font(hb.Face(descendant["/FontDescriptor"]["/FontFile2"].get_object().get_data()))
    glyph_of_code = struct.unpack(">6H", descendant["/CIDToGIDMap"].get_object().get_data())
    character_of_code = re.findall(r"<(\w{4})> <(\w{4})>\n", font["/ToUnicode"].get_object().get_data().decode())
    original = family(Weight.REGULAR)[0].shaper
    # The first pair is the range of all codes.
    for code, character in character_of_code[1:]:
        drawn = embedded.get_glyph_extents(glyph_of_code[int(code, 16)])
        assert drawn == original.get_glyph_extents(original.get_nominal_glyph(int(character, 16)))


def test_every_code_stands_for_one_character() -> None:
    resources: Any = read(file_of(YORUBA, "مُحَمَّد لا")).pages[0]["/Resources"]
    for font in resources["/Font"].values():
        lines = re.findall(r"<\w{4}> <(\w*)>\n", font.get_object()["/ToUnicode"].get_object().get_data().decode())
        assert {len(line) for line in lines} == {4}


def test_brackets_are_mirrored_in_text_from_right_to_left() -> None:
    (line,) = set_text("(ب)").lines
    opening, closing = set_text("()").lines[0].glyphs
    assert [line.glyphs[0].number, line.glyphs[-1].number] == [opening.number, closing.number]
    assert [line.glyphs[0].text, line.glyphs[-1].text] == [")", "("]


def test_a_value_goes_the_way_of_its_own_letters() -> None:
    assert characters(set_text("+234 803 123")) == ["+234 803 123"]
    # As part of a sentence from right to left it falls apart unless it is isolated.
    assert characters(set_text("+234 803 123", direction="rtl")) == ["123 803 234+"]
    assert characters(set_text("\u2068+234 803 123\u2069", direction="rtl")) == ["+234 803 123"]


# Lines.


def test_words_stay_whole_where_they_fit() -> None:
    lines = characters(set_text("one two three four five six", width=60))
    assert " ".join(lines) == "one two three four five six"
    assert len(lines) > 1


def test_a_space_that_does_not_break_does_not_break() -> None:
    lines = characters(set_text("aaaa bbbb\u00a0cccc", width=60))
    assert lines == ["aaaa", "bbbb\u00a0cccc"]


def test_lines_of_arabic_follow_the_order_of_reading() -> None:
    lines = characters(set_text("واحد اثنان ثلاثة أربعة خمسة", width=80))
    assert " ".join(line[::-1] for line in lines) == "واحد اثنان ثلاثة أربعة خمسة"
    assert len(lines) > 1


def test_what_is_too_long_ends_in_an_ellipsis() -> None:
    lines = characters(set_text("word " * 100, width=80, lines_max=2))
    assert len(lines) == 2
    assert lines[1].endswith(ELLIPSIS)
    assert characters(set_text("x" * (CHARACTERS_MAX + 1), lines_max=10_000))[-1].endswith(ELLIPSIS)


@given(
    text=st.text(st.one_of(st.characters(), st.sampled_from("ab -اب\u0301 \u2068\u2069٣5(")), max_size=120),
    width=st.floats(40, 400),
    direction=st.sampled_from(("ltr", "rtl", "auto")),
    lines_max=st.integers(1, 5),
)
def test_nothing_reaches_beyond_its_width(text: str, width: float, direction: Direction, lines_max: int) -> None:
    paragraph = set_text(text, width=width, direction=direction, lines_max=lines_max)
    assert len(paragraph.lines) <= lines_max
    # Kerning across a space may take a hair more than both words measured alone.
    assert all(line.width * STYLE.size / EM <= width + 0.5 for line in paragraph.lines)


# Cleaning.


def test_breaks_become_spaces_and_controls_go() -> None:
    assert clean(" one\r\n\ttwo\u2028three\x00\x1b ") == "one two three"


def test_overrides_of_direction_go() -> None:
    assert clean("\u202eevil\u202c \u202atext\u202b") == "evil text"


def test_isolates_and_joiners_stay() -> None:
    assert clean("\u2068می\u200cخواهم\u2069") == "\u2068می\u200cخواهم\u2069"


def test_marks_do_not_pile_up() -> None:
    assert clean("x" + "\u0301" * 100) == "x" + "\u0301" * MARKS_MAX
    # Nor with something invisible between them.
    assert clean("x" + "\u0301\u200b\u200d" * 100).count("\u0301") == MARKS_MAX


def test_a_mark_without_a_letter_stands_on_a_space() -> None:
    assert clean("\u0301x") == "\u00a0\u0301x"


# The file.


def test_the_same_content_has_the_same_bytes() -> None:
    assert file_of(YORUBA, "سلام") == file_of(YORUBA, "سلام")
    assert file_of(YORUBA) != file_of("Ada")


def test_the_document_says_what_it_is() -> None:
    reader = read(file_of("text", title="Reçu – Ọjà", language="fr"))
    assert reader.metadata is not None
    assert reader.metadata.title == "Reçu – Ọjà"
    assert reader.metadata.creation_date == MADE_AT
    root: Any = reader.root_object
    assert root["/Lang"] == "fr"
    assert root["/MarkInfo"]["/Marked"]


def test_every_part_is_tagged_for_readers_aloud() -> None:
    document = Document(title="t", language="en", made_at=MADE_AT)
    heading, row = document.content.add("H1"), document.content.add("Table").add("TR")
    cells = [row.add("TH"), row.add("TD")]
    page = document.add_page()
    for part in (cells[1], heading, cells[0]):
        page.write(set_text("text"), x=20, top=20, side="left", part=part)
    reader = read(document.file())
    tree: Any = reader.root_object["/StructTreeRoot"]
    kids = tree["/K"]["/K"]
    assert [kid.get_object()["/S"] for kid in kids] == ["/H1", "/Table"]
    table_row = kids[1].get_object()["/K"][0].get_object()
    assert [cell.get_object()["/S"] for cell in table_row["/K"]] == ["/TH", "/TD"]
    # From a mark on the page back to the part it belongs to.
    owners = tree["/ParentTree"]["/Nums"][1]
    assert [owner.get_object()["/S"] for owner in owners] == ["/TD", "/H1", "/TH"]


def test_fonts_are_embedded_and_cut_down_to_what_is_used() -> None:
    fonts = fonts_of(file_of("Ada", "سلام"))
    assert sorted(re.sub(r"^/[A-Z]{6}\+", "", name) for name in fonts) == ["NotoSans-Regular", "NotoSansArabic-Regular"]
    assert all(len(font["/FontFile2"].get_object().get_data()) < 8_000 for font in fonts.values())


def test_all_of_the_table_of_objects_is_right() -> None:
    file = file_of("text")
    start = int(re.findall(rb"startxref\n(\d+)\n%%EOF\n$", file)[0])
    places = [int(place) for place in re.findall(rb"(\d{10}) 00000 n \n", file[start:])]
    assert [file[place:].split(b" ", 1)[0] for place in places] == [b"%d" % n for n in range(1, len(places) + 1)]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_the_file(text: str) -> None:
    file = file_of(text, "the end", title=text)
    assert "the end" in text_of(file)
    assert file.count(b"%%EOF") == 1
    assert len(file) < 60_000


@given(st.lists(st.text(max_size=60), max_size=3))
def test_any_text_makes_a_file_that_can_be_read(texts: list[str]) -> None:
    assert text_of(file_of(*texts, "the end")).endswith("the end")


def test_pages_stay_open_until_the_file_is_made() -> None:
    document = Document(title="t", language="en", made_at=MADE_AT)
    for number in range(3):
        document.add_page().write(set_text(f"body {number}"), x=20, top=20, side="left", part=document.content.add("P"))
    for number, page in enumerate(document.pages, start=1):
        page.write(set_text(f"{number} of {len(document.pages)}"), x=500, top=800, side="right", part=None)
    pages = [page.extract_text() for page in read(document.file()).pages]
    assert [text.split("\n") for text in pages] == [[f"body {n}", f"{n + 1} of 3"] for n in range(3)]


def test_a_side_can_be_the_right_one() -> None:
    document = Document(title="t", language="en", made_at=MADE_AT)
    narrow, wide = set_text("1.00"), set_text("1,000.00", style=BOLD)
    page = document.add_page()
    for top, paragraph in ((20, narrow), (40, wide)):
        page.write(paragraph, x=200, top=top, side="right", part=document.content.add("P"))
    starts: list[float] = []
    read(document.file()).pages[0].extract_text(
        visitor_text=lambda text, cm, tm, *_: starts.append(tm[4]) if text.strip() else None
    )
    assert starts == [pytest.approx(200 - narrow.width, abs=0.01), pytest.approx(200 - wide.width, abs=0.01)]
