"""Many inflows in bulk: copies of patterns that the product itself has written, one of each kind for each account.

Row `n` of so many follows from `n` alone, whatever the size. A tenth of all rows belongs to the first account, the rest
to the others in equal shares; about one in seventy did not succeed. They lie evenly over a year that ends now, in the
order of time, as they would have come.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

from bench.create import COLUMNS
from bench.environment import Shop, open_shops
from bench.notifications import arrival
from bench.report import BenchFailed
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OURSELVES
from tidegate.collection import decide, store
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.core.money import Currency, Money
from tidegate.infra import db as database
from tidegate.infra.db import Tx
from tidegate.rail.notification import NotificationRef
from tidegate.runtime import Runtime
from tidegate.settings import Settings

BUSINESSES, ACCOUNTS = 5, 100
HOLDER = "Adaeze Okonkwo"
# The payer, the name that was typed for the recipient, and what the name rule must make of it.
KINDS = (
    ("Harbour Trading Ltd", HOLDER, "successful"),
    ("Chidi Eze", HOLDER, "successful"),
    ("Marta Nowak", HOLDER, "successful"),
    ("Jean-Luc Petit", HOLDER, "successful"),
    ("Ife Bello", "Adaeze Okonkwu", "pending"),
    ("Tom Short", "Kwame Mensah", "reversed"),
)
CREDITED, PENDING, REVERSED = 4, 4, 5
BATCH = 100_000
SPAN = timedelta(days=365)

# The number of a pattern is that of its account and its kind.
_KEEP = """
CREATE TABLE bench_owner (business_id text, account_id text, secret_key text, began_at timestamptz);
CREATE TABLE bench_pattern AS SELECT remittance::bigint AS number, collection.* FROM collection;
ANALYZE bench_pattern
"""
# The triggers count and check each row by itself; here both are done for all of them at once, or hold by construction.
_BEFORE = """
SET LOCAL session_replication_role = replica;
-- It would sort the rows, and they are to lie in the order of time.
SET LOCAL enable_mergejoin = off;
TRUNCATE collection, collection_tally CASCADE;
"""
# A thousand rows in turn go to all accounts; the kinds repeat after a prime number of rows, so that every account has
# every kind.
_ACCOUNT = f"CASE WHEN n * 617 % 1000 < 100 THEN 0 ELSE 1 + n * 617 % 1000 % {ACCOUNTS - 1} END"
_KIND = (
    f"CASE WHEN n * 48271 % 997 < 8 THEN {REVERSED} WHEN n * 48271 % 997 < 15 THEN {PENDING}"
    f" ELSE n * 48271 % 997 % {CREDITED} END"
)
# Numbers in their order, since an index that grows only at its end is written fast.
_OWN = {
    "id": "first_collection_id(moment) | (n & 4095)",
    "reference": "'col_' || lpad(n::text, 22, '0')",
    "transaction_id": "'sbx_' || lpad(n::text, 24, '0')",
    "remittance": "'Invoice ' || n",
    "valued_at": "moment",
    "created_at": "moment",
    "updated_at": "moment",
    "return_reference": "CASE WHEN return_reference IS NOT NULL THEN 'rt_' || lpad(n::text, 22, '0') END",
    "return_asked_at": "CASE WHEN return_reference IS NOT NULL THEN moment END",
    "return_confirmed_at": "CASE WHEN return_reference IS NOT NULL THEN moment + interval '1 minute' END",
}
# First by account and short span, then those once more: not every inflow four times. In the order of time, as the rows
# would have come.
_TALLY = """
WITH short AS MATERIALIZED (
    SELECT business_id, account_id, date_bin('6 hours', created_at, '2020-01-01 00:00+00') AS began_at,
           destination_currency, sum((status = 'pending')::int) AS pending, sum((status = 'failed')::int) AS failed,
           sum((status = 'successful')::int) AS successful, sum((status = 'reversed')::int) AS reversed
      FROM collection GROUP BY 1, 2, 3, 4)
INSERT INTO collection_tally (business_id, account_id, span, starts_at, destination_currency,
                              pending, successful, failed, reversed)
SELECT business_id, place.account_id, place.span, place.starts_at, destination_currency,
       sum(pending), sum(successful), sum(failed), sum(reversed)
  FROM short, tally_places(short.account_id, began_at) AS place
 GROUP BY 1, 2, 3, 4, 5 ORDER BY starts_at, business_id, account_id
"""


async def write_patterns(url: str, *, now: datetime) -> None:
    """Also notes whose the large account is, and the key of that business."""
    shops = await open_shops(url, [{"name": "Shop"}] * BUSINESSES)
    runtime = Runtime.of(Settings(database_url=url))
    async with runtime.open():
        opened = []
        for number in range(ACCOUNTS):
            currency = Currency.USD if number // BUSINESSES % 2 else Currency.EUR
            opened.append(await open_account(runtime, shops[number % BUSINESSES], currency))
    connection = await database.connect(url)
    try:
        async with connection.transaction():
            for number, account in enumerate(opened):
                await _record_kinds(connection, runtime, account, 10 * number, now=now)
        await connection.execute(_KEEP)
        owner = (shops[0].business_id, opened[0].id, shops[0].secret_key, now - SPAN)
        await connection.execute("INSERT INTO bench_owner VALUES ($1, $2, $3, $4)", *owner)
        rows = await connection.fetch("SELECT status FROM bench_pattern ORDER BY number")
    finally:
        await connection.close()
    if [row["status"] for row in rows] != [status for _, _, status in KINDS] * ACCOUNTS:
        raise BenchFailed("the name rule does not take the names of the patterns as foreseen")


async def open_account(runtime: Runtime, shop: Shop, currency: Currency) -> Account:
    now = SystemClock().now()
    wanted = Account(
        business_id=shop.business_id,
        id=ids.new_account_id(),
        currency=currency,
        settlement_currency=currency,
        account_type=AccountType.INDIVIDUAL,
        holder=HOLDER,
        created_at=now,
        updated_at=now,
    )
    asked = await accounts.request(runtime.db, wanted, by=OURSELVES, now=now)
    return await accounts.approve(runtime.deps, asked.id, by=OURSELVES, now=now)


async def _record_kinds(tx: Tx, runtime: Runtime, account: Account, first: int, *, now: datetime) -> None:
    assert account.details is not None
    number, terms = account.details.account_number, runtime.deps.inflow_terms
    snapshot = await store.find_account_snapshot(tx, account.rail or "", number)
    assert snapshot is not None
    for kind, (payer, payee, _) in enumerate(KINDS):
        amount = Money(1_250 + 37 * secrets.randbelow(1_000), account.currency)
        arrived = arrival(number, amount, payer=payer, payee=payee, now=now, remittance=str(first + kind))
        ref = NotificationRef(rail="sandbox", id=f"credit-{arrived.transaction_id}", body=b"")
        change = decide.on_arrival(snapshot, arrived, rail="sandbox", terms=terms, ref=ref, now=now)
        await store.record(tx, change, account_version=account.version)


async def load(connection: Any, rows: int, *, now: datetime) -> AsyncIterator[str]:
    """In the caller's transaction; says what it does next."""
    await connection.execute(_BEFORE)
    columns = await connection.fetchval(COLUMNS, "collection")
    for first in range(0, rows, BATCH):
        yield f"{first:,}"
        await connection.execute(
            f"INSERT INTO collection ({', '.join(columns)})"
            f" SELECT {', '.join(_OWN.get(name, name) for name in columns)}"
            f" FROM (SELECT n, 10 * ({_ACCOUNT}) + {_KIND} AS number, timestamptz '{now - SPAN:%Y-%m-%d %H:%M:%S+00}'"
            f" + trunc(n * {SPAN / timedelta(milliseconds=1) / rows}) * interval '1 millisecond' AS moment"
            f" FROM generate_series({first}::bigint, {min(first + BATCH, rows) - 1}) AS n) AS one"
            " JOIN bench_pattern USING (number)"
        )
    yield "tally"
    await connection.execute(_TALLY)
    found = await connection.fetchval(
        "SELECT sum(pending + successful + failed + reversed) FROM collection_tally"
        " WHERE account_id = '' AND span = '2 weeks'"
    )
    if found != rows:
        raise BenchFailed(f"{rows:,} inflows were to be loaded, and {found:,} were counted")
