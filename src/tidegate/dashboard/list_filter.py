"""Filters in the address of a list. One that is wrong is refused, never ignored.

Days are `from` and `to`, both included, in the business's own zone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from tidegate.core.errors import Invalid, Problem
from tidegate.dashboard.format import Times

# Beyond these no day of ours can lie, and arithmetic on days comes to its ends.
YEAR_MIN, YEAR_MAX = 1970, 2199
CHOOSE = "Choose one of the list."


class DayPeriod(NamedTuple):
    """The end is not included."""

    start: datetime | None
    end: datetime | None


def checked_period(
    query: Mapping[str, str], times: Times, choices: Mapping[str, Container[str]], more: Sequence[Problem] = ()
) -> DayPeriod:
    """The days asked for. Raises Invalid with every filter that is wrong: days, and values not among the choices."""
    problems = [
        Problem(name, CHOOSE) for name, values in choices.items() if query.get(name) and query[name] not in values
    ]
    problems += more
    first, last = _days(query, problems)
    if problems:
        raise Invalid(*problems)
    return DayPeriod(
        times.start_of(first) if first else None, times.start_of(last + timedelta(days=1)) if last else None
    )


def days_in(query: Mapping[str, str]) -> tuple[date | None, date | None]:
    problems: list[Problem] = []
    days = _days(query, problems)
    if problems:
        raise Invalid(*problems)
    return days


def day_in(text: str, name: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not YEAR_MIN <= day.year <= YEAR_MAX:
        raise Invalid(Problem(name, "Enter a day such as 2026-11-17."))
    return day


def _days(query: Mapping[str, str], problems: list[Problem]) -> tuple[date | None, date | None]:
    days: dict[str, date] = {}
    for name in ("from", "to"):
        try:
            if text := query.get(name):
                days[name] = day_in(text, name)
        except Invalid as wrong:
            problems += wrong.problems
    first, last = days.get("from"), days.get("to")
    if first and last and last < first:
        problems.append(Problem("to", "Choose a day that is not before the first one."))
    return first, last
