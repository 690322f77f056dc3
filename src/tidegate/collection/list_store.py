"""SQL of lists of inflows, at the same cost for every page, and of their totals, from tallies."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import msgspec

from tidegate.collection.model import Collection, CollectionStatus
from tidegate.collection.store import collection_of
from tidegate.core.money import Currency
from tidegate.infra.db import Tx

_YEAR_2020 = datetime(2020, 1, 1, tzinfo=UTC)
_ID_MAX = 2**63 - 1
_FAR_AWAY = datetime(9999, 12, 31, tzinfo=UTC)
_DAY = timedelta(days=1)


class CollectionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """None is no filter. `start` is included, `end` is not."""

    account_id: str | None = None
    destination_currency: Currency | None = None
    status: CollectionStatus | None = None
    reference: str | None = None
    start: datetime | None = None
    end: datetime | None = None


def first_id_of(moment: datetime) -> int:
    """The smallest id of an inflow recorded at or after that moment; see new_collection_id."""
    since = moment - _YEAR_2020
    return max(-(-since // timedelta(milliseconds=1)), 0) << 12


async def list_page(
    tx: Tx, business_id: str, wanted: CollectionFilter, *, before_id: int | None, offset: int, limit: int
) -> list[Collection]:
    """The newest first."""
    end_id = first_id_of(wanted.end) if wanted.end else _ID_MAX
    rows = await tx.fetch(
        _STATEMENT_OF[_way_to(wanted)], business_id, wanted.account_id, wanted.destination_currency, wanted.status,
        wanted.reference, first_id_of(wanted.start) if wanted.start else 0,
        end_id if before_id is None else min(before_id, end_id), offset, limit,
    )  # fmt: skip
    return [collection_of(row) for row in rows]


def _way_to(wanted: CollectionFilter) -> str:
    """The statement whose index fits the filter, so that a few rows are found without reading all."""
    is_rare = wanted.status not in (None, CollectionStatus.SUCCESSFUL)
    if wanted.reference is not None:
        return "reference"
    if wanted.account_id is not None:
        return "account and rare status" if is_rare else "account"
    if is_rare:
        return "rare status"
    return "currency" if wanted.destination_currency is not None else "time"


# `(id, id) < ($7, $7)` is `id < $7`. For `id >= $6 AND id < $7` PostgreSQL estimates one row in 200, and would fetch
# and sort all rows instead of scanning the index. The tally is read first where there may be no row: otherwise all of
# an account's inflows would be read to find none in another currency.
_STATEMENT_OF = {
    "reference": """
        SELECT * FROM collection
         WHERE business_id = $1 AND reference = $5::text AND ($2::text IS NULL OR account_id = $2)
           AND ($3::text IS NULL OR destination_currency = $3) AND ($4::text IS NULL OR status = $4)
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "account and rare status": """
        SELECT * FROM collection
         WHERE business_id = $1 AND account_id = $2::text AND status = $4::text AND status <> 'successful'
           AND ($3::text IS NULL OR destination_currency = $3) AND $5::text IS NULL
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "account": """
        SELECT * FROM collection
         WHERE business_id = $1 AND account_id = $2::text AND ($3::text IS NULL OR destination_currency = $3)
           AND ($4::text IS NULL OR status = $4) AND $5::text IS NULL
           AND (($3::text IS NULL AND $4::text IS NULL)
                OR EXISTS (SELECT FROM collection_tally AS tally
                            WHERE tally.business_id = $1 AND tally.account_id = $2 AND tally.day = '-infinity'
                              AND ($3::text IS NULL OR tally.destination_currency = $3)
                              AND ($4::text IS NULL OR tally.status = $4) AND tally.count > 0))
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "rare status": """
        SELECT * FROM collection
         WHERE business_id = $1 AND status = $4::text AND status <> 'successful' AND $2::text IS NULL
           AND ($3::text IS NULL OR destination_currency = $3) AND $5::text IS NULL
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "currency": """
        SELECT * FROM collection
         WHERE business_id = $1 AND destination_currency = $3::text AND $2::text IS NULL
           AND ($4::text IS NULL OR status = $4) AND $5::text IS NULL
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "time": """
        SELECT * FROM collection
         WHERE business_id = $1 AND $2::text IS NULL AND $3::text IS NULL AND ($4::text IS NULL OR status = $4)
           AND $5::text IS NULL AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
}


async def total(tx: Tx, business_id: str, wanted: CollectionFilter) -> int:
    """Exact. Whole days come from the tally; only the parts of the first and last day are counted."""
    if wanted.reference is not None:
        return len(await list_page(tx, business_id, wanted, before_id=None, offset=0, limit=1))
    if wanted.start is None and wanted.end is None:
        return await _tallied(tx, business_id, wanted, None, None)
    start = wanted.start or _YEAR_2020
    end = wanted.end or _FAR_AWAY
    first_whole, last_whole = _day_from(start), end.date()
    if first_whole >= last_whole:
        return await _counted(tx, business_id, wanted, start, end)
    whole = await _tallied(tx, business_id, wanted, first_whole, last_whole)
    before = await _counted(tx, business_id, wanted, start, _midnight(first_whole))
    after = await _counted(tx, business_id, wanted, _midnight(last_whole), end)
    return before + whole + after


def _day_from(moment: datetime) -> date:
    """The first whole day from that moment on."""
    return moment.date() if moment.time() == time() else moment.date() + _DAY


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


async def _tallied(tx: Tx, business_id: str, wanted: CollectionFilter, start: date | None, end: date | None) -> int:
    """From `start` up to `end`, which is not included; without them, of all days."""
    return int(
        await tx.fetchval(
            """
            SELECT coalesce(sum(count), 0) FROM collection_tally
             WHERE business_id = $1 AND account_id = $2 AND ($3::text IS NULL OR destination_currency = $3)
               AND ($4::text IS NULL OR status = $4)
               AND day >= coalesce($5::date, '-infinity') AND day <= coalesce($6::date - 1, '-infinity')
            """,
            business_id, wanted.account_id or "", wanted.destination_currency, wanted.status, start, end,
        )
    )  # fmt: skip


async def _counted(tx: Tx, business_id: str, wanted: CollectionFilter, start: datetime, end: datetime) -> int:
    if start >= end:
        return 0
    return int(
        await tx.fetchval(
            _COUNT_OF[_counted_along(wanted)], business_id, wanted.account_id, wanted.destination_currency,
            wanted.status, first_id_of(start), first_id_of(end),
        )
    )  # fmt: skip


def _counted_along(wanted: CollectionFilter) -> str:
    """The statement whose index covers the filter, so that no row is read."""
    if wanted.status is not None or (wanted.account_id is not None and wanted.destination_currency is not None):
        return "rows"
    if wanted.account_id is not None:
        return "account"
    return "currency" if wanted.destination_currency is not None else "time"


_COUNT_OF = {
    "account": """
        SELECT count(*) FROM collection
         WHERE business_id = $1 AND account_id = $2::text AND id >= $5 AND id < $6
           AND $3::text IS NULL AND $4::text IS NULL
    """,
    "currency": """
        SELECT count(*) FROM collection
         WHERE business_id = $1 AND destination_currency = $3::text AND id >= $5 AND id < $6
           AND $2::text IS NULL AND $4::text IS NULL
    """,
    "time": """
        SELECT count(*) FROM collection
         WHERE business_id = $1 AND id >= $5 AND id < $6
           AND $2::text IS NULL AND $3::text IS NULL AND $4::text IS NULL
    """,
    "rows": """
        SELECT count(*) FROM collection
         WHERE business_id = $1 AND id >= $5 AND id < $6 AND ($2::text IS NULL OR account_id = $2)
           AND ($3::text IS NULL OR destination_currency = $3) AND ($4::text IS NULL OR status = $4)
    """,
}
