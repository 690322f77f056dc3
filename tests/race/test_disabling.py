"""A link is disabled, or its time ended, while somebody pays: one is first, and nothing is lost or begun in between."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from build import Checkout
from conftest import MakeCheckout
from race.test_settlement import arrival, arrive
from tidegate.core.errors import Conflict
from tidegate.core.method import Method
from tidegate.infra.db import Tx
from tidegate.payment import commands, pay, store, transition
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import Payment
from tidegate.rail.instrument import TransferInstrument
from tidegate.runtime import Runtime
from tidegate.sandbox import store as sandbox_store
from tidegate.sandbox.simulator import Simulator

ROUNDS = 6
PARTS = 9


async def seen_by_payer(runtime: Runtime, checkout: Checkout) -> PaymentSnapshot:
    return await pay.view(runtime.db, checkout.shop.business_id, checkout.pay_code)


async def disable(runtime: Runtime, checkout: Checkout) -> Payment:
    business = (await seen_by_payer(runtime, checkout)).business
    return await commands.set_disabled(
        runtime.db, business, checkout.reference, is_disabled=True, now=runtime.clock.now()
    )


async def charge(runtime: Runtime, checkout: Checkout, seen: PaymentSnapshot) -> PaymentSnapshot:
    now = runtime.clock.now()
    payer = pay.Payer(runtime.deps, checkout.shop.business_id, checkout.pay_code, "http://localhost", now)
    return await pay.charge(payer, seen, Method.BANK_TRANSFER, TransferInstrument("Shop", now), {})


async def test_nothing_begins_on_what_was_seen_before_the_link_was_disabled(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout()
    seen = await seen_by_payer(runtime, checkout)
    await disable(runtime, checkout)
    with pytest.raises(Conflict):
        await charge(runtime, checkout, seen)
    assert await admin.fetchval("SELECT count(*) FROM attempt") == 0


async def test_twin_without_a_moved_version_an_attempt_begins_on_a_disabled_link(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write_without_moving(tx: Tx, payment: Payment, *, now: datetime) -> Payment:
        await tx.execute("UPDATE payment SET is_disabled = true WHERE id = $1", payment.id)
        return payment

    monkeypatch.setattr(store, "set_disabled", write_without_moving)
    checkout = await new_checkout()
    seen = await seen_by_payer(runtime, checkout)
    await disable(runtime, checkout)
    await charge(runtime, checkout, seen)
    assert (await checkout.record())["isDisabled"] is True
    assert await admin.fetchval("SELECT count(*) FROM attempt") == 1, "the payer began after the merchant said no"


async def test_what_was_decided_on_a_payment_that_was_paid_meanwhile_is_not_written(
    new_checkout: MakeCheckout, runtime: Runtime
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    before = (await seen_by_payer(runtime, checkout)).payment
    await arrive(runtime, account, arrival())
    paid, now = await checkout.view(), runtime.clock.now()
    async with runtime.db.connection() as tx:
        assert await store.set_disabled(tx, transition.disable(before, is_disabled=True), now=now) is None
        assert await sandbox_store.end_session(tx, before, now=now) is False
    assert await checkout.view() == paid


async def test_parts_that_arrive_while_a_link_is_disabled_all_count(
    new_checkout: MakeCheckout, runtime: Runtime
) -> None:
    for _ in range(ROUNDS):
        checkout = await new_checkout(settings={"variance_policy": "top_up"})
        account = await checkout.account()
        await asyncio.gather(
            arrive(runtime, account, *(arrival(1_000) for _ in range(PARTS))), disable(runtime, checkout)
        )
        record = await checkout.record()
        assert (record["isDisabled"], record["amountReceived"], record["status"]) == (True, 10 * PARTS, "pending")


async def test_money_that_settles_while_a_link_is_disabled_settles_once(
    new_checkout: MakeCheckout, runtime: Runtime
) -> None:
    for _ in range(ROUNDS):
        checkout = await new_checkout()
        account = await checkout.account()
        results = await asyncio.gather(
            disable(runtime, checkout), arrive(runtime, account, arrival()), return_exceptions=True
        )
        is_refused = isinstance(results[0], Conflict)
        record = await checkout.record()
        assert (record["status"], record["isDisabled"]) == ("success", not is_refused)


async def test_parts_that_arrive_while_the_time_ends_are_kept_or_go_back(
    new_checkout: MakeCheckout, runtime: Runtime
) -> None:
    """That no minor unit is lost is checked by the books after the test."""
    for _ in range(ROUNDS):
        checkout = await new_checkout(settings={"variance_policy": "top_up"})
        account = await checkout.account()
        simulator = Simulator(runtime.deps)
        await asyncio.gather(
            arrive(runtime, account, *(arrival(1_000) for _ in range(PARTS))),
            simulator.expire(checkout.shop.business_id, checkout.pay_code, now=runtime.clock.now()),
        )
        await checkout.tick()
        view = await checkout.view()
        assert (view["status"], view["amountReceived"], view["amountReturned"]) == ("expired", 0, 10 * PARTS)
