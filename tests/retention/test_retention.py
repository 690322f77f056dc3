"""Rows leave at their age, in small batches, and nothing that is still needed does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest

from build import Shop
from retention.leaving import ALL_KINDS, DAYS, FIFTY_DAYS, Leaving
from settable_clock import SettableClock
from tidegate.core.clock import SystemClock
from tidegate.infra.db import Database
from tidegate.retention import commands, store
from tidegate.retention.commands import Sweep
from tidegate.retention_settings import RetentionDays
from tidegate.runtime import Runtime

MINUTE = timedelta(minutes=1)
AGE = timedelta(days=DAYS)
# A page takes milliseconds; this is a machine that does much else.


@pytest.fixture
def now() -> datetime:
    return SystemClock().now()


@pytest.fixture
async def leaving(shop: Shop, runtime: Runtime, admin: Any) -> Leaving:
    return await Leaving.of(shop.business_id, runtime, admin)


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_each_kind_leaves_at_its_age_and_not_before(leaving: Leaving, now: datetime, kind: str) -> None:
    await leaving.make(kind, "old", now - AGE - MINUTE)
    await leaving.make(kind, "young", now - AGE + MINUTE)
    clock = SettableClock(now)
    assert await leaving.sweep(kind, clock) == 1
    assert await leaving.count(kind) == 1
    assert await leaving.sweep(kind, clock) == 0
    clock.advance(2 * MINUTE)
    assert await leaving.sweep(kind, clock) == 1
    assert await leaving.count(kind) == 0


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_a_kind_that_is_kept_for_ever_stays(leaving: Leaving, now: datetime, kind: str) -> None:
    await leaving.make(kind, "old", now - timedelta(days=5_000))
    kept = replace(leaving.deps, retention=RetentionDays(
        notifications=0, bank_files=0, webhook_attempts=0, events=0, idempotency_keys=0, mails=0, requests=0,
        failed_requests=0, sandbox=0,
    ))  # fmt: skip
    assert await Sweep(ALL_KINDS[kind])(kept, SettableClock(now)) == (0, 0)
    assert await leaving.count(kind) == 1


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_the_service_cannot_remove_what_is_younger_than_the_minimum(
    leaving: Leaving, now: datetime, kind: str
) -> None:
    least: timedelta = await leaving.admin.fetchval("SELECT kept_at_least($1)", kind)
    await leaving.make(kind, "fresh", now)
    await leaving.make(kind, "young", now - least + MINUTE)
    ever = now + timedelta(days=5_000)
    async with leaving.db.connection() as tx:
        rows = await ALL_KINDS[kind].list_old(tx, ever, store.START, limit=10)
        assert len(rows) == 2
        for row in rows:
            assert await ALL_KINDS[kind].remove(tx, row.owner, [row.id], ever) == 0
    assert await leaving.count(kind) == 2


async def test_the_service_deletes_only_through_the_functions(db: Database) -> None:
    async with db.connection() as tx:
        for statement in (
            "DELETE FROM notification",
            "DELETE FROM event",
            "DELETE FROM webhook_delivery",
            "DELETE FROM webhook_attempt",
            "DELETE FROM idempotency_key",
            "DELETE FROM audit",
            "DELETE FROM request_log",
            "UPDATE request_log SET status = 200",
            "DELETE FROM retention",
            "SELECT note_removal('events', now(), 9223372036854775807)",
            "UPDATE retention SET removed_before = now()",
            "UPDATE event SET payload = ''",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await tx.execute(statement)


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_what_the_service_removes_is_counted_whatever_it_does_then(
    leaving: Leaving, now: datetime, kind: str
) -> None:
    for name in ("a", "b"):
        await leaving.make(kind, name, now - 2 * AGE)
    ever = now + timedelta(days=5_000)
    async with leaving.db.connection() as tx:
        for row in await ALL_KINDS[kind].list_old(tx, now - AGE, store.START, limit=10):
            assert await ALL_KINDS[kind].remove(tx, row.owner, [row.id], ever) == 1
    known = await leaving.admin.fetchrow("SELECT kind, count, removed_before < now() AS is_past FROM retention")
    assert tuple(known) == (kind, 2, True)
    await leaving.admin.execute("UPDATE retention SET day = day - 1")
    async with leaving.db.connection() as tx:
        for _ in range(2):
            await store.end_day(tx, kind)
    details = await leaving.admin.fetch("SELECT details ->> 'count' AS count FROM audit WHERE subject = $1", kind)
    assert [row["count"] for row in details] == ["2"]
    assert await leaving.admin.fetchval("SELECT count FROM retention") == 0


async def test_what_is_said_to_be_gone_is_no_younger_than_the_minimum(leaving: Leaving, now: datetime) -> None:
    await leaving.make("events", "old", now - AGE)
    async with leaving.db.connection() as tx:
        assert await store.remove_events(tx, leaving.business_id, ["old"], now) == 1
    assert await leaving.admin.fetchval("SELECT removed_before < now() - interval '29 days' FROM retention")


async def test_in_live_mode_a_clock_that_is_ahead_makes_nothing_old(leaving: Leaving, now: datetime) -> None:
    admin = leaving.admin
    await leaving.make("events", "fresh", now)
    await admin.execute("INSERT INTO business_clock VALUES ($1, '10 years')", leaving.business_id)
    await admin.execute("UPDATE deployment SET mode = 'live'")
    try:
        assert await leaving.sweep("events", SettableClock(now)) == 0
    finally:
        await admin.execute("UPDATE deployment SET mode = 'sandbox'")
    assert await leaving.sweep("events", SettableClock(now)) == 1


async def test_an_undelivered_or_parked_event_stays(leaving: Leaving, now: datetime) -> None:
    long_ago = now - 3 * AGE
    for name in ("pending", "parked", "new", "done"):
        await leaving.make("events", name, long_ago)
    await leaving.admin.execute(
        "UPDATE webhook_delivery SET status = 'pending', due_at = created_at WHERE event_id = 'pending'"
    )
    await leaving.admin.execute(
        """
        INSERT INTO leased_work (business_id, kind, id, next_try_at, failures, last_error, parked_at)
        SELECT business_id, 'deliver_webhooks', id::text, 'infinity', 20, 'broken', now() FROM webhook_delivery
         WHERE event_id = 'parked'
        """
    )
    await leaving.admin.execute("UPDATE event SET is_fanned_out = false WHERE id = 'new'")
    assert await leaving.sweep("events", SettableClock(now)) == 1
    rows = await leaving.admin.fetch("SELECT id FROM event ORDER BY id")
    assert [row["id"] for row in rows] == ["new", "parked", "pending"]
    assert await leaving.admin.fetchval("SELECT count(*) FROM webhook_delivery") == 3


async def test_a_notification_in_suspense_or_quarantine_stays(leaving: Leaving, now: datetime) -> None:
    for state in ("done", "suspense", "quarantined"):
        await leaving.make("notifications", state, now - 3 * AGE)
        await leaving.admin.execute("UPDATE notification SET state = id WHERE id = $1", state)
    assert await leaving.sweep("notifications", SettableClock(now)) == 1
    assert await leaving.count("notifications") == 2


async def test_notifications_of_many_ids_leave_once_with_several_workers_at_work(
    leaving: Leaving, now: datetime
) -> None:
    for number in range(40):
        await leaving.make("notifications", f"notice-{number}", now - 3 * AGE)
    clock = SettableClock(now)
    removed = await asyncio.gather(*(leaving.sweep("notifications", clock) for _ in range(3)))
    removed.append(await leaving.sweep("notifications", clock))
    assert sum(removed) == 40
    assert await leaving.count("notifications") == 0
    assert await leaving.admin.fetchval("SELECT count FROM retention WHERE kind = 'notifications'") == 40


async def test_the_sandbox_keeps_what_has_not_ended(leaving: Leaving, now: datetime) -> None:
    admin, long_ago = leaving.admin, now - 3 * AGE
    for kind in ("sandbox_notifications", "sandbox_attempts", "sandbox_payouts"):
        await leaving.make(kind, "open", long_ago)
    await admin.execute("UPDATE sandbox_notification SET sent_at = NULL")
    await admin.execute(
        """
        WITH asked AS (
            INSERT INTO payment (business_id, pay_code, reference, status, currency, asked_minor, expected_minor,
                                 fee_bearer, fee_rule_id, methods, default_method, customer_name, customer_email,
                                 request_hash, expires_at, created_at, updated_at)
            VALUES ($1, 'P', 'P', 'processing', 'NGN', 100, 100, 'business', 'rule', '{card}', 'card', 'Ada',
                    'ada@example.com', '', $2, $2, $2)
            RETURNING id)
        INSERT INTO attempt (business_id, payment_id, number, reference, rail, method, status, expected_minor,
                             fee_rule_id, next_poll_at, created_at, updated_at)
        SELECT $1, id, 1, 'open', 'sandbox', 'card', 'running', 100, 'rule', $2, $2, $2 FROM asked
        """,
        leaving.business_id, long_ago,
    )  # fmt: skip
    await admin.execute(
        """
        INSERT INTO money_return (business_id, reference, rail, transaction_id, currency, amount_minor, reason,
                                  next_try_at, asked_at)
        VALUES ($1, 'open', 'sandbox', 'in', 'NGN', 100, 'excess', $2, $2)
        """,
        leaving.business_id, long_ago,
    )  # fmt: skip
    for kind in ("sandbox_notifications", "sandbox_attempts", "sandbox_payouts"):
        assert await leaving.sweep(kind, SettableClock(now)) == 0
        assert await leaving.count(kind) == 1
    await admin.execute("UPDATE sandbox_notification SET sent_at = created_at")
    await admin.execute("UPDATE attempt SET status = 'failed', next_poll_at = NULL")
    await admin.execute("UPDATE payment SET status = 'failed'")
    await admin.execute("UPDATE money_return SET status = 'confirmed'")
    for kind in ("sandbox_notifications", "sandbox_attempts", "sandbox_payouts"):
        assert await leaving.sweep(kind, SettableClock(now)) == 1


async def test_rows_that_stay_do_not_keep_the_others_behind_them(
    leaving: Leaving, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "PAGE", 3)
    monkeypatch.setattr(commands, "PAGES_MAX", 2)
    for number in range(20):
        await leaving.make("events", f"stays-{number}", now - 3 * AGE)
    await leaving.admin.execute("UPDATE webhook_delivery SET status = 'pending', due_at = created_at")
    for number in range(5):
        await leaving.make("events", f"leaves-{number}", now - 2 * AGE)
    sweep = Sweep(ALL_KINDS["events"])
    rounds = [(await sweep(leaving.deps, SettableClock(now))).done for _ in range(12)]
    assert sum(rounds) == 5
    assert await leaving.count("events") == 20


async def test_many_old_rows_leave_page_by_page(leaving: Leaving, now: datetime) -> None:
    many = 5 * commands.PAGE
    await leaving.admin.execute(
        """
        INSERT INTO notification (rail, id, state, body, received_at)
        SELECT 'sandbox', 'n-' || number, 'done', decode(repeat('ab', 200), 'hex'),
               $1::timestamptz + (number / 100) * interval '1 second'
          FROM generate_series(1, $2::integer) AS number
        """,
        now - 3 * AGE, many,
    )  # fmt: skip
    sweep, pages, removed = Sweep(ALL_KINDS["notifications"]), 0, 0
    while True:
        count, is_last = await sweep.remove_page(leaving.db, before=now - AGE)
        pages, removed = pages + 1, removed + count
        assert count <= commands.PAGE
        if is_last:
            break
    assert (removed, pages) == (many, many // commands.PAGE + 1)
    assert await leaving.count("notifications") == 0


async def test_two_workers_at_once_remove_each_row_once(leaving: Leaving, now: datetime) -> None:
    many = 3_000
    await leaving.admin.execute(
        """
        INSERT INTO idempotency_key (business_id, key, request_hash, status, body, created_at)
        SELECT $1, 'k-' || number, '', 200, '{}', $2 FROM generate_series(1, $3::integer) AS number
        """,
        leaving.business_id, now - 2 * AGE, many,
    )  # fmt: skip
    first, second = await asyncio.gather(
        *(leaving.sweep("idempotency_keys", SettableClock(now)) for _ in range(2))
    )  # fmt: skip
    left = await leaving.count("idempotency_keys")
    # A worker passes over what the other one holds; the next sweep finds what was then left behind.
    assert first + second + left == many
    assert await leaving.sweep("idempotency_keys", SettableClock(now)) == left
    counted = await leaving.admin.fetchval("SELECT count FROM retention WHERE kind = 'idempotency_keys'")
    assert counted == many


async def test_a_row_that_is_locked_is_passed_over(leaving: Leaving, now: datetime, database_url: str) -> None:
    for name in ("held", "free"):
        await leaving.make("events", name, now - 2 * AGE)
    other = await asyncpg.connect(database_url)
    try:
        async with other.transaction():
            await other.execute(
                "SELECT FROM webhook_delivery WHERE business_id = $1 AND event_id = 'held' FOR UPDATE",
                leaving.business_id,
            )
            assert await leaving.sweep("events", SettableClock(now)) == 1
            assert await leaving.count("events") == 1
    finally:
        await other.close()
    assert await leaving.sweep("events", SettableClock(now)) == 1


async def test_a_day_leaves_one_audit_row_for_each_kind(leaving: Leaving, now: datetime) -> None:
    clock = SettableClock(now)
    for name in ("a", "b", "c"):
        await leaving.make("events", name, now - 2 * AGE)
        await leaving.make("idempotency_keys", name, now - 2 * AGE)
        await leaving.sweep("events", clock)
    await leaving.sweep("idempotency_keys", clock)
    question = "SELECT actor, subject, details ->> 'count' AS count FROM audit WHERE action = 'retention.removed'"
    assert await leaving.admin.fetch(question) == []
    await leaving.admin.execute("UPDATE retention SET day = day - 1")
    for _ in range(2):
        for kind in ALL_KINDS:
            await leaving.sweep(kind, clock)
    rows = await leaving.admin.fetch(question + " ORDER BY subject")
    assert [tuple(row) for row in rows] == [("tidegate", "events", "3"), ("tidegate", "idempotency_keys", "3")]


INDEXES = {
    "notifications": "notification_by_age",
    "bank_files": "bank_file_by_age",
    "webhook_attempts": "webhook_attempt_by_age",
    "events": "event_by_age",
    "idempotency_keys": "idempotency_key_by_age",
    "mails": "mail_by_age",
    "requests": "request_log_by_age",
    "failed_requests": "request_log_of_errors_by_age",
    "sandbox_notifications": "sandbox_notification_by_age",
    "sandbox_attempts": "sandbox_attempt_by_age",
    "sandbox_payouts": "sandbox_payout_by_age",
}


@pytest.mark.one_server("each node has a plan of its own")
@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_old_rows_are_found_by_an_index_on_age(leaving: Leaving, now: datetime, kind: str) -> None:
    class Explaining:
        """Takes the statement of the list and gives its plan."""

        plan = ""

        async def fetch(self, query: str, *arguments: Any) -> list[Any]:
            async with leaving.admin.transaction():
                # The tables of a test are small; these choices are those for large ones.
                await leaving.admin.execute("SET LOCAL enable_seqscan = off")
                await leaving.admin.execute("SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
                await leaving.admin.execute("SET LOCAL plan_cache_mode = force_generic_plan")
                rows = await leaving.admin.fetch(f"EXPLAIN {query}", *arguments)
            self.plan = "\n".join(row[0] for row in rows)
            return []

    tx: Any = Explaining()
    await ALL_KINDS[kind].list_old(tx, now, store.START, limit=commands.PAGE)
    assert f"using {INDEXES[kind]}" in tx.plan, tx.plan
    condition = next(line for line in tx.plan.splitlines() if "Index Cond" in line)
    # Both ends of the page.
    assert "<" in condition, tx.plan
    assert ">=" in condition, tx.plan


def test_every_kind_has_a_setting_and_a_default() -> None:
    for kind in ALL_KINDS.values():
        assert kind.days(FIFTY_DAYS) == DAYS
        assert kind.days(RetentionDays()) > 0
