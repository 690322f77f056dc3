"""Days in the address of a list: `from` and `to`, both included, in the business's own zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

from tidegate.core.errors import Invalid, Problem
from tidegate.dashboard.format import Times

# Beyond these no day of ours can lie, and arithmetic on days comes to its ends.
YEAR_MIN, YEAR_MAX = 1970, 2199


class DayPeriod(NamedTuple):
    """The end is not included."""

    start: datetime | None
    end: datetime | None


def period_in(query: Mapping[str, str], times: Times) -> DayPeriod:
    first, last = days_in(query)
    return DayPeriod(
        times.start_of(first) if first else None, times.start_of(last + timedelta(days=1)) if last else None
    )


def days_in(query: Mapping[str, str]) -> tuple[date | None, date | None]:
    """Raises Invalid: a day that cannot be read is never ignored."""
    problems: list[Problem] = []
    first, last = (_day(query.get(name, ""), name, problems) for name in ("from", "to"))
    if first and last and last < first:
        problems.append(Problem("to", "Choose a day that is not before the first one."))
    if problems:
        raise Invalid(*problems)
    return first, last


def _day(text: str, name: str, problems: list[Problem]) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or not YEAR_MIN <= day.year <= YEAR_MAX:
        problems.append(Problem(name, "Enter a day such as 2026-11-17."))
        return None
    return day
