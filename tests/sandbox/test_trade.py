"""A sample month of trade is made by the real engine: the books agree with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from build import Shop, order
from console.people import SignedInStaff
from dashboard.people import SignedInPerson
from tidegate import worker
from tidegate.console import work_store
from tidegate.core.clock import ShiftedClock, SystemClock
from tidegate.core.errors import Invalid
from tidegate.dashboard.roll_up import roll_up
from tidegate.merchant import commands as merchants
from tidegate.runtime import Runtime
from tidegate.sandbox import clock as sandbox_clock
from tidegate.sandbox.trade import PAYMENTS_OF_DAY, Trade

Tick = Callable[[], Awaitable[None]]


class LaterClock(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(minutes=1)


async def trade_of(runtime: Runtime, shop: Shop, tick: Tick) -> Trade:
    assert isinstance(runtime.clock, ShiftedClock)
    return Trade(runtime.deps, runtime.clock, await merchants.get(runtime.db, shop.business_id), tick)


async def test_a_week_of_trade_is_in_the_books(runtime: Runtime, shop: Shop, tick: Tick, admin: Any) -> None:
    trade = await trade_of(runtime, shop, tick)
    before = runtime.clock.now_of(shop.business_id)
    result = await trade.run(days=7)
    assert result.payments == sum(PAYMENTS_OF_DAY)
    rows = await admin.fetch("SELECT status, variance, created_at FROM payment ORDER BY id")
    ended = Counter((row["status"], row["variance"]) for row in rows)
    assert ended["success", None] == result.counts["paid"]
    assert ended["success", "underpayment"] == result.counts["underpaid"]
    assert ended["success", "overpayment"] == result.counts["overpaid"]
    assert not {status for status, _ in ended} & {"initiated", "pending", "processing"}, ended
    assert len({row["created_at"].date() for row in rows}) == 7
    assert all(row["created_at"] >= before for row in rows)
    assert result.counts["paid"] > 20
    assert await admin.fetchval("SELECT count(*) FROM refund") == result.counts["refunded"]
    assert await admin.fetchval("SELECT sum(settled_minor) FROM payment WHERE status = 'success'") > 0


async def test_the_overview_of_the_console_shows_the_trade(
    runtime: Runtime, shop: Shop, tick: Tick, operator: SignedInStaff, admin: Any
) -> None:
    """Its clock is a week ahead; the roll-up takes it up once it is half a minute old in real time."""
    await (await trade_of(runtime, shop, tick)).run(days=7)
    paid = await admin.fetchval("SELECT count(*) FROM journal WHERE kind = 'checkout_settled'")
    while (await roll_up(runtime.db, LaterClock())).done:
        pass
    assert await admin.fetchval("SELECT sum(payments) FROM takings") == paid
    page = (await operator.get()).text
    assert "Nothing was taken in the last 14 days" not in page
    async with runtime.db.connection() as tx:
        taken = await work_store.list_taken(tx, since=runtime.clock.now() - timedelta(days=14), days=14)
    received = await admin.fetchval("SELECT sum(received_minor) FROM takings")
    assert sum(sum(one.days) for one in taken) == received


async def test_trading_again_goes_on_where_it_ended(runtime: Runtime, shop: Shop, tick: Tick, admin: Any) -> None:
    trade = await trade_of(runtime, shop, tick)
    first, second = await trade.run(days=1), await trade.run(days=1)
    assert await admin.fetchval("SELECT count(*) FROM payment") == first.payments + second.payments


@pytest.mark.parametrize("days", [0, 91, -1])
async def test_so_many_days_are_refused(runtime: Runtime, shop: Shop, tick: Tick, days: int) -> None:
    with pytest.raises(Invalid):
        await (await trade_of(runtime, shop, tick)).run(days=days)


async def test_a_month_that_the_dashboard_asks_for_is_traded_day_by_day(
    owner: SignedInPerson, shop: Shop, runtime: Runtime, admin: Any
) -> None:
    assert (await owner.send("/sandbox/next", at="")).status_code == 409
    for _ in range(2):
        assert (await owner.send("/sandbox/trade", at="")).status_code == 303
    assert "0 days of 30 traded" in (await owner.get()).text
    [loop] = [loop for loop in worker.SANDBOX_LOOPS if loop.name == "trade_sample_days"]
    assert (await loop.round(runtime.deps, runtime.clock)).done == 1
    assert "1 day of 30 traded" in (await owner.get()).text
    assert await admin.fetchval("SELECT count(*) FROM payment") in PAYMENTS_OF_DAY
    # What cannot go on ends.
    await admin.execute("UPDATE business_clock SET ahead = '18250 days'")
    assert isinstance(runtime.clock, ShiftedClock)
    await sandbox_clock.catch_up(runtime.db, runtime.clock)
    assert (await loop.round(runtime.deps, runtime.clock)).done == 1
    assert (await loop.round(runtime.deps, runtime.clock)).done == 0


async def test_time_goes_to_when_something_happens_next(owner: SignedInPerson, shop: Shop, admin: Any) -> None:
    assert (await shop.create(order())).status_code == 201
    assert (await owner.send("/sandbox/next", at="")).status_code == 303
    ahead = await admin.fetchval("SELECT ahead FROM business_clock WHERE business_id = $1", shop.business_id)
    expires_at, created_at = await admin.fetchrow("SELECT expires_at, created_at FROM payment")
    assert timedelta(0) < expires_at - created_at - ahead < timedelta(minutes=5)
