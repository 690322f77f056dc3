"""Query strings, moments and cursors: read strictly, whatever the text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.core.errors import Invalid, Malformed
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.http.query import Moment, query_of


class Wanted(msgspec.Struct, rename="camel"):
    per_page: int | msgspec.UnsetType = msgspec.UNSET
    name: str = ""


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b"", {}),
        (b"perPage=10&name=a%20b+c", {"perPage": 10, "name": "a b c"}),
        (b"perPage=010", {"perPage": "010"}),
        (b"perPage=-1", {"perPage": -1}),
        (b"name=10", {"name": "10"}),
        (b"name", {"name": ""}),
    ],
)
def test_a_query_is_read_as_it_stands(raw: bytes, read: dict[str, Any]) -> None:
    assert query_of(raw, Wanted) == read


@given(st.binary(max_size=200))
def test_no_query_upsets_it(raw: bytes) -> None:
    try:
        found = query_of(raw, Wanted)
    except (Invalid, Malformed):
        return
    assert found.keys() <= {"perPage", "name"}


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-11-15", datetime(2026, 11, 15, tzinfo=UTC), datetime(2026, 11, 16, tzinfo=UTC)),
        ("2026-11-15T09:30Z", datetime(2026, 11, 15, 9, 30, tzinfo=UTC), datetime(2026, 11, 15, 9, 30, tzinfo=UTC)),
        ("2026-11-15T00:30:00.5+01:00", datetime(2026, 11, 14, 23, 30, 0, 500_000, tzinfo=UTC), None),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC), None),
    ],
)
def test_a_day_ends_with_the_next_one_and_a_time_is_its_own_end(
    text: str, start: datetime, end: datetime | None
) -> None:
    moment = Moment.parse(text)
    assert moment.start == start
    assert end is None or moment.end == end


@pytest.mark.parametrize(
    "text",
    [
        "", "2026", "2026-13-01", "2026-02-30", "2026-11-15T25:00Z", "2026-11-15T09:30", "2026-11-15 09:30Z",
        "1969-12-31", "2200-01-01", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "２０２６-11-15",
        "2026-11-15T09:30:00+99:99", "2026-11-15\n", 20261115, None,
    ],
)  # fmt: skip
def test_what_is_no_moment_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|does not exist"):
        Moment.parse(text)


@given(st.text(max_size=40) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", fullmatch=True))
def test_no_text_upsets_a_moment(text: str) -> None:
    try:
        moment = Moment.parse(text)
    except ValueError:
        return
    assert moment.start <= moment.end


@given(position=st.integers(0, 2**63 - 1), scope=st.text(max_size=50))
def test_a_cursor_gives_its_position_back_to_its_own_list(position: int, scope: str) -> None:
    cursor = Cursor.parse(str(Cursor.of(position, scope=scope)))
    assert cursor.position(scope=scope) == position
    with pytest.raises(Malformed):
        cursor.position(scope=scope + "x")


@given(st.text("ABCxyz019_-=", min_size=22, max_size=22))
def test_an_invented_cursor_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        Cursor.parse(text).position(scope="list")
