"""What stands after the question mark, or in the body of a GET, read strictly: a filter is never silently ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self, get_args
from urllib.parse import parse_qsl

import msgspec

from tidegate.core.errors import Invalid, Malformed, Problem
from tidegate.infra.http import strict_json
from tidegate.infra.http.read import as_object
from tidegate.infra.http.strict_json import shown

PARAMETERS_MAX = 50
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?P<time>T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d))?", re.ASCII
)
# Beyond these no date of ours can lie, and arithmetic on dates comes to its ends.
YEAR_MIN, YEAR_MAX = 1970, 2199


def query_of(raw: bytes, query_type: type[msgspec.Struct], body: bytes = b"") -> dict[str, Any]:
    """Each parameter once, and none that the operation does not know; numbers where numbers are wanted.

    A body is a JSON object with more of them.
    """
    given = [*_in_address(raw), *_in_body(body)]
    fields = {field.encode_name: field for field in msgspec.structs.fields(query_type)}
    problems = tuple(_problems(given, fields.keys()))
    if problems:
        raise Invalid(*problems)
    return {name: _read(value, fields[name].type) for name, value in given}


def _in_address(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS_MAX)
    except ValueError:  # Also for what is no UTF-8.
        raise Malformed("the query string cannot be read: send percent-encoded UTF-8") from None


def _in_body(body: bytes) -> Iterable[tuple[str, Any]]:
    if not body:
        return ()
    given = as_object(strict_json.loads(body))
    if len(given) > PARAMETERS_MAX:
        raise Malformed(f"the body has more than {PARAMETERS_MAX} parameters; send fewer")
    return given.items()


def _problems(given: list[tuple[str, Any]], known: Any) -> Iterator[Problem]:
    seen: set[str] = set()
    for name, value in given:
        if isinstance(value, str) and "\0" in value:
            yield Problem(shown(name), "must not contain U+0000")
        if name not in known:
            yield Problem(shown(name), f"is no parameter here; there are {', '.join(known)}")
        elif name in seen:
            yield Problem(name, "is given twice; give it once")
        seen.add(name)


def _read(value: Any, field_type: Any) -> Any:
    is_number = isinstance(value, str) and _WHOLE.fullmatch(value) and int in _types_in(field_type)
    return int(value) if is_number else value


def _types_in(field_type: Any) -> Iterator[Any]:
    yield field_type
    for inner in get_args(field_type):
        yield from _types_in(inner)


def period_problems(fields: Mapping[str, Any]) -> Iterator[Problem]:
    """For a request with `date_from` and `date_to`, of which either may be absent."""
    start, end = fields.get("date_from"), fields.get("date_to")
    if isinstance(start, Moment) and isinstance(end, Moment) and start.start >= end.end:
        yield Problem("dateTo", "must be after dateFrom")


class Moment(str):
    """A date, or a date and time with its distance from UTC."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: Any) -> Self:
        match = _MOMENT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise ValueError("must be a date such as 2026-11-15, or a time such as 2026-11-15T09:30:00Z")
        moment = cls(value)
        try:
            year = moment.start.year
        except (ValueError, OverflowError):
            raise ValueError("is a day or a time that does not exist") from None
        if not YEAR_MIN <= year <= YEAR_MAX:
            raise ValueError(f"must be from {YEAR_MIN} to {YEAR_MAX}")
        return moment

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2}))?$"}

    @property
    def start(self) -> datetime:
        given = datetime.fromisoformat(self)
        return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)

    @property
    def end(self) -> datetime:
        """A day ends when the next begins; a time is its own end."""
        return self.start if "T" in self else self.start + timedelta(days=1)
