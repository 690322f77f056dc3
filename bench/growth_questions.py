"""What merchants ask of their inflows, asked the same way of a small and of a large database."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bench.line import BenchFailed
from tidegate.collection.list_store import CollectionFilter, first_id_of
from tidegate.core.money import Currency
from tidegate.infra.http.cursor import Cursor
from tidegate.infra.timestamp import to_iso

PATH = "/collections"
PER_PAGE = 10
CSV_ROWS = 900
CURRENCY = Currency.EUR
# Another place for every call, spread over the whole list: steps by the golden ratio never come close to one another.
GOLDEN = 0.618033988749895


@dataclass(frozen=True)
class Shelf:
    """One of the databases, and whose list is asked for: the business that has the large account."""

    url: str
    business_id: str
    account_id: str
    secret_key: str
    rows: int
    account_rows: int
    oldest_at: datetime
    newest_at: datetime
    # When the last row of a file of CSV_ROWS was recorded.
    csv_from: datetime

    def moment(self, number: int) -> datetime:
        """Somewhere in the list, but with a full page after it."""
        share = 0.02 + 0.96 * (number * GOLDEN % 1.0)
        return self.oldest_at + share * (self.newest_at - self.oldest_at)

    def path(self, **fields: str) -> str:
        return f"{PATH}?{urllib.parse.urlencode({'business': self.business_id, **fields})}"


@dataclass(frozen=True)
class Question:
    name: str
    description: str
    # Given the number of the call.
    path: Callable[[Shelf, int], str]
    rows: int = PER_PAGE
    headers: Mapping[str, str] = field(default_factory=dict)

    def refuse_other_answer(self, body: bytes) -> None:
        """A list that is empty, or shorter on one side, would compare two different things."""
        found = len(body.splitlines()) - 1 if self.headers else len(json.loads(body)["data"]["results"])
        if found != self.rows:
            raise BenchFailed(f"{self.name}: {found} rows came instead of {self.rows}")


def _account(shelf: Shelf, **fields: str) -> str:
    return shelf.path(virtualAccount=shelf.account_id, **fields)


def _currency(shelf: Shelf, **fields: str) -> str:
    return shelf.path(destinationCurrency=CURRENCY, **fields)


def _cursor(shelf: Shelf, number: int, wanted: CollectionFilter) -> str:
    """As the API would give it out there; it refuses this one should that ever change."""
    return Cursor.of(first_id_of(shelf.moment(number)), scope=f"{shelf.business_id} {wanted}")


def _part_days(shelf: Shelf, number: int) -> dict[str, str]:
    """From one time of a day to a time of another, half a year later."""
    half = (shelf.newest_at - shelf.oldest_at) / 2
    start = shelf.oldest_at + (number * GOLDEN % 1.0) * (half - timedelta(days=2))
    return {"dateFrom": to_iso(start), "dateTo": to_iso(start + half)}


QUESTIONS = (
    Question("account", "first page of an account", lambda shelf, _: _account(shelf)),
    Question("currency", "first page of a currency", lambda shelf, _: _currency(shelf)),
    Question("rare", "first page of a rare status", lambda shelf, _: shelf.path(status="reversed")),
    Question(
        "account-cursor",
        "page of an account by cursor, anywhere",
        lambda shelf, number: _account(
            shelf, cursor=_cursor(shelf, number, CollectionFilter(account_id=shelf.account_id))
        ),
    ),
    Question(
        "currency-cursor",
        "page of a currency by cursor, anywhere",
        lambda shelf, number: _currency(
            shelf, cursor=_cursor(shelf, number, CollectionFilter(destination_currency=CURRENCY))
        ),
    ),
    Question(
        "account-dates",
        "page and total of an account, part days",
        lambda shelf, number: _account(shelf, **_part_days(shelf, number)),
    ),
    Question(
        "currency-dates",
        "page and total of a currency, part days",
        lambda shelf, number: _currency(shelf, **_part_days(shelf, number)),
    ),
    Question(
        "csv",
        f"CSV of an account, {CSV_ROWS} rows",
        lambda shelf, _: _account(shelf, dateFrom=to_iso(shelf.csv_from)),
        rows=CSV_ROWS,
        headers={"accept": "text/csv"},
    ),
)
