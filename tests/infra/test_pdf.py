"""Documents are compiled from templates, and read back with another program."""

from __future__ import annotations

import asyncio
import re
import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typst import TypstError

import tidegate
from pdf_file import claims_accessibility, read, squeezed, tags, text_of
from pictures import JPEG, PROGRESSIVE_JPEG, TRANSPARENT_WEBP, WEBP, png
from tidegate.infra.pdf.compile import MARKS_MAX, TEXT_CHARACTERS_MAX, clean, compile_in_child, compile_pdf

MADE_AT = datetime(2026, 11, 15, 13, 8, tzinfo=UTC)
TEMPLATE = """
#import "/document.typ": data, head, sheet, show-text
#show: sheet.with(title: data.title)
#head(data.title, "Heading")
#for value in data.values { block(show-text(value)) }
"""
TEMPLATES = sorted(Path(tidegate.__file__).parent.rglob("*.typ"))
YORUBA = "Adébáyọ̀ Ọ̀láńrewájú, Ẹ̀kọ́, Ọláyínká, Adé"
# Each would do something if it were taken for a template.
MARKUP = [
    "#panic()", "#read(\"/document.typ\")", "*bold* _slanted_", "$x^2$", "= Heading", "- item", "// comment",
    "/* comment */", "`raw`", "\\u{41}", "@reference <label>", "#sys.inputs", "]}) #import \"@preview/x:1.0.0\"",
    "~ -- --- ...", "{{ x }}", "<b>&amp;</b>", "https://example.com/#a",
]  # fmt: skip
HOSTILE = [
    ") Tj ET Q endstream endobj",
    "%%EOF\nstartxref\n0\n%%EOF",
    "\x00\x01\x07\x1b[31m\x7f\x9b",
    "\u0301\u0301\u0301",
    "a" + "\u0301" * 500,
    "\ud800 and \udfff",
    "\u202egnp.exe\u202c",
    "\u2068" * 5_000 + "x",
    "\u2069\u2069\u2067",
    "\u2068a\u2069b\u2069c\u2068",
    "👩🏽‍🚀🏴󠁧󠁢󠁥󠁮󠁧󠁿 \ufeff\ufffe\uffff\U0010ffff",
    "x" * 10_000,
    "سلام" * 2_500,
    "\u200d\u200c\u200b\u2060\u00ad",
    "",
    " \n\t ",
]


@dataclass(frozen=True)
class Letter:
    values: tuple[str, ...]
    title: str = "Title"
    language: str = "en"
    direction: str = "ltr"
    accent: str = "#0f7b6c"
    logo: bytes | None = None


def file_of(*values: str, **changes: Any) -> bytes:
    return compile_pdf(TEMPLATE, Letter(values, **changes), made_at=MADE_AT)


# What is copied.


@pytest.mark.parametrize("text", ["₦10,000.00", "GH₵5.00", "€12 £3 KSh 40", YORUBA, "Ŋgũgĩ Ɓukar Ɗan Ƙwara ƴar ɛ́ɔ̀"])
def test_latin_text_comes_out_as_it_went_in(text: str) -> None:
    file = file_of(text)
    assert text in text_of(file)
    assert claims_accessibility(file)


@pytest.mark.parametrize(("language", "direction"), [("ar", "rtl"), ("en", "ltr")])
def test_the_letters_of_arabic_come_out_in_the_order_of_reading(language: str, direction: str) -> None:
    # With ligatures of two letters.
    words = "السلام عليكم إلى لا الذهبية"
    file = file_of(words, language=language, direction=direction)
    assert [word for word in words.split() if word not in squeezed(text_of(file))] == []
    assert claims_accessibility(file)


def test_a_reference_inside_arabic_comes_out_whole() -> None:
    text = text_of(file_of("تحويل من \u2068Zenith ··4471\u2069 بالمرجع \u2068LCR-20418\u2069", direction="rtl"))
    assert "Zenith" in text
    assert "4471" in text
    assert "LCR-20418" in re.sub("[\u202a-\u202e]", "", text)


@pytest.mark.parametrize("markup", MARKUP)
def test_a_value_is_shown_and_never_evaluated(markup: str) -> None:
    file = file_of(markup, title=markup)
    assert squeezed(text_of(file)).count(squeezed(markup)) == 2
    metadata = read(file).metadata
    assert metadata is not None
    assert metadata.title == markup


def test_what_no_font_has_is_a_box_and_such_a_document_does_not_claim_the_standard() -> None:
    file = file_of("日本 🚀", "the end")
    assert "the end" in text_of(file)
    assert not claims_accessibility(file)
    assert tags(read(file), "H1") == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_breaks_the_file(text: str) -> None:
    file = file_of(text, "the end", title=f"{text}.")
    assert "the end" in text_of(file)
    assert len(read(file).pages) == 1
    assert len(file) < 100_000


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=3))
def test_any_text_makes_a_file_that_can_be_read(texts: list[str]) -> None:
    assert "the end" in text_of(file_of(*texts, "the end"))


# Cleaning.


def test_breaks_become_spaces_and_controls_go() -> None:
    assert clean(" one\r\n\ttwo\u2028three\x00\x1b ") == "one two three"


def test_overrides_of_direction_go() -> None:
    assert clean("\u202eevil\u202c \u202atext\u202b") == "evil text"


def test_isolates_and_joiners_stay() -> None:
    assert clean("\u2068می\u200cخواهم\u2069") == "\u2068می\u200cخواهم\u2069"


def test_marks_do_not_pile_up() -> None:
    assert clean("x" + "\u0301" * 100) == "x" + "\u0301" * MARKS_MAX


def test_a_text_has_an_end() -> None:
    assert len(clean("x" * 10_000)) == TEXT_CHARACTERS_MAX


# The file.


async def test_the_same_content_has_the_same_bytes_in_every_process() -> None:
    letter = Letter((YORUBA, "سلام", "₦"), logo=png())
    apart = await asyncio.gather(*(compile_in_child(TEMPLATE, letter, made_at=MADE_AT) for _ in range(2)))
    assert {compile_pdf(TEMPLATE, letter, made_at=MADE_AT), *apart} == {apart[0]}
    assert file_of(YORUBA) != file_of("Ada")


def test_the_document_says_what_it_is() -> None:
    reader = read(file_of("text", title="Reçu – Ọjà", language="fr"))
    assert reader.metadata is not None
    assert reader.metadata.title == "Reçu – Ọjà"
    assert reader.metadata.creation_date == MADE_AT
    root: Any = reader.root_object
    assert root["/Lang"] == "fr"
    assert root["/MarkInfo"]["/Marked"]
    assert tags(reader, "H1") == 1


def test_only_our_fonts_are_used_and_cut_down() -> None:
    resources: Any = read(file_of("Ada", "سلام")).pages[0]["/Resources"]
    fonts = [font.get_object() for font in resources["/Font"].values()]
    names = {re.sub(r"^/[A-Z]{6}\+", "", font["/BaseFont"]).removesuffix("-Identity-H") for font in fonts}
    assert names == {"NotoSans-Regular", "NotoSans-SemiBold", "NotoSansArabic-Regular"}
    assert len(file_of("Ada", "سلام")) < 30_000


@pytest.mark.parametrize("logo", [png(), JPEG, PROGRESSIVE_JPEG, WEBP, TRANSPARENT_WEBP])
def test_a_logo_of_every_kind_is_drawn_and_has_a_name(logo: bytes) -> None:
    file = file_of("text", logo=logo)
    resources: Any = read(file).pages[0]["/Resources"]
    assert resources["/XObject"]
    assert tags(read(file), "Figure") == 1
    assert claims_accessibility(file)


@pytest.mark.parametrize("path", ["/../compile.py", "/etc/passwd", "../fonts/OFL.txt"])
def test_a_template_reads_nothing_but_the_library(path: str) -> None:
    with pytest.raises(TypstError):
        compile_pdf(f'#read("{path}")', {}, made_at=MADE_AT)


async def test_an_error_in_the_child_process_is_reported() -> None:
    with pytest.raises(RuntimeError, match="unknown variable"):
        await compile_in_child("#nothing", {}, made_at=MADE_AT)


async def test_the_child_process_ends_when_its_caller_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    started: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
    start = asyncio.create_subprocess_exec

    async def noted(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        child = await start(*arguments, **options)
        started.put_nowait(child)
        return child

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    waiting = asyncio.create_task(compile_in_child("#for _ in range(1000000000) []", {}, made_at=MADE_AT))
    child = await started.get()
    assert child.returncode is None
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_asks_for_a_package(template: Path) -> None:
    imports = re.findall(r"#(?:import|include)\s+(\S+)", template.read_text("utf-8"))
    assert set(imports) <= {'"/document.typ":'}


def test_receipt_and_statement_are_templates() -> None:
    assert {path.name for path in TEMPLATES} == {"document.typ", "poster.typ", "receipt.typ", "statement.typ"}
