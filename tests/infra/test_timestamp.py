"""Times on the wire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.infra.timestamp import to_iso


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=3)), timezone(timedelta(minutes=-570))])))
def test_it_is_what_the_standard_library_writes(moment: datetime) -> None:
    try:
        there = moment.astimezone(UTC)
    except OverflowError:  # The first and the last day of the calendar have no neighbours.
        return
    assert to_iso(moment) == there.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


@pytest.mark.parametrize(
    ("microsecond", "text"),
    [(0, ".000Z"), (1, ".000Z"), (999, ".000Z"), (1_000, ".001Z"), (120_000, ".120Z"), (999_999, ".999Z")],
)
def test_there_are_always_three_decimals(microsecond: int, text: str) -> None:
    assert to_iso(datetime(2026, 11, 15, 12, 30, 0, microsecond, UTC)) == f"2026-11-15T12:30:00{text}"
