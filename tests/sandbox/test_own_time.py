"""Each business of a sandbox has a time and rates of its own: what one does with them changes nothing for another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from build import Shop, roll_secret_key
from conftest import MakeCheckout, MakeShop
from inflow import CLOSE, Inflows, credit
from receiver import Receiver, answer, receiving
from tidegate.core.money import Currency
from tidegate.infra.egress import Egress
from tidegate.infra.telemetry import Meter
from tidegate.runtime import Runtime
from tidegate.sandbox import store
from tidegate.webhook.deliver import Sender


@pytest.fixture
async def other(inflows: Inflows, new_shop: MakeShop) -> Inflows:
    """Another merchant of the same sandbox."""
    return replace(inflows, shop=await new_shop(rate_per_second=100_000, rate_burst=100_000))


async def test_a_payment_ends_by_the_time_of_its_own_business(new_checkout: MakeCheckout) -> None:
    one, other = await new_checkout(), await new_checkout()
    await other.account()
    await one.let_pass("3h")
    assert (await one.record())["status"] == "expired"
    assert (await other.record())["status"] == "pending"
    later = await new_checkout(one.shop)
    ends_at = (await later.view())["expiresAt"]
    assert ends_at > (await other.view())["expiresAt"], "what the first creates now is three hours ahead"


async def test_the_time_of_one_business_is_not_that_of_another(inflows: Inflows, other: Inflows) -> None:
    await inflows.let_pass("3h")
    seen = [(await one.call("GET", "/sandbox/clock")).json()["data"]["aheadSeconds"] for one in (inflows, other)]
    assert seen == [3 * 3600, 0]
    await inflows.call("POST", "/sandbox/reset")
    kept = (await inflows.call("GET", "/sandbox/clock")).json()["data"]["aheadSeconds"]
    assert kept == 3 * 3600, "an emptied sandbox keeps its time: it never goes back"


async def test_an_account_ends_by_the_time_of_its_own_business(inflows: Inflows, other: Inflows, admin: Any) -> None:
    ends_at = inflows.now + timedelta(hours=1)
    ids = [(await one.account(expires_at=ends_at)).id for one in (inflows, other)]
    await inflows.let_pass("3h")
    stored = [await admin.fetchval("SELECT status FROM virtual_account WHERE id = $1", id_) for id_ in ids]
    assert stored == ["expired", "approved"]


async def test_a_held_inflow_goes_back_by_the_time_of_its_own_business(inflows: Inflows, other: Inflows) -> None:
    held = [(one, await one.notified(credit(await one.number(), payeeName=CLOSE))) for one in (inflows, other)]
    await inflows.let_pass("73h")
    assert [(await one.get(inflow["reference"]))["status"] for one, inflow in held] == ["reversed", "pending"]


async def test_money_that_arrives_is_judged_by_the_time_of_the_business_it_is_for(
    new_checkout: MakeCheckout,
) -> None:
    one, other = await new_checkout(), await new_checkout()
    account = await other.account()
    await one.let_pass("3h")
    # Sent by the first, whose time is past the end of the other's payment.
    await one.transfer(account, "100")
    assert (await other.record())["status"] == "success"


async def test_a_delayed_transfer_arrives_by_the_time_of_the_business_that_sent_it(new_checkout: MakeCheckout) -> None:
    one, other = await new_checkout(), await new_checkout()
    await other.transfer(await other.account(), "100", delay="20m")
    await one.let_pass("3h")
    assert (await other.record())["status"] == "pending"
    await other.let_pass("20m")
    assert (await other.record())["status"] == "success"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


async def deliver(runtime: Runtime) -> None:
    way_out = Egress(runtime.webhook_deps.guard)
    sender = Sender(runtime.db, way_out, runtime.webhook_deps.vault, runtime.clock, Meter())
    async with way_out.open():
        await sender.fan_out()
        while deliveries := await sender.take():
            await sender.finish(list(await asyncio.gather(*map(sender.send, deliveries))))


async def test_a_webhook_is_sent_again_by_the_time_of_its_own_business(
    inflows: Inflows, other: Inflows, receiver: Receiver
) -> None:
    receiver.behaviour = answer(500)
    for one in (inflows, other):
        await one.call("POST", "/webhooks/endpoints", {"url": receiver.url("/hook")})
        await one.notified(credit(await one.number()))
    await deliver(inflows.runtime)
    await inflows.let_pass("3h")
    await deliver(inflows.runtime)
    listed = [(await one.call("GET", "/webhooks/deliveries")).json()["data"]["results"] for one in (inflows, other)]
    assert [[one["attemptsMade"] for one in results] for results in listed] == [[2], [1]]


async def test_a_business_whose_clock_is_ahead_gets_its_notifications_at_once(
    inflows: Inflows, receiver: Receiver
) -> None:
    await inflows.let_pass("300d")
    await inflows.call("POST", "/webhooks/endpoints", {"url": receiver.url("/hook")})
    await inflows.notified(credit(await inflows.number()))
    await deliver(inflows.runtime)
    [sent] = (await inflows.call("GET", "/webhooks/deliveries")).json()["data"]["results"]
    assert (sent["status"], sent["attemptsMade"]) == ("delivered", 1)


async def test_a_rolled_key_works_until_the_time_of_its_own_business(new_shop: MakeShop, runtime: Runtime) -> None:
    shops = [await new_shop(), await new_shop()]
    for shop in shops:
        await roll_secret_key(runtime.db, shop.business_id, overlap=timedelta(hours=1), now=runtime.clock.now())

    async def status(shop: Shop) -> int:
        return (await shop.client.get("/sandbox/clock", headers={"api-key": shop.secret_key})).status_code

    assert [await status(shop) for shop in shops] == [200, 200]
    one, _ = shops
    await one.client.post("/sandbox/clock", json={"advance": "3h"}, headers={"api-key": one.secret_key})
    assert [await status(shop) for shop in shops] == [401, 200]


async def test_a_rate_that_a_business_sets_counts_for_itself_only(inflows: Inflows, other: Inflows, admin: Any) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.5", quoted_at=inflows.now - timedelta(minutes=1))
    numbers = [await one.number(Currency.EUR, Currency.USD) for one in (inflows, other)]
    set_ = await inflows.call("POST", "/sandbox/rates", {"base": "EUR", "quote": "USD", "rate": 2})
    assert set_.status_code == 201, set_.text
    rates = [
        (await one.notified(credit(number)))["exchange"]["rate"]
        for one, number in zip((inflows, other), numbers, strict=True)
    ]
    assert rates == [2, 1.5]
    audited = await admin.fetchval("SELECT business_id FROM audit WHERE action = 'rate.set'")
    assert audited == inflows.shop.business_id


async def test_the_operator_s_rate_is_of_the_time_that_the_business_had_then(inflows: Inflows, admin: Any) -> None:
    """A merchant whose clock is a month ahead can use what the operator sets today, also after its own older rate; and
    what passes for the merchant makes it old."""
    number = await inflows.number(Currency.EUR, Currency.USD)
    await inflows.let_pass("30d")
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.5")
    inflow = await inflows.notified(credit(number))
    assert inflow["exchange"]["rate"] == 1.5
    quoted_at = datetime.fromisoformat(inflow["exchange"]["quotedAt"])
    assert timedelta(0) <= datetime.fromisoformat(inflow["createdAt"]) - quoted_at < timedelta(hours=1)
    await inflows.call("POST", "/sandbox/rates", {"base": "EUR", "quote": "USD", "rate": 2})
    assert (await inflows.notified(credit(number)))["exchange"]["rate"] == 2
    await inflows.set_rate(Currency.EUR, Currency.USD, "2.5")
    assert (await inflows.notified(credit(number)))["exchange"]["rate"] == 2.5
    for _ in range(store.MOVES_KEPT + 2):
        await inflows.call("POST", "/sandbox/clock", {"advance": "1s"})
    assert (await inflows.notified(credit(number)))["status"] == "pending", "it was set before the moves that are known"
    kept = await admin.fetchrow("SELECT cardinality(moved_at), moved_to[100] = ahead FROM business_clock")
    assert tuple(kept) == (store.MOVES_KEPT, True)
    await inflows.set_rate(Currency.EUR, Currency.USD, "3.5")
    assert (await inflows.notified(credit(number)))["exchange"]["rate"] == 3.5
    await inflows.let_pass("30m")
    assert (await inflows.notified(credit(number)))["exchange"]["rate"] == 3.5
    await inflows.let_pass("31m")
    assert "too old" in (await inflows.notified(credit(number)))["reason"]


async def test_the_newest_rate_counts_whether_it_is_ones_own_or_everybodys(inflows: Inflows) -> None:
    number = await inflows.number(Currency.EUR, Currency.USD)
    await inflows.call("POST", "/sandbox/rates", {"base": "EUR", "quote": "USD", "rate": 2})
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.5", quoted_at=inflows.now + timedelta(seconds=1))
    assert (await inflows.notified(credit(number)))["exchange"]["rate"] == 1.5
