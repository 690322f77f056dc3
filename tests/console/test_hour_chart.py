"""The picture of payments by the hour."""

from __future__ import annotations

import re

import pytest

from console.people import SignedInStaff
from tidegate.console import hour_chart

STARTS = [f"{hour:02}:15" for hour in range(24)]

pytestmark = pytest.mark.usefixtures("unlimited")


def test_bars_have_times_a_zero_line_and_their_numbers() -> None:
    drawn = str(hour_chart.draw([0] * 10 + [1_500] + [0] * 12 + [300], STARTS, "<words>"))
    assert re.findall(r"<text[^>]*>([^<]*)</text>", drawn) == [
        "00:15",
        "06:15",
        "1,500",
        "12:15",
        "18:15",
        "300",
        "now",
    ]
    heights = [int(found) for found in re.findall(r'<rect[^>]* height="(\d+)"', drawn)]
    assert (len(heights), heights[10], heights[23], sum(heights)) == (24, 100, 20, 120)
    assert ("<title>&lt;words&gt;</title>" in drawn, 'class="base"' in drawn) == (True, True)


@pytest.mark.parametrize("at", [0, 23])
def test_a_number_at_an_end_stays_in_the_picture(at: int) -> None:
    payments = [0] * 24
    payments[at] = 7
    drawn = str(hour_chart.draw(payments, STARTS, ""))
    place, anchor = re.findall(r'<text class="value" x="([0-9.]+)" y="\d+" text-anchor="(\w+)">7<', drawn)[0]
    assert (float(place), anchor) == ((0, "start") if at == 0 else (hour_chart.WIDTH, "end"))


async def test_without_payments_there_is_no_picture(operator: SignedInStaff) -> None:
    page = (await operator.get()).text
    assert ("Nothing was paid in the last 24 hours." in page, 'class="chart"' in page) == (True, False)
