"""The receipt as a file, read back with another program."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pypdf
import pytest

from tidegate.checkout.page.receipt_pdf import MARGIN, Receipt, receipt_pdf
from tidegate.infra.pdf.page import A4_HEIGHT, A4_WIDTH

SIZE_MAX = 60_000

ENGLISH = Receipt(
    language="en",
    direction="ltr",
    title="Receipt",
    merchant="Lekki Coffee Roasters",
    amount="₦10,000.00",
    rows=(
        ("Paid by", "Adébáyọ̀ Ọláńrewájú"),
        ("Description", "2 × House blend, 1 kg"),
        ("Reference", "LCR-20418"),
        ("Method", "Bank transfer from Zenith ··4471"),
        ("When", "Sun 15 Nov 2026, 14:08"),
        ("Amount received", "₦10,500.00"),
        ("Payment code", "TG-7QK2-9XWM-4T"),
    ),
    notes=(
        "₦500.00 was sent back to you on 15 Nov 2026: it was more than the amount asked for.",
        "Questions? hello@lekkicoffee.example",
    ),
    footer="Tidegate · TG-7QK2-9XWM-4T",
    accent="#0f7b6c",
    logo=None,
    made_at=datetime(2026, 11, 15, 13, 8, tzinfo=UTC),
)
ARABIC = replace(
    ENGLISH,
    language="ar",
    direction="rtl",
    title="إيصال",
    merchant="متجر القهوة الذهبية",
    amount="\u200f10,000.00\u00a0₦\u200e",
    rows=(
        ("المدفوع إليه", "متجر القهوة الذهبية"),
        ("المرجع", "LCR-20418"),
        ("طريقة الدفع", "تحويل مصرفي من \u2068Zenith ··4471\u2069"),
        ("الهاتف", "+234 803 123 4567"),
        ("المبلغ المطلوب", "\u200f10,000.00\u00a0₦\u200e"),
    ),
    notes=("أُعيد إليك \u2068₦500.00\u2069: كان المبلغ أكبر من المطلوب.",),
)
HOSTILE = ["\x00\x1b[2J\u202e", ") Tj ET %%EOF \\", "\u0301\u0302", "x" * 10_000, "سلام " * 2_000, "日本 👩🏽‍🚀", ""]


def read(receipt: Receipt) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(receipt_pdf(receipt)), strict=True)


def places(page: pypdf.PageObject) -> dict[str, tuple[float, float]]:
    """Where each text begins on the page."""
    found: dict[str, tuple[float, float]] = {}

    def note(text: str, cm: Any, tm: Any, *_: Any) -> None:
        if text.strip():
            found[text.strip()] = (tm[4], tm[5])

    page.extract_text(visitor_text=note)
    return found


def squeezed(text: str) -> str:
    """pypdf takes some kerning for a space."""
    return "".join(text.split())


def logo() -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 2, 1, 8, 6, 0, 0, 0)
    pixels = zlib.compress(b"\0\xff\0\0\xff\0\0\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def test_a_receipt_says_everything_it_was_given() -> None:
    reader = read(ENGLISH)
    text = squeezed(reader.pages[0].extract_text())
    said = [ENGLISH.title, ENGLISH.merchant, ENGLISH.amount, *ENGLISH.notes, ENGLISH.footer]
    said += [part for row in ENGLISH.rows for part in row]
    assert [part for part in said if squeezed(part) not in text] == []
    assert len(reader.pages) == 1


def test_an_arabic_receipt_is_read_in_order() -> None:
    text = read(ARABIC).pages[0].extract_text()
    expected = ["متجر القهوة الذهبية", "المرجع", "طريقة الدفع", "LCR-20418", "تحويل مصرفي من", "Zenith ··4471"]
    expected += ["+234 803 123 4567", "10,000.00", "₦", "Tidegate · TG-7QK2-9XWM-4T"]
    assert [part for part in expected if part not in text] == []


def test_an_arabic_receipt_starts_at_the_right() -> None:
    english, arabic = places(read(ENGLISH).pages[0]), places(read(ARABIC).pages[0])
    assert english["Reference"][0] < english["LCR-20418"][0] < english["Receipt"][0]
    assert arabic["إيصال"][0] < arabic["LCR-20418"][0] < arabic["المرجع"][0]


def test_a_value_stands_beside_its_label() -> None:
    found = places(read(ENGLISH).pages[0])
    assert found["Reference"][1] == found["LCR-20418"][1]


@pytest.mark.parametrize("receipt", [ENGLISH, ARABIC], ids=["en", "ar"])
def test_a_receipt_is_small(receipt: Receipt) -> None:
    assert len(receipt_pdf(receipt)) < SIZE_MAX


@pytest.mark.parametrize("receipt", [ENGLISH, ARABIC], ids=["en", "ar"])
def test_the_same_receipt_is_the_same_file(receipt: Receipt) -> None:
    assert receipt_pdf(receipt) == receipt_pdf(replace(receipt))
    assert receipt_pdf(receipt) != receipt_pdf(replace(receipt, amount="₦10,000.01"))


def test_the_file_says_what_it_is() -> None:
    reader = read(ARABIC)
    assert reader.metadata is not None
    assert reader.metadata.title == "إيصال – متجر القهوة الذهبية"
    assert reader.metadata.creation_date == ARABIC.made_at
    root: Any = reader.root_object
    assert root["/Lang"] == "ar"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_string_breaks_a_receipt(hostile: str) -> None:
    rows = ((hostile, hostile), ("Reference", "LCR-20418"))
    receipt = replace(
        ENGLISH, title=hostile, merchant=hostile, amount=hostile, rows=rows, notes=(hostile,), footer=hostile
    )
    reader = read(receipt)
    assert len(reader.pages) == 1
    assert "LCR-20418" in reader.pages[0].extract_text()
    assert len(receipt_pdf(receipt)) < SIZE_MAX
    for x, y in places(reader.pages[0]).values():
        assert MARGIN - 1 <= x < A4_WIDTH - MARGIN
        assert 0 < y < A4_HEIGHT


def test_a_long_value_takes_more_lines_and_moves_the_rest_down() -> None:
    long = replace(ENGLISH, rows=(("Description", "roasted beans " * 20), ("Reference", "LCR-20418")))
    short = replace(ENGLISH, rows=(("Description", "roasted beans"), ("Reference", "LCR-20418")))
    assert places(read(long).pages[0])["LCR-20418"][1] < places(read(short).pages[0])["LCR-20418"][1]
    assert read(long).pages[0].extract_text().count("roasted beans") > 15


def test_a_long_amount_gets_smaller_and_stays_whole() -> None:
    amount = "TSh 999,999,999,999,999,999,999.00"
    assert amount in read(replace(ENGLISH, amount=amount)).pages[0].extract_text()


def test_no_row_is_lost_when_there_are_too_many_for_a_page() -> None:
    rows = tuple((f"Label {number}", f"Value {number}") for number in range(60))
    pages = [page.extract_text() for page in read(replace(ENGLISH, rows=rows)).pages]
    assert len(pages) > 1
    assert [value for _, value in rows if not any(f"{value}\n" in page for page in pages)] == []
    assert all(ENGLISH.footer in page and f"{number} / {len(pages)}" in page for number, page in enumerate(pages, 1))


def test_a_logo_is_drawn_beside_the_name() -> None:
    (page,) = read(replace(ENGLISH, logo=logo())).pages
    resources: Any = page["/Resources"]
    assert len(resources["/XObject"]) == 1
    assert places(page)[ENGLISH.merchant][0] > places(read(ENGLISH).pages[0])[ENGLISH.merchant][0]


@pytest.mark.parametrize("broken", [b"", b"RIFF....WEBPVP8 ", logo()[:50]])
def test_a_receipt_does_without_a_logo_that_cannot_be_drawn(broken: bytes) -> None:
    assert receipt_pdf(replace(ENGLISH, logo=broken)) == receipt_pdf(ENGLISH)


def test_the_accent_is_the_merchants() -> None:
    contents: Any = read(replace(ENGLISH, accent="#7a1fa2")).pages[0].get_contents()
    assert b"0.478 0.122 0.635 rg" in contents.get_data()
