"""A sample month of trade is made by the real engine: the books agree with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from build import Shop
from tidegate.core.clock import ShiftedClock
from tidegate.core.errors import Invalid
from tidegate.merchant import commands as merchants
from tidegate.runtime import Runtime
from tidegate.sandbox.trade import PAYMENTS_OF_DAY, Trade

Tick = Callable[[], Awaitable[None]]


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


async def test_trading_again_goes_on_where_it_ended(runtime: Runtime, shop: Shop, tick: Tick, admin: Any) -> None:
    trade = await trade_of(runtime, shop, tick)
    first, second = await trade.run(days=1), await trade.run(days=1)
    assert await admin.fetchval("SELECT count(*) FROM payment") == first.payments + second.payments


@pytest.mark.parametrize("days", [0, 91, -1])
async def test_so_many_days_are_refused(runtime: Runtime, shop: Shop, tick: Tick, days: int) -> None:
    with pytest.raises(Invalid):
        await (await trade_of(runtime, shop, tick)).run(days=days)
