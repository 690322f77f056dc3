"""The receipt as a file, read back with another program."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pypdf
import pytest
from structlog.testing import capture_logs

from pdf_file import A4_SIDES, claims_accessibility, places, read, squeezed, tags, text_of
from pictures import png
from tidegate.checkout.page.receipt import ReceiptDocument, receipt_pdf

SIZE_MAX = 60_000
# Of receipt.typ, in points.
MARGIN = 64
CHARACTERS_IN_A_LINE = 130

ENGLISH = ReceiptDocument(
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
HOSTILE = [
    "#panic() *x* $ @y",
    "\x00\x1b[2J\u202e",
    ") Tj ET %%EOF \\",
    "\u0301\u0302",
    "x" * 10_000,
    "سلام " * 2_000,
    "日本 👩🏽‍🚀",
    "",
]


def pages(receipt: ReceiptDocument) -> list[pypdf.PageObject]:
    return list(read(receipt_pdf(receipt)).pages)


def starts(page: pypdf.PageObject) -> dict[str, tuple[float, float]]:
    return {text: (x, y) for text, x, y in places(page)}


def test_a_receipt_says_everything_it_was_given() -> None:
    [page] = pages(ENGLISH)
    text = squeezed(page.extract_text())
    said = [ENGLISH.title, ENGLISH.merchant, ENGLISH.amount, *ENGLISH.notes, ENGLISH.footer]
    said += [part for row in ENGLISH.rows for part in row]
    assert [part for part in said if squeezed(part) not in text] == []


def test_an_arabic_receipt_says_everything_too() -> None:
    [page] = pages(ARABIC)
    text = squeezed(page.extract_text())
    words = [word for label, _ in ARABIC.rows for word in label.split()]
    expected = ["متجر", "القهوة", "الذهبية", *words, "LCR-20418", "تحويل", "مصرفي", "Zenith··4471"]
    expected += ["+2348031234567", "10,000.00", "₦", "Tidegate·TG-7QK2-9XWM-4T", "المطلوب"]
    assert [part for part in expected if part not in text] == []


def test_an_arabic_receipt_starts_at_the_right() -> None:
    english, arabic = starts(pages(ENGLISH)[0]), starts(pages(ARABIC)[0])
    assert english["Reference"][0] < english["LCR-20418"][0]
    assert english["Lekki Coffee Roasters"][0] < english["Receipt"][0]
    assert arabic["LCR-20418"][0] < arabic["المرجع"][0]
    # Values end at the other side, whatever their own direction.
    assert arabic["LCR-20418"][0] == arabic["234 803 123 4567"][0] == arabic["إيصال"][0]


def test_a_value_stands_beside_its_label() -> None:
    found = starts(pages(ENGLISH)[0])
    assert found["Reference"][1] == found["LCR-20418"][1]


def test_amounts_stand_below_each_other() -> None:
    found = starts(pages(replace(ENGLISH, rows=(("Asked", "₦1,111.11"), ("Paid", "₦7,007.48"))))[0])
    assert found["₦1,111.11"][0] == found["₦7,007.48"][0]


@pytest.mark.parametrize("receipt", [ENGLISH, ARABIC], ids=["en", "ar"])
def test_a_receipt_is_small_and_accessible(receipt: ReceiptDocument) -> None:
    file = receipt_pdf(receipt)
    assert len(file) < SIZE_MAX
    assert claims_accessibility(file)
    assert tags(read(file), "H1") == 1
    assert tags(read(file), "TR") == len(receipt.rows)


@pytest.mark.parametrize("receipt", [ENGLISH, ARABIC], ids=["en", "ar"])
def test_the_same_receipt_is_the_same_file(receipt: ReceiptDocument) -> None:
    assert receipt_pdf(receipt) == receipt_pdf(replace(receipt))
    assert receipt_pdf(receipt) != receipt_pdf(replace(receipt, amount="₦10,000.01"))


def test_the_file_says_what_it_is() -> None:
    reader = read(receipt_pdf(ARABIC))
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
    [page] = pages(receipt)
    assert "LCR-20418" in page.extract_text()
    assert len(receipt_pdf(receipt)) < SIZE_MAX
    width, height = A4_SIDES
    for text, x, y in places(page):
        assert MARGIN - 1 <= x < width - MARGIN
        assert 0 < y < height
        assert len(text) < CHARACTERS_IN_A_LINE


def test_a_long_value_takes_more_lines_and_moves_the_rest_down() -> None:
    long = replace(ENGLISH, rows=(("Description", "roasted beans " * 20), ("Reference", "LCR-20418")))
    short = replace(ENGLISH, rows=(("Description", "roasted beans"), ("Reference", "LCR-20418")))
    assert starts(pages(long)[0])["LCR-20418"][1] < starts(pages(short)[0])["LCR-20418"][1]
    assert pages(long)[0].extract_text().count("roasted") > 15


def test_a_long_amount_gets_smaller_and_stays_whole() -> None:
    amount = "TSh 999,999,999,999,999,999,999.00"
    assert squeezed(amount) in squeezed(text_of(receipt_pdf(replace(ENGLISH, amount=amount))))


def test_no_row_is_lost_when_there_are_too_many_for_a_page() -> None:
    rows = tuple((f"Label {number}", f"Value {number}.") for number in range(60))
    texts = [page.extract_text() for page in pages(replace(ENGLISH, rows=rows))]
    assert len(texts) > 1
    assert [value for _, value in rows if not any(value in text for text in texts)] == []
    assert all(ENGLISH.footer in text and f"{number} / {len(texts)}" in text for number, text in enumerate(texts, 1))


def test_a_logo_is_drawn_beside_the_name() -> None:
    file = receipt_pdf(replace(ENGLISH, logo=png()))
    [page] = read(file).pages
    resources: Any = page["/Resources"]
    assert len(resources["/XObject"]) == 1
    assert starts(page)[ENGLISH.merchant][0] > starts(pages(ENGLISH)[0])[ENGLISH.merchant][0]
    assert claims_accessibility(file)


@pytest.mark.parametrize(
    "logo",
    [b"", b"no picture", png()[:60], png()[:-30], b"RIFF\x04\x00\x00\x00WEBP", b"\xff\xd8\xff\xe0"],
    ids=["nothing", "text", "half a PNG", "a PNG without its end", "a WebP without a picture", "the start of a JPEG"],
)
def test_a_broken_logo_is_left_out_and_the_log_says_so(logo: bytes) -> None:
    with capture_logs() as lines:
        drawn = receipt_pdf(replace(ENGLISH, logo=logo))
    assert drawn == receipt_pdf(ENGLISH)
    assert [(line["event"], line["merchant"]) for line in lines] == [
        ("made without logo: the image is broken", ENGLISH.merchant)
    ]


def test_the_accent_is_the_merchants() -> None:
    contents: Any = pages(replace(ENGLISH, accent="#7a1fa2"))[0].get_contents()
    assert re.search(rb"0\.478\d* 0\.121\d* 0\.635\d* SCN", contents.get_data())
