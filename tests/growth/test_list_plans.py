"""Lists of payments of one business with many: a page reads little, also when nothing fits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from tidegate.core.ids import Mode
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.dashboard import audit_store, home_store
from tidegate.dashboard.audit_store import AuditFilter
from tidegate.dashboard.home_store import HomeQuery
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.payment import list_store
from tidegate.payment.list_store import PaymentFilter
from tidegate.payment.model import PaymentStatus
from tidegate.payment.variance import Variance
from waiting import until

ROWS = 30_000
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
# A scan of all through an index reads ten times as many. A prefix that all have costs a look at 2,000 of them.
BLOCKS_MAX = 2_500

# Nine of ten are paid, most by card; the oldest hundred failed.
_PAYMENTS = """
    INSERT INTO payment (business_id, pay_code, reference, currency, asked_minor, expected_minor, received_minor,
                         fee_bearer, fee_rule_id, fee_minor, vat_minor, settled_minor, methods, default_method, method,
                         status, customer_name, customer_email, request_hash, paid_at, expires_at, created_at,
                         updated_at)
    SELECT $1, 'code-' || number, 'ORDER-' || number, 'NGN', 100 + number, 100 + number,
           CASE WHEN is_paid THEN 100 + number ELSE 0 END, 'business', 'rule',
           CASE WHEN is_paid THEN 0 END, CASE WHEN is_paid THEN 0 END, CASE WHEN is_paid THEN 100 + number END,
           '{card}', 'card', CASE WHEN is_paid THEN 'card' END,
           CASE WHEN is_paid THEN 'success' WHEN number <= 100 THEN 'failed' ELSE 'expired' END,
           'Ada ' || number % 5000, 'payer-' || number % 5000 || '@example.com', '', CASE WHEN is_paid THEN at END,
           at, at, at
      FROM generate_series(1, $2::integer) AS number,
           LATERAL (SELECT number > 100 AND number % 10 > 0 AS is_paid,
                           $3::timestamptz + number * interval '1 minute' AS at) AS given
"""


@pytest.fixture(scope="module")
async def grown(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[Any, Database, str]]:
    url = await make_database("tidegate_test_list_plans")
    # One connection, so that its statements have been planned for all values after a few calls.
    database = Database(url, connections_max=1)
    await database.open()
    new = await merchants.create(database, name="Grown", email="grown@example.com", mode=Mode.SANDBOX, now=NOW)
    admin = await asyncpg.connect(url)
    await admin.execute(_PAYMENTS, new.business.id, ROWS, NOW)
    await admin.execute("VACUUM ANALYZE")
    # Otherwise what the vacuum has read is counted at some later moment.
    await admin.execute("SELECT pg_stat_force_next_flush()")
    yield admin, database, new.business.id
    await admin.close()
    await database.close()


async def blocks_read(database: Database, business_id: str, wanted: PaymentFilter) -> tuple[int, int]:
    """Of the costliest of some calls in a row; and how many payments were found."""
    most = 0
    async with database.connection() as tx:
        for _ in range(7):
            before = await tx.fetchval(_BLOCKS)
            found = await list_store.list_counted(tx, business_id, wanted, before=None, limit=51, count_max=101)
            await tx.fetchval("SELECT pg_stat_force_next_flush()")
            most = max(most, await tx.fetchval(_BLOCKS) - before)
    return most, len(found.rows)


_BLOCKS = """
    SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit
      FROM pg_statio_user_tables WHERE relname = 'payment'
"""

EVERY_FILTER = {
    "all": (PaymentFilter(), 51),
    "a rare status": (PaymentFilter(status=PaymentStatus.FAILED), 51),
    "no such status": (PaymentFilter(status=PaymentStatus.PROCESSING), 0),
    "no such currency": (PaymentFilter(currency=Currency.KES), 0),
    "no such method": (PaymentFilter(method=Method.USSD), 0),
    "no such variance": (PaymentFilter(variance=Variance.UNDERPAYMENT), 0),
    "no variance at all": (PaymentFilter(is_unusual=True), 0),
    "nothing together": (PaymentFilter(status=PaymentStatus.SUCCESS, currency=Currency.UGX, method=Method.CARD), 0),
    "an address": (PaymentFilter(email="PAYER-7@example.com"), 6),
    "no such address": (PaymentFilter(email="nobody@example.com"), 0),
    "a reference": (PaymentFilter(reference_prefix="ORDER-2999"), 11),
    "no such reference": (PaymentFilter(reference_prefix="INV"), 0),
    "all references": (PaymentFilter(reference_prefix="ORDER"), 51),
    "a name": (PaymentFilter(name_prefix="ada 4711"), 6),
    "no such name": (PaymentFilter(name_prefix="Bola"), 0),
    "all names": (PaymentFilter(name_prefix="ada"), 51),
    "a reference or a name": (PaymentFilter(either_prefix="ORDER-29999"), 1),
    "no such amount": (PaymentFilter(currency=Currency.NGN, least_major=Decimal(10**7)), 0),
    "most amounts": (PaymentFilter(currency=Currency.NGN, least_major=Decimal("1.01")), 51),
    "no such amount in any currency": (PaymentFilter(least_major=Decimal(10**7)), 0),
    "few amounts in any currency": (PaymentFilter(most_major=Decimal("1.10")), 10),
    "the oldest": (PaymentFilter(end=NOW + timedelta(minutes=31)), 30),
    "no such day": (PaymentFilter(end=NOW, status=PaymentStatus.SUCCESS), 0),
}


@pytest.mark.parametrize("name", EVERY_FILTER)
async def test_a_page_and_its_count_read_little(grown: tuple[Any, Database, str], name: str) -> None:
    _, database, business_id = grown
    wanted, number = EVERY_FILTER[name]
    blocks, found = await blocks_read(database, business_id, wanted)
    assert (found, blocks < BLOCKS_MAX) == (number, True), blocks


COUNTED_ALONE = {
    "all": (PaymentFilter(), 10_001),
    "from a day on": (PaymentFilter(start=NOW + timedelta(minutes=1)), 10_001),
    "few days": (PaymentFilter(start=NOW + timedelta(minutes=101), end=NOW + timedelta(minutes=201)), 100),
    "a reference": (PaymentFilter(reference_prefix="ORDER"), 10_001),
    "an amount": (PaymentFilter(currency=Currency.NGN, least_major=Decimal("1.01")), 10_001),
    "an amount of nothing": (PaymentFilter(most_major=Decimal(0)), 0),
    "a name": (PaymentFilter(name_prefix="ada"), 10_001),
    "a reference or a name": (PaymentFilter(either_prefix="ada 4"), 6_666),
    "a reference, or a name that none has": (PaymentFilter(either_prefix="ORDER-2"), 10_001),
    "a status": (PaymentFilter(status=PaymentStatus.EXPIRED), 2_990),
    "a method": (PaymentFilter(method=Method.CARD), 10_001),
    "a status, method and currency of some days": (
        PaymentFilter(
            status=PaymentStatus.SUCCESS, method=Method.CARD, currency=Currency.NGN, start=NOW + timedelta(minutes=101),
            end=NOW + timedelta(minutes=201),
        ),
        90,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED_ALONE)
async def test_what_one_index_has_is_counted_without_its_rows(grown: tuple[Any, Database, str], name: str) -> None:
    admin, database, business_id = grown
    wanted, number = COUNTED_ALONE[name]
    await vacuum(admin)
    assert await rows_read(database, business_id, wanted) == (number, True)


async def test_what_has_both_the_reference_and_the_name_is_counted_once(grown: tuple[Any, Database, str]) -> None:
    admin, database, _ = grown
    new = await merchants.create(database, name="Both", email="b@example.com", mode=Mode.SANDBOX, now=NOW)
    await admin.execute(_PAYMENTS.replace("'code-'", "'both-'"), new.business.id, 100, NOW)
    # ORDER-1 and ORDER-10 to ORDER-19, of which two are also called so, as are three others.
    await admin.execute(
        "UPDATE payment SET customer_name = 'Order-1 Ltd' WHERE business_id = $1 AND reference = ANY ($2::text[])",
        new.business.id, ["ORDER-11", "ORDER-12", "ORDER-53", "ORDER-54", "ORDER-55"],
    )  # fmt: skip
    async with database.connection() as tx:
        for most, number in ((10_001, 15), (14, 14), (3, 3)):
            for prefix in ("ORDER-1", "order-1"):
                wanted = PaymentFilter(either_prefix=prefix)
                found = await list_store.count(tx, new.business.id, wanted, limit=most)
                # A reference is looked for in its own letter case, a name in any.
                assert found == (number if prefix == "ORDER-1" else min(most, 5)), (prefix, most)


async def test_what_was_overpaid_is_counted_without_its_rows(grown: tuple[Any, Database, str]) -> None:
    admin, database, _ = grown
    new = await merchants.create(database, name="Unusual", email="u@example.com", mode=Mode.SANDBOX, now=NOW)
    await admin.execute(_PAYMENTS.replace("'code-'", "'unusual-'"), new.business.id, 12_000, NOW)
    await admin.execute(
        "UPDATE payment SET variance = 'overpayment' WHERE business_id = $1 AND status = 'success'", new.business.id
    )
    await vacuum(admin)
    of_a_day = timedelta(minutes=1_440)
    for wanted, number in (
        (PaymentFilter(variance=Variance.OVERPAYMENT), 10_001),
        (PaymentFilter(is_unusual=True, currency=Currency.NGN, method=Method.CARD), 10_001),
        (PaymentFilter(is_unusual=True, start=NOW + of_a_day, end=NOW + 2 * of_a_day), 1_296),
        (PaymentFilter(variance=Variance.UNDERPAYMENT), 0),
        (PaymentFilter(is_unusual=True, status=PaymentStatus.FAILED), 0),
    ):
        assert await rows_read(database, new.business.id, wanted) == (number, True), wanted


async def vacuum(admin: Any) -> None:
    """Until every row is known to be seen by all: a statement that runs meanwhile keeps the newest from it."""

    async def is_visible() -> bool:
        await admin.execute("VACUUM ANALYZE payment")
        await admin.execute("SELECT pg_stat_force_next_flush()")
        return bool(await admin.fetchval("SELECT relallvisible = relpages FROM pg_class WHERE relname = 'payment'"))

    await until(is_visible)


async def rows_read(database: Database, business_id: str, wanted: PaymentFilter) -> tuple[int, bool]:
    """How many there are, and whether few blocks of the table were read for it."""
    async with database.connection() as tx:
        for _ in range(7):
            before = await tx.fetchval(_BLOCKS_OF_ROWS)
            found = await list_store.list_counted(tx, business_id, wanted, before=None, limit=1, count_max=10_001)
            await tx.fetchval("SELECT pg_stat_force_next_flush()")
            blocks = await tx.fetchval(_BLOCKS_OF_ROWS) - before
    return found.number, blocks < 50


_BLOCKS_OF_ROWS = "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'payment'"


async def test_home_reads_little(grown: tuple[Any, Database, str]) -> None:
    _, database, business_id = grown
    now = NOW + timedelta(minutes=ROWS)
    query = HomeQuery(
        business_id=business_id, bounds=[now - timedelta(days=day) for day in range(14, 0, -1)],
        today=now - timedelta(hours=12), now=now, newest=6, unusual=3,
        since=now - timedelta(days=7),
    )  # fmt: skip
    async with database.connection() as tx:
        before = await tx.fetchval(_BLOCKS)
        for _ in range(7):
            found = await home_store.get_home(tx, query)
        await tx.fetchval("SELECT pg_stat_force_next_flush()")
        blocks = (await tx.fetchval(_BLOCKS) - before) / 7
    assert len(found.newest) == 6
    assert sum(found.unpaid.values()) == 73
    assert blocks < BLOCKS_MAX / 5, blocks


async def test_home_counts_what_was_overpaid_among_many_that_were_refunded(grown: tuple[Any, Database, str]) -> None:
    admin, database, _ = grown
    new = await merchants.create(database, name="Overpaid", email="o@example.com", mode=Mode.SANDBOX, now=NOW)
    await admin.execute(_PAYMENTS.replace("'code-'", "'over-'"), new.business.id, 9_000, NOW)
    # Only the oldest are left.
    await admin.execute(
        """
        UPDATE payment SET variance = 'overpayment', refunded_minor = CASE WHEN id - first <= 150 THEN 0 ELSE 1 END
          FROM (SELECT min(id) AS first FROM payment WHERE business_id = $1) AS known
         WHERE business_id = $1 AND status = 'success'
        """,
        new.business.id,
    )
    await admin.execute("VACUUM ANALYZE payment")
    now = NOW + timedelta(minutes=9_000)
    query = HomeQuery(
        business_id=new.business.id, bounds=[now - timedelta(days=1), now], today=now, now=now, newest=6, unusual=3,
        since=now - timedelta(days=7),
    )  # fmt: skip
    async with database.connection() as tx:
        before = await tx.fetchval(_BLOCKS)
        for _ in range(7):
            found = await home_store.get_home(tx, query)
        await tx.fetchval("SELECT pg_stat_force_next_flush()")
        blocks = (await tx.fetchval(_BLOCKS) - before) / 7
    assert [(one.number, len(one.newest)) for one in found.unusual] == [(46, 3), (0, 0)]
    assert blocks < BLOCKS_MAX / 5, blocks


async def test_a_page_of_the_audit_log_reads_little_also_when_nothing_fits(grown: tuple[Any, Database, str]) -> None:
    admin, database, business_id = grown
    await admin.execute(
        """
        INSERT INTO audit (business_id, actor, action, subject, created_at)
        SELECT $1, 'key/1', 'refund.started', 'rf_' || number, $2 FROM generate_series(1, 20000) AS number
        """,
        business_id, NOW,
    )  # fmt: skip
    await admin.execute("VACUUM ANALYZE audit")
    async with database.connection() as tx:
        for wanted, number in ((AuditFilter(), 51), (AuditFilter(actions=("team.role", "team.invited")), 0)):
            before = await tx.fetchval(_BLOCKS_OF_AUDIT)
            found = await audit_store.list_page(tx, business_id, wanted, before_id=None, limit=51)
            await tx.fetchval("SELECT pg_stat_force_next_flush()")
            blocks = await tx.fetchval(_BLOCKS_OF_AUDIT) - before
            assert (len(found), blocks < BLOCKS_MAX / 5) == (number, True), blocks


_BLOCKS_OF_AUDIT = """
    SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit
      FROM pg_statio_user_tables WHERE relname = 'audit'
"""
