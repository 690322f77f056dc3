"""Pages by number. A number counts rows that are skipped, so it leads only so far; a cursor leads anywhere."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Self

import msgspec

from tidegate.core.errors import Invalid, Problem

# Every list has the same page, unless it is asked for another.
PER_PAGE, PER_PAGE_MAX = 50, 100
# A page that is asked for by its number begins among these.
ROWS_BY_NUMBER_MAX = 10_000

_WHOLE = re.compile(r"[1-9][0-9]*", re.ASCII)
# Longer ones are not made into numbers at all.
_DIGITS_MAX = 18
_GO_ON = "go on with `cursor`, the `nextCursor` of the page before"


class _Count(int):
    """A number from 1, given as a number or as text. An answer shows it as `int(...)`, a type that JSON knows."""

    __slots__ = ()

    MAX: ClassVar[int]
    WANTED: ClassVar[str]
    TOO_LARGE: ClassVar[str]

    @classmethod
    def parse(cls, value: Any) -> Self:
        text = str(value) if type(value) is int else value
        if not isinstance(text, str) or not _WHOLE.fullmatch(text):
            raise ValueError(cls.WANTED)
        if len(text) > _DIGITS_MAX or int(text) > cls.MAX:
            raise ValueError(cls.TOO_LARGE)
        return cls(text)

    @classmethod
    def when_absent(cls, number: int) -> Any:
        """The default of a field. By a factory, since the library can describe only defaults of its own types."""
        return msgspec.field(default_factory=lambda: cls(number))

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "integer", "minimum": 1, "maximum": cls.MAX}


class PageNumber(_Count):
    """The first page is page 1."""

    __slots__ = ()

    MAX = ROWS_BY_NUMBER_MAX  # Of one row each.
    WANTED = "must be a whole number from 1"
    TOO_LARGE = f"begins beyond the first {ROWS_BY_NUMBER_MAX} rows; {_GO_ON}"


class PerPage(_Count):
    __slots__ = ()

    MAX = PER_PAGE_MAX
    WANTED = f"must be a whole number from 1 to {PER_PAGE_MAX}"
    TOO_LARGE = WANTED


def refuse_deep(page: PageNumber, per_page: PerPage) -> None:
    """What a page number costs grows with the rows before it."""
    if (page - 1) * per_page >= ROWS_BY_NUMBER_MAX:
        raise Invalid(Problem("page", PageNumber.TOO_LARGE))
