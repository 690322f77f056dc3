"""SQL of lists of inflows, at the same cost for every page, and of their totals, from tallies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from tidegate.account.name_verdict import NameVerdict
from tidegate.collection.model import Collection, CollectionStatus
from tidegate.collection.store import collection_of
from tidegate.core.money import Currency
from tidegate.infra.db import Tx

_YEAR_2020 = datetime(2020, 1, 1, tzinfo=UTC)
_ID_MAX = 2**63 - 1
_FAR_AWAY = datetime(9999, 12, 31, tzinfo=UTC)


class CollectionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """None is no filter. `start` is included, `end` is not."""

    account_id: str | None = None
    destination_currency: Currency | None = None
    status: CollectionStatus | None = None
    reference: str | None = None
    verdict: NameVerdict | None = None
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
        end_id if before_id is None else min(before_id, end_id), offset, limit, wanted.verdict,
    )  # fmt: skip
    return [collection_of(row) for row in rows]


class ReturnPosition(NamedTuple):
    """Where a page of inflows that were sent back ended."""

    asked_at: datetime
    id: int


async def list_returned(
    tx: Tx, business_id: str, wanted: CollectionFilter, *, before: ReturnPosition | None, limit: int
) -> list[Collection]:
    """Those that were sent back, the newest of it first: `start` and `end` are bounds of when. No reference filters."""
    # No id is 0, so this is the position just before all that was sent back at the end or later.
    end = ReturnPosition(wanted.end or _FAR_AWAY, 0)
    rows = await tx.fetch(
        _RETURNED, business_id, wanted.account_id, wanted.destination_currency, wanted.status, wanted.verdict,
        wanted.start or _YEAR_2020, *min(end, before or end), limit,
    )  # fmt: skip
    return [collection_of(row) for row in rows]


_RETURNED = """
    SELECT * FROM collection
     WHERE business_id = $1 AND ($2::text IS NULL OR account_id = $2)
       AND ($3::text IS NULL OR destination_currency = $3) AND ($4::text IS NULL OR status = $4)
       AND ($5::text IS NULL OR name_check ->> 'verdict' = $5)
       AND return_asked_at >= $6 AND (return_asked_at, id) < ($7, $8)
     ORDER BY return_asked_at DESC, id DESC LIMIT $9
"""


def _way_to(wanted: CollectionFilter) -> str:
    """The statement whose index fits the filter, so that a few rows are found without reading all."""
    is_rare = wanted.status not in (None, CollectionStatus.SUCCESSFUL)
    if wanted.reference is not None:
        return "reference"
    # Of those that are held there are fewest.
    if wanted.verdict not in (None, NameVerdict.EXACT) and wanted.status is not CollectionStatus.PENDING:
        return "rare verdict" if wanted.account_id is None else "account and rare verdict"
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
           AND ($10::text IS NULL OR name_check ->> 'verdict' = $10)
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "account and rare status": """
        SELECT * FROM collection
         WHERE business_id = $1 AND account_id = $2::text AND status = $4::text AND status <> 'successful'
           AND ($3::text IS NULL OR destination_currency = $3) AND $5::text IS NULL
           AND ($10::text IS NULL OR name_check ->> 'verdict' = $10)
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "account": """
        SELECT * FROM collection
         WHERE business_id = $1 AND account_id = $2::text AND ($3::text IS NULL OR destination_currency = $3)
           AND ($4::text IS NULL OR status = $4) AND $5::text IS NULL
           AND (($3::text IS NULL AND $4::text IS NULL)
                OR EXISTS (SELECT FROM collection_tally AS tally
                            WHERE tally.business_id = $1 AND tally.account_id = $2 AND tally.span = '2 weeks'
                              AND ($3::text IS NULL OR tally.destination_currency = $3)
                              AND CASE $4 WHEN 'pending' THEN pending WHEN 'successful' THEN successful
                                          WHEN 'failed' THEN failed WHEN 'reversed' THEN reversed
                                          ELSE pending + successful + failed + reversed END > 0))
           AND ($10::text IS NULL OR name_check ->> 'verdict' = $10)
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "rare status": """
        SELECT * FROM collection
         WHERE business_id = $1 AND status = $4::text AND status <> 'successful' AND $2::text IS NULL
           AND ($3::text IS NULL OR destination_currency = $3) AND $5::text IS NULL
           AND ($10::text IS NULL OR name_check ->> 'verdict' = $10)
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "account and rare verdict": """
        SELECT * FROM collection
         WHERE business_id = $1 AND account_id = $2::text AND name_check ->> 'verdict' = $10::text
           AND name_check ->> 'verdict' <> 'exact' AND ($3::text IS NULL OR destination_currency = $3)
           AND ($4::text IS NULL OR status = $4) AND $5::text IS NULL
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "rare verdict": """
        SELECT * FROM collection
         WHERE business_id = $1 AND name_check ->> 'verdict' = $10::text AND name_check ->> 'verdict' <> 'exact'
           AND $2::text IS NULL AND ($3::text IS NULL OR destination_currency = $3)
           AND ($4::text IS NULL OR status = $4) AND $5::text IS NULL
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "currency": """
        SELECT * FROM collection
         WHERE business_id = $1 AND destination_currency = $3::text AND $2::text IS NULL
           AND ($4::text IS NULL OR status = $4) AND $5::text IS NULL
           AND ($10::text IS NULL OR name_check ->> 'verdict' = $10)
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
    "time": """
        SELECT * FROM collection
         WHERE business_id = $1 AND $2::text IS NULL AND $3::text IS NULL AND ($4::text IS NULL OR status = $4)
           AND $5::text IS NULL AND ($10::text IS NULL OR name_check ->> 'verdict' = $10)
           AND id >= $6 AND (id, id) < ($7, $7) ORDER BY id DESC OFFSET $8 LIMIT $9
    """,
}


async def total(tx: Tx, business_id: str, wanted: CollectionFilter) -> int:
    """Exact; the verdict does not filter here."""
    if wanted.reference is not None:
        return len(await list_page(tx, business_id, wanted, before_id=None, offset=0, limit=1))
    found = await tx.fetchval(
        "SELECT count_inflows($1, $2, $3, $4, $5, $6)",
        business_id, wanted.account_id, wanted.destination_currency, wanted.status, wanted.start, wanted.end,
    )  # fmt: skip
    return int(found)
