"""The document itself, read back with another program."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pypdf
import pytest

from tidegate.infra.pdf.page import A4_HEIGHT, A4_WIDTH
from tidegate.wallet.statement import StatementRow, Statement
from tidegate.wallet.statement_pdf import MARGIN, StatementPdf

COLUMNS = ["Date", "Description", "Reference", "Debit", "Credit", "Balance"]
HOSTILE = ["\x00\x1b[2J\u202e", ") Tj ET %%EOF \\", "\u0301\u0302", "x" * 10_000, "سلام " * 2_000, "日本 👩🏽‍🚀", ""]


def row(number: int, **changes: str) -> StatementRow:
    usual = StatementRow("3 Nov 2026", "Checkout payment from Ada Obi", f"ORDER-{number:04}", "", "1,234.56", f"{number:,}.00")
    return replace(usual, **changes)


SHORT = Statement(
    business="Lekki Coffee Roasters",
    facts=(("Wallet number", "1000000001"), ("Currency", "NGN"), ("Period", "1 Nov 2026 – 30 Nov 2026")),
    sums=(("Opening balance", "10.00"), ("Money in", "20.00"), ("Money out", "5.00"), ("Closing balance", "25.00")),
    opening=StatementRow("1 Nov 2026", "Opening balance", "", "", "", "10.00"),
    rows=(row(1), row(2, debit="9,876.54", credit="", description="Bank transfer from محمد عبد الرحمن")),
    closing=StatementRow("30 Nov 2026", "Closing balance", "", "", "", "25.00"),
    running_head="Wallet 1000000001 · NGN",
    footer="Issued by Tidegate on 1 Dec 2026, 08:00",
    note="",
    accent="#0f7b6c",
    logo=None,
    made_at=datetime(2026, 12, 1, 8, tzinfo=UTC),
)
LONG = replace(SHORT, rows=tuple(row(number) for number in range(100)))


def file_of(statement: Statement) -> bytes:
    pdf = StatementPdf(statement)
    for _ in pdf.draw():
        pass
    return pdf.file()


def read(statement: Statement) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(file_of(statement)), strict=True)


def places(page: pypdf.PageObject) -> list[tuple[str, float, float]]:
    """Each text, and where it begins."""
    found: list[tuple[str, float, float]] = []

    def note(text: str, cm: Any, tm: Any, *_: Any) -> None:
        if text.strip():
            found.append((text.strip(), tm[4], tm[5]))

    page.extract_text(visitor_text=note)
    return found


def tags(reader: pypdf.PdfReader, tag: str) -> int:
    def count(element: Any) -> int:
        element = element.get_object()
        if not isinstance(element, dict):
            return 0
        kids = element.get("/K", [])
        return (element.get("/S") == f"/{tag}") + sum(map(count, kids if isinstance(kids, list) else [kids]))

    root: Any = reader.root_object
    return count(root["/StructTreeRoot"])


def test_a_statement_says_everything_it_was_given() -> None:
    text = "".join("".join(page.extract_text() for page in read(SHORT).pages).split())
    given = [SHORT.business, SHORT.footer, "Wallet statement", "Page 1 of 1", *COLUMNS, "محمد", "1,234.56", "9,876.54"]
    given += [part for pair in (*SHORT.facts, *SHORT.sums) for part in pair]
    given += [SHORT.opening.description, SHORT.closing.date, "ORDER-0001", "ORDER-0002"]
    assert [part for part in given if "".join(part.split()) not in text] == []


def test_no_line_is_lost_and_every_page_has_its_columns_and_number() -> None:
    pages = [page.extract_text() for page in read(LONG).pages]
    assert len(pages) >= 3
    references = [word for page in pages for word in page.split() if word.startswith("ORDER-")]
    assert references == [line.reference for line in LONG.rows]
    for number, page in enumerate(pages, start=1):
        assert f"Page {number} of {len(pages)}" in page
        assert LONG.footer in page
        words = page.split()
        assert [column for column in COLUMNS if column not in words] == []
        assert (LONG.running_head in page) == (number > 1)


def test_figures_stand_below_each_other() -> None:
    figures = replace(
        SHORT,
        rows=tuple(row(n, credit=credit) for n, credit in enumerate(["1,111.11", "7,777.77", "8,008.48", "11.11"])),
    )
    begin = {text: x for text, x, _ in places(read(figures).pages[0])}
    assert begin["1,111.11"] == begin["7,777.77"] == begin["8,008.48"]
    # What has less digits begins later, and ends at the same place.
    assert begin["11.11"] > begin["1,111.11"]


def test_a_column_is_as_wide_as_its_widest_figure() -> None:
    huge = "92,233,720,368,547,758.07"
    widest = replace(SHORT, rows=(row(1, debit=huge, credit=huge, balance=huge),))
    [page] = read(widest).pages
    begin = [x for text, x, _ in places(page) if text == huge]
    reference = next(x for text, x, _ in places(page) if text == "Reference")
    assert len(begin) == 3
    assert reference < begin[0] < begin[1] < begin[2]


def test_screen_readers_are_given_a_table_with_a_head() -> None:
    reader = read(LONG)
    facts = len(LONG.facts) + len(LONG.sums)
    # The heads that later pages repeat are not read out again.
    assert tags(reader, "TR") == facts + 1 + len(LONG.rows) + 2
    assert tags(reader, "TH") == facts + len(COLUMNS)
    assert tags(reader, "H1") == 1
    assert reader.metadata is not None
    assert reader.metadata.title == "Wallet statement – Lekki Coffee Roasters"


def test_the_same_statement_is_the_same_file() -> None:
    assert file_of(SHORT) == file_of(replace(SHORT))
    assert file_of(SHORT) != file_of(replace(SHORT, business="Another"))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_string_breaks_a_statement(hostile: str) -> None:
    rows = (row(1, description=hostile, reference=hostile), row(2))
    reader = read(replace(SHORT, business=hostile, rows=rows))
    assert "ORDER-0002" in reader.pages[0].extract_text()
    for _, x, y in places(reader.pages[0]):
        assert MARGIN - 1 <= x < A4_WIDTH - MARGIN
        assert 0 < y < A4_HEIGHT


def test_a_note_stands_on_the_first_page() -> None:
    assert "Only a test" in read(replace(SHORT, note="Only a test")).pages[0].extract_text()
