"""Copies of patterns in bulk, as SQL: row `n` of so many follows from `n` alone, whatever the size.

A tenth of all rows belongs to the first account, the rest to the others in equal shares; about one in seventy did not
succeed. They lie evenly over a year that ends now, in the order of time, as they would have come.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from bench.inflow_patterns import ACCOUNTS, CREDITED, Patterns

BATCH = 100_000
SPAN = timedelta(days=365)

# The triggers count and check each row by itself; here both are done for all of them at once, or hold by construction.
_BEFORE = """
SET LOCAL session_replication_role = replica;
SET LOCAL maintenance_work_mem = '512MB';
SET LOCAL max_parallel_maintenance_workers = 2;
-- It would sort the rows, and they are to lie in the order of time.
SET LOCAL enable_mergejoin = off;
-- A table that is made anew in this transaction needs no log.
TRUNCATE collection, collection_tally CASCADE;
CREATE TABLE bench_owner (business_id text, account_id text, secret_key text, rows bigint);
CREATE TABLE bench_pattern (number bigint, LIKE collection);
"""
# By account and kind. What the bank took back is made from what is held, as the product would change it.
_KEEP = """
INSERT INTO bench_pattern
SELECT (n - 1) / $2 * 10 + (n - 1) % $2, (jsonb_populate_record(NULL::collection, pattern)).*
  FROM jsonb_array_elements($1) WITH ORDINALITY AS patterns (pattern, n)
"""
_KEEP_TAKEN_BACK = """
INSERT INTO bench_pattern
SELECT number / 10 * 10 + $1, (jsonb_populate_record(NULL::collection,
       to_jsonb(pattern) || '{"status": "failed", "reason": "taken_back"}')).*
  FROM bench_pattern AS pattern WHERE status = 'pending'
"""
_COLUMNS = """
SELECT attname FROM pg_attribute
 WHERE attrelid = 'collection'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
# A thousand rows in turn go to all accounts; the kinds repeat after a prime number of rows, so that every account has
# every kind.
_ACCOUNT = f"CASE WHEN n * 617 % 1000 < 100 THEN 0 ELSE 1 + n * 617 % 1000 % {ACCOUNTS - 1} END"
_CREDITED = len(CREDITED)
_PENDING, _REVERSED, _TAKEN_BACK = _CREDITED, _CREDITED + 1, _CREDITED + 2
_KIND = (
    f"CASE WHEN n * 48271 % 997 < 8 THEN {_REVERSED} WHEN n * 48271 % 997 < 13 THEN {_PENDING}"
    f" WHEN n * 48271 % 997 < 15 THEN {_TAKEN_BACK} ELSE n * 48271 % 997 % {_CREDITED} END"
)
_OWN = {
    "id": "first_collection_id(moment) | (n & 4095)",
    "reference": "'col_' || left(md5('reference ' || n), 22)",
    "transaction_id": "'sbx_' || left(md5('transaction ' || n), 24)",
    "remittance": "'Invoice ' || n",
    "valued_at": "moment",
    "created_at": "moment",
    "updated_at": "moment",
    "rate_quoted_at": "CASE WHEN rate IS NOT NULL THEN moment END",
    "return_reference": "CASE WHEN return_reference IS NOT NULL THEN 'rt_' || left(md5('return ' || n), 22) END",
    "return_asked_at": "CASE WHEN return_reference IS NOT NULL THEN moment END",
    "return_confirmed_at": "CASE WHEN return_reference IS NOT NULL THEN moment + interval '1 minute' END",
}
# The rule of collection_is_counted(). In two steps, since only the first is long, and PostgreSQL does it on all cores.
_COUNT = """
CREATE TEMPORARY TABLE counted ON COMMIT DROP AS
SELECT business_id, account_id, (created_at AT TIME ZONE 'UTC')::date AS day, destination_currency, status,
       count(*) AS count
  FROM collection GROUP BY 1, 2, 3, 4, 5
"""
_TALLY = """
INSERT INTO collection_tally (business_id, account_id, day, destination_currency, status, count)
SELECT business_id, coalesce(account_id, ''), coalesce(day, '-infinity'), destination_currency, status, sum(count)
  FROM counted
 GROUP BY business_id, destination_currency, status, GROUPING SETS ((account_id, day), (account_id), (day), ())
"""
# Keys with the indexes behind them, and keys of others that point to them.
_KEYS = """
SELECT conrelid::regclass::text AS of, conname AS name, pg_get_constraintdef(oid) AS definition, contype = 'f' AS points
  FROM pg_constraint
 WHERE (conrelid = 'collection'::regclass AND contype IN ('p', 'u')) OR confrelid = 'collection'::regclass
 ORDER BY points
"""
_INDEXES = """
SELECT indexname AS name, indexdef AS definition FROM pg_indexes
 WHERE tablename = 'collection' AND schemaname = current_schema()
   AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE conrelid = 'collection'::regclass)
"""


class Loading:
    """In the caller's transaction: `prepare`, every one of `batches`, every one of `steps_after`."""

    def __init__(self, connection: Any, *, rows: int, now: datetime) -> None:
        self._connection = connection
        self._rows = rows
        self._began_at = now - SPAN
        self._columns: list[str] = []

    async def prepare(self, patterns: Patterns) -> None:
        connection, owner = self._connection, patterns.owner
        await connection.execute(_BEFORE)
        await connection.execute(
            "INSERT INTO bench_owner VALUES ($1, $2, $3, $4)",
            owner.business_id, owner.account_id, owner.secret_key, self._rows,
        )  # fmt: skip
        kinds = len(patterns.rows) // ACCOUNTS
        await connection.execute(_KEEP, json.dumps(patterns.rows), kinds)
        await connection.execute(_KEEP_TAKEN_BACK, _TAKEN_BACK)
        await connection.execute("ANALYZE bench_pattern")
        self._columns = [row["attname"] for row in await connection.fetch(_COLUMNS)]
        self._keys = await connection.fetch(_KEYS)
        self._indexes = await connection.fetch(_INDEXES)
        for key in reversed(self._keys):
            await connection.execute(f"ALTER TABLE {key['of']} DROP CONSTRAINT {key['name']}")
        for index in self._indexes:
            await connection.execute(f"DROP INDEX {index['name']}")

    def batches(self) -> Iterator[range]:
        for first in range(0, self._rows, BATCH):
            yield range(first, min(first + BATCH, self._rows))

    async def load(self, batch: range) -> None:
        step = SPAN / timedelta(milliseconds=1) / self._rows
        await self._connection.execute(
            f"INSERT INTO collection ({', '.join(self._columns)})"
            f" SELECT {', '.join(_OWN.get(name, name) for name in self._columns)}"
            f" FROM (SELECT n, 10 * ({_ACCOUNT}) + {_KIND} AS number,"
            f" timestamptz '{self._began_at:%Y-%m-%d %H:%M:%S+00}' + trunc(n * {step}) * interval '1 millisecond'"
            f" AS moment FROM generate_series({batch.start}::bigint, {batch.stop - 1}) AS n) AS one"
            " JOIN bench_pattern USING (number)"
        )

    def steps_after(self) -> list[tuple[str, str]]:
        """What each is called, and its statement. The indexes are made again as the schema had them."""
        keys = [
            (row["name"], f"ALTER TABLE {row['of']} ADD CONSTRAINT {row['name']} {row['definition']}")
            for row in self._keys
        ]
        indexes = [(row["name"], row["definition"]) for row in self._indexes]
        return [*keys, *indexes, ("counting", _COUNT), ("tally", _TALLY)]
