"""Reads a rail's statement in CSV. A line that is not understood is reported with its number; nothing is guessed."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import BinaryIO

from tidegate.reconcile.model import Direction, RailLine

REQUIRED = ("transactionId", "direction", "amount", "currency", "bookedAt")
OPTIONAL = ("reference", "description")
COLUMNS = (*REQUIRED, *OPTIONAL)

LINE_BYTES_MAX = 65_536
LINES_MAX = 5_000_000
TEXT_MAX = 200
PROBLEMS_MAX = 20
YEAR_MIN, YEAR_MAX = 2000, 2199

_AMOUNT = re.compile(r"[0-9]{1,15}(\.[0-9]{1,4})?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_DAY_FIRST = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DIRECTIONS = {direction.value: direction for direction in Direction}


class Unreadable(Exception):
    """Not a valid statement; `problems` lists where and why."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class NoDays(Unreadable):
    """A statement without lines names no days; they are given beside it."""

    def __init__(self) -> None:
        super().__init__("the file has no lines; give the first and the last day")


def read(
    file: BinaryIO, columns: Mapping[str, str] | None = None, on_bytes: Callable[[int], object] = lambda _: None
) -> list[RailLine]:
    """All lines, or Unreadable with the first problems. `columns` maps our column names to the file's."""
    lines: list[RailLine] = []
    problems: list[str] = []
    for found in _each(file, columns or {}, on_bytes):
        if isinstance(found, RailLine):
            lines.append(found)
        else:
            problems.append(found)
        if len(problems) >= PROBLEMS_MAX:
            problems.append(f"only the first {PROBLEMS_MAX} problems are listed")
            break
        if len(lines) > LINES_MAX:
            raise Unreadable(f"the file has more than {LINES_MAX:,} lines; split it by days")
    if problems:
        raise Unreadable(*problems)
    return lines


def _each(file: BinaryIO, columns: Mapping[str, str], on_bytes: Callable[[int], object]) -> Iterator[RailLine | str]:
    """A line, or its problem."""
    texts = _texts(file, on_bytes)
    header = next(texts, "")
    delimiter = ";" if header.count(";") > header.count(",") else ","
    rows = _rows(header, texts, delimiter)
    _, names = next(rows, (1, []))
    places = _places(names, columns)
    for number, row in rows:
        if not row:
            continue
        if len(row) != len(names):
            yield f"line {number}: has {len(row)} fields, but the header has {len(names)}"
            continue
        try:
            yield _line(number, {name: row[place].strip() for name, place in places.items()})
        except ValueError as wrong:
            yield f"line {number}: {wrong}"


def _texts(file: BinaryIO, on_bytes: Callable[[int], object]) -> Iterator[str]:
    number = 0
    while raw := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        on_bytes(len(raw))
        if len(raw) > LINE_BYTES_MAX:
            raise Unreadable(f"line {number}: is longer than {LINE_BYTES_MAX} bytes")
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise Unreadable(f"line {number}: is not UTF-8; save the file in that encoding") from None


def _rows(header: str, texts: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """With the number of the first line of each: a quoted field may hold line breaks."""

    def all_texts() -> Iterator[str]:
        yield header
        yield from texts

    reader = csv.reader(all_texts(), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            yield number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise Unreadable(f"line {number}: is not valid CSV: {error}") from None


def _places(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, int]:
    """The position of each of our columns."""
    if unknown := [name for name in columns if name not in COLUMNS]:
        raise Unreadable(f"{unknown[0]} is not a column of a statement; use {', '.join(COLUMNS)}")
    folded = [name.strip().casefold() for name in names]
    wanted = {name: columns.get(name, name).strip().casefold() for name in COLUMNS}
    lacking = [name for name in COLUMNS if wanted[name] not in folded and (name in REQUIRED or name in columns)]
    if lacking:
        called = ", ".join(columns.get(name, name) for name in lacking)
        raise Unreadable(f"line 1: the header has no {called}; required are {', '.join(REQUIRED)}")
    if twice := [name for name in COLUMNS if folded.count(wanted[name]) > 1]:
        raise Unreadable(f"line 1: the header has {columns.get(twice[0], twice[0])} more than once")
    return {name: folded.index(wanted[name]) for name in COLUMNS if wanted[name] in folded}


def _line(number: int, row: Mapping[str, str]) -> RailLine:
    return RailLine(
        number=number,
        transaction_id=_identifier(row["transactionId"], "transactionId"),
        direction=_direction(row["direction"]),
        amount=_amount(row["amount"]),
        currency=_currency(row["currency"]),
        booked_at=_moment(row["bookedAt"]),
        reference=_identifier(text, "reference") if (text := row.get("reference")) else None,
        description=row.get("description", "")[:TEXT_MAX] or None,
    )


def _identifier(text: str, name: str) -> str:
    if not text:
        raise ValueError(f"{name} is empty")
    if len(text) > TEXT_MAX or _CONTROL.search(text):
        raise ValueError(f"{name} must have at most {TEXT_MAX} characters, all visible")
    return text


def _direction(text: str) -> Direction:
    found = _DIRECTIONS.get(text.lower())
    if found is None:
        raise ValueError(f"direction is {_shown(text)}; it must be in or out")
    return found


def _amount(text: str) -> Decimal:
    if not _AMOUNT.fullmatch(text):
        raise ValueError(
            f"amount is {_shown(text)}; it must be positive, with a decimal point and no thousands separator"
        )
    amount = Decimal(text)
    if not amount:
        raise ValueError("amount is zero; it must be positive")
    return amount


@lru_cache(maxsize=256)
def _currency(text: str) -> str:
    if not _CURRENCY.fullmatch(text):
        raise ValueError(f"currency is {_shown(text)}; it must be three capital letters such as EUR")
    return text


@lru_cache(maxsize=4096)
def _moment(text: str) -> datetime:
    """A date alone is the start of that day; a time without an offset is UTC. Cached, since many lines share it."""
    try:
        if not _DAY_FIRST.fullmatch(text.replace(" ", "T", 1)):
            raise ValueError
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        if not YEAR_MIN <= moment.year <= YEAR_MAX:
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(
            f"bookedAt is {_shown(text)}; it must be a date or time such as 2026-11-15 or 2026-11-15T09:30:00Z"
        ) from None
    return moment


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
