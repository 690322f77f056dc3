"""How far the roll-up of takings goes while the database's clock stands still, jumps or runs back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tidegate.dashboard.roll_up import PastReadings

BEGAN = datetime(2026, 11, 19, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        pytest.param([0, 10, 20, 30, 40, 50], [None, None, None, 0, 10, 20], id="runs"),
        pytest.param([0, 0, 0, 0, 0, 50, 60], [None, None, None, 0, 0, 0, 0], id="stands still and jumps"),
        pytest.param([0, 10, 3_600, 3_610, 3_620, 3_630], [None, None, None, 0, 10, 3_600], id="jumps"),
        pytest.param([60, 70, 0, 10, 20, 30], [None, None, None, 60, 70, 0], id="runs back"),
    ],
)
def test_it_goes_by_what_the_clock_said_half_a_minute_ago(said: list[int], found: list[int | None]) -> None:
    past = PastReadings(30)
    moments = [past.add(BEGAN + timedelta(seconds=one), at_s=10.0 * number) for number, one in enumerate(said)]
    assert moments == [None if one is None else BEGAN + timedelta(seconds=one) for one in found]


def test_after_a_pause_the_oldest_reading_is_old_enough() -> None:
    past = PastReadings(30)
    past.add(BEGAN, at_s=0)
    assert past.add(BEGAN + timedelta(minutes=5), at_s=300) == BEGAN
