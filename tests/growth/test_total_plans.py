"""Totals of inflows are exact for every filter and range, and read no more than the ends of the range."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tidegate.collection import list_store
from tidegate.collection.list_store import CollectionFilter
from tidegate.collection.model import CollectionStatus
from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.infra.db import Database, Tx
from tidegate.merchant import commands as merchants

ROWS = 20_000
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
# Neither begins nor ends with a span.
FIRST, SPAN = datetime(2025, 9, 3, 7, 11, tzinfo=UTC), timedelta(days=420)
LARGE, SMALL = "a" * 24, "b" * 24
CURRENCIES = (Currency.EUR, Currency.USD)
# In three hours at each end there are six; the long spans of this time and half of a long one's short ones at each end,
# in two currencies.
ENTRIES_MAX = 2 * 6 + 2 * (32 + 2 * 29)

_ACCOUNTS = """
    INSERT INTO virtual_account (business_id, id, status, currency, settlement_currency, account_type, holder, kyc,
                                 created_at, updated_at)
    SELECT $1, id, 'pending', 'EUR', 'EUR', 'individual', 'Ada Obi', '{}', $2, $2 FROM unnest($3::text[]) AS id
"""
# Evenly over the time, but that every tenth is at the beginning of a span of six hours, or just before it.
_INFLOWS = """
    INSERT INTO collection (business_id, id, reference, account_id, status, reason, source_currency, source_minor,
                            destination_currency, destination_minor, fee_minor, vat_minor, credited_minor, fee_rule_id,
                            rail, transaction_id, scheme, name_check, rate, valued_at, created_at, updated_at)
    SELECT $1, first_collection_id(moment) | (number & 4095), 'col_' || number,
           CASE number % 9 WHEN 0 THEN $6 ELSE $5 END,
           CASE number % 67 WHEN 0 THEN 'pending' WHEN 1 THEN 'reversed' WHEN 2 THEN 'failed' ELSE 'successful' END,
           'name_differs', 'EUR', 100, CASE number % 4 WHEN 0 THEN 'USD' ELSE 'EUR' END, 100, 0, 0, 100, 'rule',
           'sandbox', 'I-' || number, 'sepa', '{"verdict": "exact"}', CASE number % 4 WHEN 0 THEN 1 END, moment, moment,
           moment
      FROM generate_series(1, $4::integer) AS number,
           LATERAL (SELECT date_trunc('milliseconds', $2::timestamptz + number * ($3::interval / $4)) AS even)
           AS spread,
           LATERAL (SELECT CASE number % 20
                           WHEN 0 THEN date_bin('6 hours', even, $2::timestamptz - interval '7 hours 11 minutes')
                           WHEN 10 THEN date_bin('6 hours', even, $2::timestamptz - interval '7 hours 11 minutes')
                                        - interval '1 millisecond'
                           ELSE even END AS moment) AS placed
"""
# As count_inflow does for each; twenty thousand changes of one row are slow in one transaction.
_TALLY = """
    INSERT INTO collection_tally (business_id, account_id, span, starts_at, destination_currency, pending, successful,
                                  failed, reversed)
    SELECT business_id, place.account_id, span, starts_at, destination_currency,
           count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'successful'),
           count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'reversed')
      FROM collection, tally_places(collection.account_id, created_at) AS place
     GROUP BY 1, 2, 3, 4, 5
"""
_COUNT = """
    SELECT count(*) FROM collection
     WHERE business_id = $1 AND ($2::text IS NULL OR account_id = $2)
       AND ($3::text IS NULL OR destination_currency = $3) AND ($4::text IS NULL OR status = $4)
       AND ($5::timestamptz IS NULL OR created_at >= $5) AND ($6::timestamptz IS NULL OR created_at < $6)
"""


@pytest.fixture(scope="module")
async def grown(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[Database, str]]:
    url = await make_database("tidegate_test_total_plans")
    database = Database(url)
    await database.open()
    new = await merchants.create(database, name="Grown", email="g@example.com", mode=Mode.SANDBOX, now=FIRST)
    admin = await asyncpg.connect(url)
    await admin.execute(_ACCOUNTS, new.business.id, FIRST, [LARGE, SMALL])
    await admin.execute(_INFLOWS, new.business.id, FIRST, SPAN, ROWS, LARGE, SMALL)
    await admin.execute(_TALLY)
    await admin.execute("VACUUM ANALYZE collection, collection_tally")
    await admin.close()
    yield database, new.business.id
    await database.close()


def every_filter() -> list[tuple[str | None, Currency | None, CollectionStatus | None]]:
    return list(itertools.product((None, LARGE, SMALL), (None, *CURRENCIES, Currency.UGX), (None, *CollectionStatus)))


def bounds(chance: random.Random) -> datetime | None:
    """Anywhere, near where spans begin, and far outside."""
    long, short = timedelta(weeks=2), timedelta(hours=6)
    near = timedelta(milliseconds=chance.choice((-1, 0, 1)))
    anywhere = FIRST + chance.random() * SPAN
    return chance.choice(
        (
            None,
            datetime(1970, 1, 1, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            anywhere,
            anywhere,
            BEGIN + (anywhere - BEGIN) // short * short + near,
            BEGIN + (anywhere - BEGIN) // short * short + short / 2 + near,
            BEGIN + (anywhere - BEGIN) // long * long + near,
            BEGIN + (anywhere - BEGIN) // long * long + long / 2 + near,
        )
    )


async def test_a_total_is_what_there_is(grown: tuple[Database, str]) -> None:
    database, business_id = grown
    chance = random.Random(20)
    seen = []
    async with database.connection() as tx:
        for account_id, currency, status in every_filter():
            for _ in range(12):
                start, end = bounds(chance), bounds(chance)
                # Ranges that are small, and that are empty.
                if start is not None and start.year < 9999 and chance.random() < 0.3:
                    end = start + chance.choice((0, 1, 6, 30)) * timedelta(hours=chance.random())
                wanted = CollectionFilter(
                    account_id=account_id, destination_currency=currency, status=status, start=start, end=end
                )
                seen.append(await list_store.total(tx, business_id, wanted))
                there = await tx.fetchval(_COUNT, business_id, account_id, currency, status, start, end)
                assert seen[-1] == there, wanted
    assert len([number for number in seen if number]) > len(seen) / 3


@pytest.mark.parametrize(("account_id", "currency", "status"), every_filter())
async def test_a_total_reads_no_more_than_the_ends_of_its_range(
    grown: tuple[Database, str], account_id: str | None, currency: Currency | None, status: CollectionStatus | None
) -> None:
    """Half a year has ten thousand inflows."""
    database, business_id = grown
    async with database.connection() as tx:
        for start in (FIRST + timedelta(days=100, hours=number, minutes=17) for number in (0, 5, 300)):
            wanted = CollectionFilter(
                account_id=account_id, destination_currency=currency, status=status,
                start=start, end=start + timedelta(days=180, hours=2),
            )  # fmt: skip
            before = await entries_read(tx)
            await list_store.total(tx, business_id, wanted)
            assert await entries_read(tx) - before < ENTRIES_MAX


async def entries_read(tx: Tx) -> int:
    """Of tables from end to end, and of indexes."""
    await tx.fetchval("SELECT pg_stat_force_next_flush()")
    found: int = await tx.fetchval(
        """
        SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('collection', 'collection_tally'))
               + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes
                   WHERE relname IN ('collection', 'collection_tally'))
        """
    )
    return found
