"""The document itself, read back with another program."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pypdf
import pytest

from pdf_file import A4_SIDES, claims_accessibility, places, read, squeezed, tags, text_of
from tidegate.wallet.statement import Statement, StatementRow
from tidegate.wallet.statement_pdf import statement_pdf

COLUMNS = ["Date", "Description", "Reference", "Gross", "Fee", "VAT", "Net", "Balance"]
# Of statement.typ, in points.
MARGIN = 40
CHARACTERS_IN_A_LINE = 130
HOSTILE = [
    "#panic() *x* $ @y", "\x00\x1b[2J\u202e", ") Tj ET %%EOF \\", "\u0301\u0302", "x" * 10_000, "سلام " * 2_000,
    "日本 👩🏽‍🚀", "",
]  # fmt: skip


def row(number: int, **changes: str) -> StatementRow:
    what = ("3 Nov 2026", "Checkout payment from Ada Obi", f"ORDER-{number:04}")
    return replace(StatementRow(*what, "1,250.00", "14.36", "1.08", "1,234.56", f"{number:,}.00"), **changes)


SHORT = Statement(
    business="Lekki Coffee Roasters",
    facts=(("Wallet number", "1000000001"), ("Currency", "NGN"), ("Period", "1 Nov 2026 – 30 Nov 2026")),
    sums=(("Opening balance", "10.00"), ("Money in", "20.00"), ("Money out", "5.00"), ("Closing balance", "25.00")),
    opening=StatementRow("1 Nov 2026", "Opening balance", "", "", "", "", "", "10.00"),
    rows=(row(1), row(2, net="-9,876.54", description="Bank transfer from محمد عبد الرحمن")),
    closing=StatementRow("30 Nov 2026", "Closing balance", "", "21.00", "4.00", "2.00", "15.00", "25.00"),
    running_head="Wallet 1000000001 · NGN",
    footer="Issued by Tidegate on 1 Dec 2026, 08:00",
    note="",
    accent="#0f7b6c",
    logo=None,
    made_at=datetime(2026, 12, 1, 8, tzinfo=UTC),
)
LONG = replace(SHORT, rows=tuple(row(number) for number in range(100)))


async def pages_of(statement: Statement) -> list[pypdf.PageObject]:
    return list(read(await statement_pdf(statement)).pages)


async def test_a_statement_says_everything_it_was_given() -> None:
    file = await statement_pdf(SHORT)
    text = squeezed(text_of(file))
    given = [SHORT.business, SHORT.footer, "Wallet statement", "Page 1 of 1", *COLUMNS, "محمد"]
    given += ["1,250.00", "14.36", "1.08", "1,234.56", "-9,876.54", "21.00", "4.00", "15.00"]
    given += [part for pair in (*SHORT.facts, *SHORT.sums) for part in pair]
    given += [SHORT.opening.description, SHORT.closing.date, "ORDER-0001", "ORDER-0002"]
    assert [part for part in given if squeezed(part) not in text] == []
    assert claims_accessibility(file)


async def test_no_line_is_lost_and_every_page_has_its_columns_and_number() -> None:
    pages = [page.extract_text() for page in await pages_of(LONG)]
    assert len(pages) >= 3
    references = [word for page in pages for word in page.split() if word.startswith("ORDER-")]
    assert references == [line.reference for line in LONG.rows]
    for number, page in enumerate(pages, start=1):
        assert f"Page {number} of {len(pages)}" in page
        assert LONG.footer in page
        words = page.split()
        assert [column for column in COLUMNS if column not in words] == []
        assert (LONG.running_head in page) == (number > 1)


async def test_figures_stand_below_each_other() -> None:
    figures = ["1,111.11", "7,777.77", "8,008.48", "11.11"]
    [page] = await pages_of(replace(SHORT, rows=tuple(row(n, net=figure) for n, figure in enumerate(figures))))
    begin = {text: x for text, x, _ in places(page)}
    assert begin["1,111.11"] == begin["7,777.77"] == begin["8,008.48"]
    # What has less digits begins later, and ends at the same place.
    assert begin["11.11"] > begin["1,111.11"]


async def test_a_column_is_as_wide_as_its_widest_figure() -> None:
    huge = "92,233,720,368,547,758.07"
    [page] = await pages_of(replace(SHORT, rows=(row(1, gross=huge, net=huge, balance=huge),)))
    begin = [x for text, x, _ in places(page) if text == huge]
    reference = next(x for text, x, _ in places(page) if text == "Reference")
    assert len(begin) == 3
    assert reference < begin[0] < begin[1] < begin[2]


async def test_screen_readers_are_given_a_table_with_a_head() -> None:
    reader = read(await statement_pdf(LONG))
    # The heads that later pages repeat are not read out again.
    assert tags(reader, "TH") == len(COLUMNS)
    assert tags(reader, "TR") == len(LONG.facts) + len(LONG.sums) + 1 + len(LONG.rows) + 2
    assert tags(reader, "H1") == 1
    assert reader.metadata is not None
    assert reader.metadata.title == "Wallet statement – Lekki Coffee Roasters"


async def test_the_same_statement_is_the_same_file() -> None:
    assert await statement_pdf(SHORT) == await statement_pdf(replace(SHORT))
    assert await statement_pdf(SHORT) != await statement_pdf(replace(SHORT, business="Another"))


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_no_string_breaks_a_statement(hostile: str) -> None:
    rows = (row(1, description=hostile, reference=hostile), row(2))
    [page] = await pages_of(replace(SHORT, business=hostile, rows=rows))
    assert "ORDER-0002" in page.extract_text()
    height, width = A4_SIDES
    for text, x, y in places(page):
        assert MARGIN - 1 <= x < width - MARGIN
        assert 0 < y < height
        assert len(text) < CHARACTERS_IN_A_LINE


async def test_a_note_stands_on_the_first_page() -> None:
    [page] = await pages_of(replace(SHORT, note="Only a test"))
    assert "Only a test" in page.extract_text()
