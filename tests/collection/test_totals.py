"""Totals come from tallies, and pages from ids made of time: both are held against what is really there."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inflow import Inflows
from tidegate.collection import list_store
from tidegate.collection.list_store import CollectionFilter
from tidegate.collection.model import CollectionStatus
from tidegate.core.money import Currency
from tidegate.doctor import inflow_store

# Around the ends and middles of the tally's spans, which are of two weeks and of six hours since 2020.
LONG, SHORT = timedelta(weeks=2), timedelta(hours=6)
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC) + 160 * LONG
MOMENTS = st.builds(
    lambda long, short, shift: FIRST_DAY + long * LONG + short * SHORT + timedelta(milliseconds=shift),
    st.integers(0, 3),
    st.sampled_from([0, 1, 2, 27, 28, 29, 55]),
    st.sampled_from([0, 1, -1, 999, 3_600_000, 10_799_999, 10_800_000, 10_800_001]),
)
BOUNDS = MOMENTS | st.sampled_from([
    datetime(1970, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
])  # fmt: skip
CURRENCIES = [Currency.EUR, Currency.USD, Currency.UGX]
ROWS = st.tuples(MOMENTS, st.integers(0, 2), st.sampled_from(CURRENCIES), st.sampled_from(CollectionStatus))
FILTERS = st.tuples(
    st.none() | st.integers(0, 2), st.none() | st.sampled_from(CURRENCIES),
    st.none() | st.sampled_from(CollectionStatus), st.none() | BOUNDS, st.none() | BOUNDS,
)  # fmt: skip
_numbers = itertools.count()

INSERT = """
    INSERT INTO collection (business_id, id, reference, account_id, status, reason, source_currency, source_minor,
                            destination_currency, rail, transaction_id, scheme, valued_at, name_check, created_at,
                            updated_at, destination_minor, fee_minor, vat_minor, credited_minor, fee_rule_id, rate,
                            rate_source, rate_quoted_at, spread_minor)
    SELECT $1, new_collection_id($2), $3, $4, $5, 'name_is_close', 'EUR', 1, $6, 'test', $3, 'sepa', $2, $7, $2, $2,
           1, 0, 0, 1, 'rule', CASE WHEN $6 <> 'EUR' THEN 1 END, 'desk', $2, 0
    RETURNING id
"""
NAME_CHECK = '{"typed":null,"compared":"none","holder":"x","verdict":"exact","reason":"x","steps":[]}'


class Shelf:
    """Rows put straight into the table, and the same in memory."""

    def __init__(self, inflows: Inflows, accounts: list[str]) -> None:
        self.inflows, self.accounts = inflows, accounts
        self.rows: dict[int, list[Any]] = {}

    async def put(self, row: tuple[datetime, int, Currency, CollectionStatus]) -> int:
        made_at, account, currency, status = row
        reference, account_id = f"r{next(_numbers)}", self.accounts[account]
        row_id: int = await self.inflows.admin.fetchval(
            INSERT, self.inflows.shop.business_id, made_at, reference, account_id, status, currency, NAME_CHECK
        )
        await self._count(row_id, None, status)
        self.rows[row_id] = [made_at, self.accounts[account], currency, status]
        return row_id

    async def move(self, row_id: int, status: CollectionStatus) -> None:
        await self.inflows.admin.execute(
            "UPDATE collection SET status = $3 WHERE business_id = $1 AND id = $2",
            self.inflows.shop.business_id, row_id, status,
        )  # fmt: skip
        await self._count(row_id, self.rows[row_id][3], status)
        self.rows[row_id][3] = status

    async def _count(self, row_id: int, before: CollectionStatus | None, after: CollectionStatus) -> None:
        await self.inflows.admin.execute(
            "SELECT count_inflow(json_populate_record(NULL::collection, $1::json), $2, $3)",
            await self.inflows.admin.fetchval(
                "SELECT row_to_json(collection)::text FROM collection WHERE business_id = $1 AND id = $2",
                self.inflows.shop.business_id, row_id,
            ),
            before, after,
        )  # fmt: skip

    def matching(self, wanted: CollectionFilter) -> list[int]:
        """The newest first."""

        def passes(row: list[Any]) -> bool:
            made_at, account, currency, status = row
            return (
                wanted.account_id in (None, account)
                and wanted.destination_currency in (None, currency)
                and wanted.status in (None, status)
                and (wanted.start is None or made_at >= wanted.start)
                and (wanted.end is None or made_at < wanted.end)
            )

        return sorted((row_id for row_id, row in self.rows.items() if passes(row)), reverse=True)


def filter_of(shelf: Shelf, drawn: Any) -> CollectionFilter:
    account, currency, status, start, end = drawn
    return CollectionFilter(
        account_id=None if account is None else shelf.accounts[account],
        destination_currency=currency,
        status=status,
        start=start,
        end=end,
    )


async def check(shelf: Shelf, wanted: CollectionFilter, *, per_page: int) -> None:
    business_id, expected = shelf.inflows.shop.business_id, shelf.matching(wanted)
    async with shelf.inflows.runtime.db.connection() as tx:
        assert await list_store.total(tx, business_id, wanted) == len(expected)
        walked: list[int] = []
        while page := await list_store.list_page(
            tx, business_id, wanted, before_id=walked[-1] if walked else None, offset=0, limit=per_page
        ):
            walked += [one.id for one in page]
        numbered: list[int] = []
        while page := await list_store.list_page(
            tx, business_id, wanted, before_id=None, offset=len(numbered), limit=per_page
        ):
            numbered += [one.id for one in page]
    assert walked == numbered == expected
    assert [shelf.rows[row_id][0] for row_id in walked] == sorted(
        (shelf.rows[row_id][0] for row_id in walked), reverse=True
    )


@pytest.fixture
async def accounts(inflows: Inflows) -> list[str]:
    return [(await inflows.account()).id for _ in range(3)]


@pytest.mark.breaks_the_books  # The rows have no journals.
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(ROWS, max_size=14),
    moves=st.lists(st.tuples(st.integers(0, 99), st.sampled_from(CollectionStatus)), max_size=5),
    filters=st.lists(FILTERS, min_size=6, max_size=6),
    per_page=st.integers(1, 4),
)
async def test_totals_and_walks_show_just_what_is_there(
    inflows: Inflows, accounts: list[str], *, rows: Any, moves: Any, filters: Any, per_page: int
) -> None:
    await inflows.admin.execute("DELETE FROM collection; DELETE FROM collection_tally")
    shelf = Shelf(inflows, accounts)
    made = [await shelf.put(row) for row in rows]
    for number, status in moves if made else ():
        await shelf.move(made[number % len(made)], status)
    for drawn in filters:
        await check(shelf, filter_of(shelf, drawn), per_page=per_page)
    assert await inflow_store.list_wrong_tallies(inflows.admin) == []


@pytest.mark.breaks_the_books
async def test_rows_inserted_while_paging_neither_repeat_nor_hide_others(inflows: Inflows, accounts: list[str]) -> None:
    """Also those that come late with an earlier time, as from a process whose clock is behind."""
    shelf = Shelf(inflows, accounts)
    before = [
        await shelf.put((FIRST_DAY + timedelta(seconds=n), 0, Currency.EUR, CollectionStatus.SUCCESSFUL))
        for n in range(12)
    ]
    walked: list[int] = []
    async with inflows.runtime.db.connection() as tx:
        while page := await list_store.list_page(
            tx,
            inflows.shop.business_id,
            CollectionFilter(),
            before_id=walked[-1] if walked else None,
            offset=0,
            limit=3,
        ):
            walked += [one.id for one in page]
            for seconds in (2.5, 8.5, 20):
                late = FIRST_DAY + timedelta(seconds=seconds)
                await shelf.put((late, 1, Currency.EUR, CollectionStatus.SUCCESSFUL))
    assert len(set(walked)) == len(walked)
    assert [row_id for row_id in walked if row_id in before] == before[::-1]


def test_time_begins_in_2020() -> None:
    assert list_store.first_id_of(datetime(2020, 1, 1, tzinfo=UTC)) == 0
    assert list_store.first_id_of(datetime(1970, 1, 1, tzinfo=UTC)) == 0


@given(moment=st.integers(-(10**15), 5 * 10**15).map(lambda us: FIRST_DAY + timedelta(microseconds=us)))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
async def test_python_and_the_database_agree_where_a_moment_begins(inflows: Inflows, moment: datetime) -> None:
    there = await inflows.admin.fetchval("SELECT first_collection_id($1)", moment)
    assert list_store.first_id_of(moment) == there
