"""A sample month of trade is made by the real engine: the books agree with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from build import Shop, order
from console.people import SignedInStaff
from dashboard.people import SignedInPerson
from tidegate import worker
from tidegate.console import work_store
from tidegate.core.clock import ShiftedClock
from tidegate.core.errors import Invalid
from tidegate.dashboard.roll_up import RollUp
from tidegate.infra.egress import Egress
from tidegate.infra.telemetry import Meter
from tidegate.merchant import commands as merchants
from tidegate.runtime import Runtime
from tidegate.sandbox import clock as sandbox_clock
from tidegate.sandbox.trade import PAYMENTS_OF_DAY, Trade
from tidegate.webhook.deliver import Sender
from tidegate.webhook.field import delivery_id

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


async def test_the_overview_of_the_console_shows_the_trade(
    runtime: Runtime, shop: Shop, tick: Tick, operator: SignedInStaff, admin: Any
) -> None:
    """Its clock is a week ahead; the roll-up goes by the real time of the bookings."""
    await (await trade_of(runtime, shop, tick)).run(days=7)
    paid = await admin.fetchval("SELECT count(*) FROM journal WHERE kind = 'checkout_settled'")
    roll_up = RollUp(settled_s=0)
    while (await roll_up(runtime.db)).done:
        pass
    assert await admin.fetchval("SELECT sum(payments) FROM takings") == paid
    page = (await operator.get()).text
    assert "Nothing was taken by checkout in the last 14 days" not in page
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


async def send_due(sender: Sender) -> None:
    await sender.fan_out()
    while taken := await sender.take():
        await sender.finish([await sender.send(one) for one in taken])


async def test_the_sample_month_has_what_the_first_five_minutes_need(
    owner: SignedInPerson, shop: Shop, runtime: Runtime, admin: Any
) -> None:
    """Yesterday's overpaid payment, its excess still to be refunded, and a webhook that is taken once it is resent."""
    for _ in range(2):
        await owner.send("/sandbox/trade", at="")
    assert await admin.fetchval("SELECT count(*) FROM webhook_endpoint") == 1
    [loop] = [loop for loop in worker.SANDBOX_LOOPS if loop.name == "trade_sample_days"]
    deps = runtime.webhook_deps
    way_out = Egress(deps.guard)
    sender = Sender(runtime.db, way_out, deps.vault, runtime.clock, Meter())
    async with way_out.open():
        for _ in range(3):
            assert (await loop.round(runtime.deps, runtime.clock)).done == 1
            await send_due(sender)
        yesterday = runtime.clock.now_of(shop.business_id).date() - timedelta(days=1)
        found = await admin.fetch(
            "SELECT pay_code, reference, refunded_minor, received_minor > expected_minor AS is_over FROM payment"
            " WHERE reference LIKE 'SAMPLE-%-2' ORDER BY created_at"
        )
        assert [(row["is_over"], row["refunded_minor"] > 0) for row in found] == [
            (True, True), (True, False), (True, False),
        ]  # fmt: skip
        overpaid = found[1]
        assert f"{yesterday:%Y%m%d}" in overpaid["reference"]
        at = f"/payments/{overpaid['pay_code']}"
        assert (await owner.send(f"{at}/refund", at=at, what="excess")).status_code == 303
        rows = await admin.fetch("SELECT id, status, answer, reference FROM webhook_delivery WHERE answer = 5")
        assert {row["reference"] for row in rows} == {row["reference"] for row in found}
        assert await admin.fetchval("SELECT count(*) FROM webhook_delivery WHERE status = 'delivered'") > 5
        [failed] = [row["id"] for row in rows if row["reference"] == overpaid["reference"]]
        below = f"/webhooks/deliveries/{delivery_id(failed)}"
        assert "could not write this order" in (await owner.get(below)).text
        assert (await owner.send(f"{below}/resend", at=below)).status_code == 303
        await send_due(sender)
    assert await admin.fetchval("SELECT status FROM webhook_delivery WHERE id = $1", failed) == "delivered"


async def test_the_receiver_of_the_sandbox_knows_only_what_was_sent_to_the_business(client: httpx.AsyncClient) -> None:
    answer = await client.post("/sandbox/receiver/nobody", headers={"webhook-id": "evt_1"}, json={})
    assert answer.status_code == 404


async def test_a_business_with_an_endpoint_keeps_its_own(owner: SignedInPerson, admin: Any) -> None:
    await owner.send("/webhooks/endpoints", at="/webhooks", url="https://shop.example.com/hook")
    await owner.send("/sandbox/trade", at="")
    assert [row["url"] for row in await admin.fetch("SELECT url FROM webhook_endpoint")] == [
        "https://shop.example.com/hook"
    ]
