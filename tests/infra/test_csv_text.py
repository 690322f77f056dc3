"""Rows of a CSV file: read back as they were written, and run by no spreadsheet."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.visible import visible
from tidegate.infra.http.csv_text import Cell, row

LAGOS = timezone(timedelta(hours=1))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text(
    "=+-@\t\r\n'\",;a1 \x9b\u202e\u200f", max_size=8
)
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([], b"\r\n"),
        ([None], b'""\r\n'),
        ([None, "", "a"], b",,a\r\n"),
        (["a,b", 'say "x"', "two\nlines"], b'"a,b","say ""x""",two\\u000alines\r\n'),
        ([-5, Decimal("-1.50"), Decimal("1E+3"), Decimal("1E-7"), 0], b"-5,-1.50,1000,0.0000001,0\r\n"),
        ([True, False], b"true,false\r\n"),
        ([datetime(2026, 11, 15, 9, 30, tzinfo=UTC)], b"2026-11-15T09:30:00.000Z\r\n"),
        ([datetime(2026, 11, 15, 0, 30, tzinfo=LAGOS)], b"2026-11-14T23:30:00.000Z\r\n"),
        (["Ọlá 😀"], "Ọlá 😀\r\n".encode()),
    ],
)
def test_a_row_is_written_as_rfc_4180_wants_it(values: list[Cell], written: bytes) -> None:
    assert row(values) == written


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_a_text_never_begins_a_formula(start: str) -> None:
    [[cell]] = csv.reader(io.StringIO(row([f"{start}SUM(A1)"]).decode(), newline=""))
    assert cell == f"'{start}SUM(A1)"


def test_a_sign_elsewhere_is_left_alone() -> None:
    assert row(["a=b", "a-b", " x@y", "1+1", "a; b=c"]) == b"a=b,a-b, x@y,1+1,a; b=c\r\n"


@pytest.mark.parametrize("unseen", ["\ufeff", "\u200b", "\u200d", "\u2060", "\u00ad", " \ufeff "])
def test_what_nobody_sees_hides_no_formula(unseen: str) -> None:
    assert row([f"{unseen}=1"]).decode() == f"{unseen}'=1\r\n"


@pytest.mark.parametrize(
    "text", ["a;=1+1", "a; =1", 'a;"=1"', ";;+1", "a;＝1", "=1;-1", " =1", "'=1", "\t=1", "\r\n=1"]
)
def test_no_cell_is_a_formula_where_semicolons_or_tabs_part_them(text: str) -> None:
    line = row(["before", text, "after"]).decode().removesuffix("\r\n")
    cells = re.split(r"[;,\t\r\n]", line)
    assert not [cell for cell in cells if re.match(r"""[\s"]*[=+\-@＝＋－＠]""", cell)]


@given(st.lists(texts, min_size=1, max_size=6))
def test_no_control_goes_out_raw(values: list[str]) -> None:
    written = row(values).decode().removesuffix("\r\n")
    assert not [c for c in written if unicodedata.category(c) == "Cc" or unicodedata.bidirectional(c) in TURNING]


@given(st.lists(texts, min_size=1, max_size=6))
def test_any_texts_are_read_back(values: list[str]) -> None:
    [cells] = csv.reader(io.StringIO(row(values).decode(), newline=""))
    assert [cell.replace("'", "") for cell in cells] == [visible(value).replace("'", "") for value in values]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


@given(st.lists(st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=4), min_size=1, max_size=6))
def test_any_numbers_are_read_back_to_the_last_digit(values: list[int | Decimal]) -> None:
    [cells] = csv.reader(io.StringIO(row(values).decode(), newline=""))
    assert [Decimal(cell) for cell in cells] == [Decimal(value) for value in values]


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=4))
def test_rows_after_each_other_stay_apart(first: list[str], second: list[str]) -> None:
    read = list(csv.reader(io.StringIO((row(first) + row(second)).decode(), newline="")))
    assert [len(cells) for cells in read] == [len(first), len(second)]
