"""Rows of a CSV file, as RFC 4180 writes them, that no spreadsheet takes for formulas.

There is no byte order mark. It would help one spreadsheet to guess UTF-8, and every other program would find it in
the name of the first column.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from tidegate.core.visible import visible
from tidegate.infra.timestamp import to_iso

Cell = str | int | Decimal | datetime | None

# What begins so is run as a formula when the file is opened; the full-width signs count where they are typed. Where
# decimals have a comma, a spreadsheet also splits at each semicolon, and quotes inside a line do not stop it. Some drop
# invisible characters at the start of a cell.
_FORMULA_START = re.compile(r"""((?:^|;)[\s"'\u00ad\u200b-\u200d\u2060\ufeff]*)(?=[=+\-@＝＋－＠])""")
_AS_TEXT = r"\1'"
# Nothing in it is a control or begins a formula. Nearly every cell is so; this test costs a third of the other.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,:_@/+\-]*")


class _GivenBack:
    """In place of a file: the writer returns what its file's `write` returns."""

    def write(self, text: str) -> str:
        return text


_writer = csv.writer(_GivenBack(), lineterminator="\r\n")


def row(values: Iterable[Cell]) -> bytes:
    text: str = _writer.writerow([_cell(value) for value in values])
    return text.encode()


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else _FORMULA_START.sub(_AS_TEXT, visible(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return to_iso(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
