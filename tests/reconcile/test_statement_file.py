"""A rail's CSV file: what is read, and what is said of what cannot be."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from tidegate.reconcile import statement
from tidegate.reconcile.model import Direction, RailLine
from tidegate.reconcile.statement import Unreadable

HEADER = "transactionId,direction,amount,currency,bookedAt\n"
GOOD = "T-1,in,100.50,NGN,2026-11-15T09:30:00Z\n"


def read(text: str | bytes, **columns: str) -> list[RailLine]:
    return statement.read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), columns)


def problems(text: str | bytes, **columns: str) -> tuple[str, ...]:
    with pytest.raises(Unreadable) as refused:
        read(text, **columns)
    return refused.value.problems


def test_a_line_is_read() -> None:
    [line] = read(HEADER + GOOD)
    assert line == RailLine(
        number=2, transaction_id="T-1", direction=Direction.IN, amount=Decimal("100.5"), currency="NGN",
        booked_at=datetime(2026, 11, 15, 9, 30, tzinfo=UTC),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + HEADER + GOOD,
        (HEADER + GOOD).replace(",", ";"),
        (HEADER + GOOD).replace("\n", "\r\n"),
        (HEADER + GOOD).rstrip("\n"),
        HEADER + "\n" + GOOD + "\n",
        HEADER.upper() + GOOD,
        HEADER + '"T-1", IN ,"100.50",NGN,2026-11-15 09:30\n',
        "bookedAt,amount,note,currency,transactionId,direction\n2026-11-15T10:30+01:00,100.50,a,NGN,T-1,in\n",
    ],
    ids=["mark", "semicolon", "crlf", "no-end", "blank", "case", "quoted", "order"],
)
def test_the_same_line_may_be_written_differently(text: str) -> None:
    [line], [plain] = read(text), read(HEADER + GOOD)
    assert (line.transaction_id, line.direction, line.amount, line.currency, line.booked_at) == (
        plain.transaction_id, plain.direction, plain.amount, plain.currency, plain.booked_at,
    )  # fmt: skip


def test_a_day_alone_is_its_beginning() -> None:
    [line] = read(HEADER + "T-1,out,1,UGX,2026-11-15\n")
    assert line.booked_at == datetime(2026, 11, 15, tzinfo=UTC)


def test_a_bank_may_call_the_columns_otherwise() -> None:
    text = "Ref;direction;Betrag;currency;bookedAt;Zweck\nT-1;in;1.00;EUR;2026-11-15;Miete\n"
    [line] = read(text, transactionId="Ref", amount="Betrag", description="Zweck")
    assert (line.transaction_id, line.amount, line.description) == ("T-1", Decimal(1), "Miete")


def test_a_line_is_numbered_as_an_editor_shows_it() -> None:
    header = HEADER.replace("\n", ",description\n")
    lines = read(header + 'T-1,in,1,EUR,2026-11-15,"two\nlines"\n\nT-2,in,1,EUR,2026-11-15,\n')
    assert [line.number for line in lines] == [2, 5]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("T-1,in,1.00,EUR", "has 4 fields"),
        ("T-1,in,1.00,EUR,2026-11-15,more", "has 6 fields"),
        (",in,1.00,EUR,2026-11-15", "transactionId is empty"),
        ("T\x00,in,1.00,EUR,2026-11-15", "transactionId must have at most"),
        ("T" * 201 + ",in,1.00,EUR,2026-11-15", "transactionId must have at most"),
        ("T-1,credit,1.00,EUR,2026-11-15", "direction is 'credit'"),
        ("T-1,in,-1.00,EUR,2026-11-15", "amount is '-1.00'"),
        ('T-1,in,"1,00",EUR,2026-11-15', "amount is '1,00'"),
        ('T-1,in,"1,000.00",EUR,2026-11-15', "amount is '1,000.00'"),
        ("T-1,in,1e3,EUR,2026-11-15", "amount is '1e3'"),
        ("T-1,in,٣,EUR,2026-11-15", "amount is"),
        ("T-1,in,0.00,EUR,2026-11-15", "amount is zero"),
        ("T-1,in,1.00,eur,2026-11-15", "currency is 'eur'"),
        ("T-1,in,1.00,EUR,15.11.2026", "bookedAt is '15.11.2026'"),
        ("T-1,in,1.00,EUR,2026-02-30", "bookedAt is '2026-02-30'"),
        ("T-1,in,1.00,EUR,0001-01-01", "bookedAt is '0001-01-01'"),
        ("T-1,in,1.00,EUR,2026-11-15Tnoon", "bookedAt is"),
    ],
)
def test_a_bad_line_is_named_and_explained(row: str, said: str) -> None:
    [problem] = problems(HEADER + GOOD + row + "\n")
    assert problem.startswith("line 3: ")
    assert said in problem


def test_several_mistakes_are_said_at_once_and_not_too_many() -> None:
    assert len(problems(HEADER + "T-1,in,1,EUR,never\n" * 3)) == 3
    many = problems(HEADER + "T-1,in,1,EUR,never\n" * 100)
    assert len(many) == statement.PROBLEMS_MAX + 1
    assert "only the first" in many[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no transactionId"),
        (GOOD, "the header has no transactionId"),
        ("transactionId,direction,amount,bookedAt\n", "the header has no currency"),
        (HEADER.replace("\n", ",Amount\n"), "amount more than once"),
        (HEADER.encode() + b"T-1,in,1,EUR,2026-11-15\nT-\xff,in,1,EUR,2026-11-15\n", "line 3: is not UTF-8"),
        (HEADER.encode("utf-16"), "line 1: is not UTF-8"),
        (HEADER + '"T-1,in,1,EUR,2026-11-15\n', "line 2: is not valid CSV"),
        (HEADER + "T" * 70_000, "line 2: is longer than"),
    ],
)
def test_a_file_that_is_no_statement_is_refused(text: str | bytes, said: str) -> None:
    assert said in problems(text)[0]


def test_a_column_that_was_promised_must_be_there() -> None:
    assert "no Ref" in problems(HEADER + GOOD, reference="Ref")[0]
    assert "Ref is not a column" in problems(HEADER + GOOD, Ref="transactionId")[0]


def test_a_statement_may_be_empty() -> None:
    assert read(HEADER) == []
