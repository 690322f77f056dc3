"""What was sent back, or failed, in the last days is found among all that ever was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from growth.test_plans import BLOCKS_MAX, NOW, ROWS, add_inflows, blocks_read, plan_of
from tidegate.collection import list_store as inflow_list
from tidegate.collection.list_store import CollectionFilter
from tidegate.core.ids import Mode
from tidegate.dashboard import refund_store
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.refund.list_store import RefundFilter
from tidegate.refund.model import RefundStatus

# An hour apart, the last one now; each but the oldest hundred.
_RETURNS = """
    UPDATE collection SET status = 'reversed', reason = 'name_differs', return_reference = 'rt_' || id,
                          return_asked_at = $2::timestamptz - ($3 - id) * interval '1 hour'
     WHERE business_id = $1 AND id > 100
"""
# Every other one failed. Those that begin last end first, so that neither order serves for the other.
_REFUNDS = """
    INSERT INTO refund (business_id, reference, collection_id, currency, amount_minor, status, initiated_at,
                        completed_at)
    SELECT $1, 'rf_' || number, number, 'EUR', 1, CASE number % 2 WHEN 1 THEN 'failed' ELSE 'successful' END,
           $2::timestamptz + (number - $3) * interval '1 hour', $2::timestamptz - number * interval '1 hour'
      FROM generate_series(1, $3::integer) AS number
"""


@pytest.fixture(scope="module")
async def grown(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[Any, Database, str]]:
    url = await make_database("tidegate_test_week_plans")
    database = Database(url)
    await database.open()
    new = await merchants.create(database, name="Grown", email="grown@example.com", mode=Mode.SANDBOX, now=NOW)
    admin = await asyncpg.connect(url)
    await add_inflows(admin, new.business.id)
    await admin.execute(_RETURNS, new.business.id, NOW, ROWS)
    await admin.execute(_REFUNDS, new.business.id, NOW, ROWS)
    await admin.execute("VACUUM ANALYZE")
    yield admin, database, new.business.id
    await admin.close()
    await database.close()


async def test_what_was_sent_back_in_a_day_is_read_alone(grown: tuple[Any, Database, str]) -> None:
    admin, database, business_id = grown
    wanted = CollectionFilter(start=NOW - timedelta(hours=24))
    async with database.connection() as tx:
        found = await inflow_list.list_returned(tx, business_id, wanted, before=None, limit=51)
    assert [one.id for one in found] == list(range(ROWS, ROWS - 25, -1))
    values = (business_id, None, None, None, None, wanted.start, NOW + timedelta(days=1), 0, 51)
    assert await blocks_read(admin, inflow_list._RETURNED, *values) < BLOCKS_MAX


@pytest.mark.parametrize(
    ("status", "first", "index"),
    [
        (RefundStatus.FAILED, 1, "refund_failed"),
        (RefundStatus.SUCCESSFUL, ROWS, "refund_by_time"),
        (None, ROWS, "refund_by_time"),
    ],
)
async def test_refunds_of_a_day_are_found_by_their_index(
    grown: tuple[Any, Database, str], status: RefundStatus | None, first: int, index: str
) -> None:
    admin, database, business_id = grown
    wanted = RefundFilter(status=status, start=NOW - timedelta(hours=24))
    async with database.connection() as tx:
        found = await refund_store.list_page(tx, business_id, wanted, before=None, limit=51)
    assert found[0].view.refund.reference == f"rf_{first}"
    values = (business_id, status, None, wanted.start, NOW + timedelta(days=1), 0, 51, None)
    async with admin.transaction():
        await admin.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        plan = await plan_of(admin, refund_store._PAGE, *values)
    assert any(f"using {index}" in line for line in plan), plan
    assert not any("Seq Scan on refund" in line for line in plan), plan
