"""The runner of background work itself, with work that the tests make up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from ledger.booking import new_business
from settable_clock import SettableClock
from tidegate.infra import lease_store, leased_work
from tidegate.infra.db import Database, Tx
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import (
    FAILURES_MAX,
    FORGOTTEN_AFTER,
    LEASE,
    PAUSE_MAX,
    PAUSE_MIN,
    DueRow,
    LeaseLost,
    RoundResult,
    WorkKind,
    next_try_at,
    run_round,
)

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


def kind_of(business_id: str, ids: Iterable[object], at_once_max: int = 4) -> WorkKind:
    """These rows are due for ever, unless something holds them back."""
    names = [str(one) for one in ids]

    async def list_due(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
        rows = await tx.fetch("SELECT id FROM leased_work WHERE next_try_at > $1", now)
        held = {row["id"] for row in rows}
        return [DueRow(business_id, name) for name in names if name not in held][:limit]

    return WorkKind("made_up", list_due, at_once_max)


def test_pauses_grow_up_to_an_hour_and_end() -> None:
    pauses = [next_try_at(failures, now=NOW) for failures in range(1, FAILURES_MAX)]
    assert [pause and pause - NOW for pause in pauses] == [
        min(PAUSE_MIN * 2**n, PAUSE_MAX) for n in range(FAILURES_MAX - 1)
    ]
    assert pauses[-1] == NOW + timedelta(hours=1)
    assert next_try_at(FAILURES_MAX, now=NOW) is None


async def test_each_row_has_its_own_time_and_no_more_than_the_limit_run_at_once(db: Database) -> None:
    clock, running, most, times = SettableClock(NOW), 0, 0, []

    async def work(_: Lease, now: datetime) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        times.append(now)
        clock.advance(timedelta(seconds=1))
        await asyncio.sleep(0)
        running -= 1
        return 1

    kind = kind_of(await new_business(db), range(20), at_once_max=3)
    assert await run_round(db, kind, work, clock) == RoundResult(done=20)
    assert (most, sorted(times)) == (3, [NOW + timedelta(seconds=n) for n in range(20)])


async def test_a_slow_row_lets_the_others_pass(db: Database) -> None:
    others, done = asyncio.Event(), []

    async def work(lease: Lease, _: datetime) -> int:
        if lease.id == "0":
            await others.wait()
        done.append(lease.id)
        if len(done) == 19:
            others.set()
        return 1

    async with asyncio.timeout(60):
        await run_round(db, kind_of(await new_business(db), range(20), 2), work, SettableClock(NOW))
    assert done[-1] == "0"


async def test_many_workers_work_on_each_row_once(db: Database) -> None:
    seen: list[str] = []

    async def work(lease: Lease, _: datetime) -> int:
        seen.append(lease.id)
        await asyncio.sleep(0.05)
        return 1

    kind = kind_of(await new_business(db), range(30))
    tallies = await asyncio.gather(*(run_round(db, kind, work, SettableClock(NOW)) for _ in range(4)))
    assert sum(tally.done for tally in tallies) == len(seen) >= 30
    assert len(set(seen)) == 30


async def test_a_holder_that_lost_the_lease_writes_and_ends_nothing(db: Database, admin: Any) -> None:
    business_id, clock = await new_business(db), SettableClock(NOW)
    kind = kind_of(business_id, ["row"])

    async def slow(lease: Lease, _: datetime) -> int:
        async with db.connection() as tx:
            later = NOW + LEASE
            [heir] = await lease_store.claim(
                tx, kind.name, [(business_id, "row")], token="heir", now=later, lease_until=later + LEASE
            )
        async with leased_work.writing(db, heir):
            pass
        async with leased_work.writing(db, lease) as tx:
            await tx.execute("DELETE FROM leased_work")
        return 1

    assert await run_round(db, kind, slow, clock) == RoundResult()
    assert await admin.fetchval("SELECT lease_token FROM leased_work") == "heir"
    with pytest.raises(LeaseLost):
        async with leased_work.writing(db, Lease(business_id, kind.name, "row", "zombie")):
            pytest.fail("nothing may be written here")


async def test_work_that_never_ends_fails_when_its_lease_does(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_work, "LEASE", timedelta(milliseconds=50))

    async def hang(lease: Lease, _: datetime) -> int:
        return 1 if lease.id == "good" else await asyncio.Event().wait()

    with capture_logs():
        kind = kind_of(await new_business(db), ["hung", "good"])
        assert await run_round(db, kind, hang, SettableClock(NOW)) == RoundResult(done=1, failed=1)


@pytest.mark.parametrize("text", ["plain", "no \0 text", "half \ud800 of a character", "long" * 1_000])
async def test_any_error_can_be_written_down(db: Database, admin: Any, text: str) -> None:
    async def fail(_: Lease, __: datetime) -> int:
        raise ValueError(text)

    with capture_logs():
        kind = kind_of(await new_business(db), ["row"])
        assert await run_round(db, kind, fail, SettableClock(NOW)) == RoundResult(failed=1)
    error = await admin.fetchval("SELECT last_error FROM leased_work")
    assert error.startswith(f"ValueError: {text[:3]}")
    assert len(error) <= leased_work.ERROR_CHARS_MAX


async def test_what_is_not_due_any_more_is_forgotten_after_a_day_but_not_what_is_parked(
    db: Database, admin: Any
) -> None:
    business_id = await new_business(db)
    rows = [("leased", 0, NOW, None), ("failed", 1, NOW, None), ("parked", 9, None, NOW)]
    for name, failures, moment, parked_at in rows:
        await admin.execute(
            """
            INSERT INTO leased_work (business_id, kind, id, failures, last_error, parked_at, next_try_at)
            VALUES ($1, 'made_up', $2, $3, CASE WHEN $3 > 0 THEN 'x' END, $4::timestamptz,
                    CASE WHEN $4 IS NULL THEN $5::timestamptz ELSE 'infinity' END)
            """,
            business_id, name, failures, parked_at, moment,
        )  # fmt: skip
    assert await leased_work.purge(db, now=NOW + FORGOTTEN_AFTER) == 0
    assert await leased_work.purge(db, now=NOW + FORGOTTEN_AFTER + timedelta(seconds=1)) == 2
    assert await admin.fetchval("SELECT id FROM leased_work") == "parked"
