"""Whether the statements of an account follow each other without a gap, and how long none came, as pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import groupby, pairwise

import msgspec

# Of a week.
_WORKING_DAYS = 5


class KnownStatement(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    statement_id: str
    day: date
    sequence: int | None
    page: int | None
    is_last_page: bool | None
    opening: Decimal | None
    closing: Decimal | None
    total: Decimal

    @property
    def name(self) -> str:
        number = f" {self.sequence}" if self.sequence is not None else ""
        page = f", page {self.page}" if self.page is not None else ""
        return f"{self.account}: statement{number} of {self.day}{page}"


def gaps_in(statements: Iterable[KnownStatement]) -> list[str]:
    """Of binding statements. Of several with the same number and page, the last one given counts."""
    found: list[str] = []
    ordered = sorted(statements, key=lambda one: one.account)
    for _, of_account in groupby(ordered, key=lambda one: one.account):
        newest = {
            (one.day.year, one.sequence, one.page or 1, one.sequence or one.statement_id): one for one in of_account
        }
        in_order = sorted(newest.values(), key=lambda one: (one.day, one.sequence or 0, one.page or 1))
        found += [problem for one in in_order for problem in _within(one)]
        found += [problem for before, after in pairwise(in_order) for problem in _between(before, after)]
        found += _unfinished(in_order)
    return found


def _within(one: KnownStatement) -> Iterator[str]:
    if one.opening is not None and one.closing is not None and one.opening + one.total != one.closing:
        difference = one.closing - one.opening - one.total
        yield f"{one.name}: the closing balance differs from the opening balance and the entries by {difference}"


def _between(before: KnownStatement, after: KnownStatement) -> Iterator[str]:
    if before.sequence is not None and after.sequence is not None:
        # Banks begin again at 1 with the year.
        if after.sequence > before.sequence + 1:
            first, last = before.sequence + 1, after.sequence - 1
            missing = f"statement {first} is" if first == last else f"statements {first} to {last} are"
            yield f"{after.account}: {missing} missing"
            return
        if after.sequence == before.sequence and (after.page or 1) > (before.page or 1) + 1:
            yield f"{after.account}: statement {after.sequence}: a page before page {after.page} is missing"
            return
    if before.closing is not None and after.opening is not None and before.closing != after.opening:
        yield f"{after.name}: it opens with {after.opening}, but the one before closes with {before.closing}"


def _unfinished(in_order: list[KnownStatement]) -> Iterator[str]:
    for _, pages in groupby(in_order, key=lambda one: (one.day.year, one.sequence)):
        last = list(pages)[-1]
        if last.is_last_page is False:
            yield f"{last.name}: the next page is missing"


def working_time_between(begin: datetime, end: datetime) -> timedelta:
    """Without Saturdays and Sundays, on which banks send nothing."""
    passed, day = timedelta(0), begin.replace(hour=0, minute=0, second=0, microsecond=0)
    while day < end:
        after = day + timedelta(days=1)
        if day.weekday() < _WORKING_DAYS:
            passed += min(end, after) - max(begin, day)
        day = after
    return passed
