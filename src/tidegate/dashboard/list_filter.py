"""Filters in the address of a list. One that is wrong, or given twice with two values, is refused, never ignored.

Days are `from` and `to`, both included, in the business's own zone.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import NamedTuple

from tidegate.core.errors import Invalid, Problem
from tidegate.dashboard.format import Times
from tidegate.infra.http.form import Query

# Beyond these no day of ours can lie, and arithmetic on days comes to its ends.
YEAR_MIN, YEAR_MAX = 1970, 2199
# Of a value, in a sentence.
SHOWN_CHARS_MAX = 40
CHOOSE = "Choose one of the list."
# What a sentence calls the filters of all lists.
FILTER_WORDS = {
    "q": "the search",
    "status": "the status",
    "variance": "the difference",
    "method": "the method",
    "currency": "the currency",
    "link": "the link",
    "verdict": "the name check",
    "account": "the account",
    "days": "what the days are of",
    "event": "the event",
    "endpoint": "the endpoint",
    "reference": "the reference",
    "answer": "the answer",
    "tries": "the number of tries",
    "who": "the person",
    "what": "the kind of act",
    "business": "the merchant",
    "subject": "the thing",
    "kind": "the kind of line",
    "tab": "the tab",
    "only": "the choice of requests",
    "from": "the first day",
    "to": "the last day",
    "before": "the page",
}


# Chosen by a link, and no fields of a form.
_NO_FIELDS = ("before", "tab", "only", "link")


class DayPeriod(NamedTuple):
    """The end is not included."""

    start: datetime | None
    end: datetime | None


def faults_in(query: Mapping[str, str], names: Iterable[str]) -> Iterator[Problem]:
    """Filters that were left out when an address was read. A form is refused before it comes here."""
    if not isinstance(query, Query):
        return
    for name in (*names, "before"):
        words, field = FILTER_WORDS[name], "" if name in _NO_FIELDS else name
        if name in query.unreadable:
            message = f"The address has a character for {words} that is not text, such as a line break. Enter it anew."
            yield Problem(field, message)
        elif name in query.others:
            first, second = (shown(text) for text in (query[name], query.others[name]))
            yield Problem(field, f"The address has {words} twice, as “{first}” and as “{second}”. Choose one of them.")


def search_problems(query: Mapping[str, str], typed: str, *, chars_max: int) -> list[Problem]:
    """What is wrong with a search for anything; `typed` is what counts of it."""
    problems = [*faults_in(query, ("q",))]
    if len(typed) > chars_max:
        problems.append(Problem("q", f"The search has {len(typed):,} characters; shorten it to at most {chars_max}."))
    # Its field is in the frame of the page.
    return [replace(problem, field="") for problem in problems]


def shown(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}…"


def checked_period(
    query: Mapping[str, str], times: Times, names: Iterable[str], choices: Mapping[str, Container[str]],
    more: Sequence[Problem] = (),
) -> DayPeriod:  # fmt: skip
    """The days asked for. Raises Invalid with every filter of these names that is wrong: those that cannot be read,
    days, and values not among the choices."""
    faults = [*faults_in(query, names)]
    problems = [
        Problem(name, CHOOSE) for name, values in choices.items() if query.get(name) and query[name] not in values
    ]
    problems += more
    first, last = _days(query, problems)
    # Of a filter that was not read, its value says no more.
    named = {fault.field for fault in faults}
    if problems := [*faults, *(problem for problem in problems if problem.field not in named)]:
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
