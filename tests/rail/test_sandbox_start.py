"""One attempt per reference, and notices that wait to be sent: what must hold for every method."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from rail.world import (
    NOW,
    PAYER,
    PLAIN,
    SECRET,
    WITH_3DS,
    WITH_PIN,
    World,
    card,
    later,
    make_world,
    phone,
    transfer_means,
)
from settable_clock import SettableClock
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import LEASE
from tidegate.rail.event import RawNotification
from tidegate.rail.instrument import Bank, PaymentInstrument, Pin
from tidegate.rail.interface import NotificationRefused, Rail, StartAttempt
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.sandbox.begin import INSTRUMENT_OF
from tidegate.rail.state import Running, Succeeded

EVERY_MEANS: list[PaymentInstrument] = [
    card(PLAIN),
    card(WITH_PIN),
    card(WITH_3DS),
    card("4111111111111111"),
    phone("0000"),
    phone("0002"),
    phone("0004"),
    phone("9999"),
    Bank("058"),
    transfer_means(),
]


@pytest.fixture
async def world(db: Database) -> World:
    return await make_world(db)


def test_it_offers_the_whole_matrix(open_db: Database) -> None:
    rail: Rail = SandboxRail(open_db, SECRET)
    assert rail.name == "sandbox"
    assert set(INSTRUMENT_OF) == set(Method)
    for currency in Currency:
        for method in Method:
            assert rail.capabilities.offers(method, Money(1, currency)) == (method in currency.spec.methods)
    assert not rail.capabilities.offers(Method.CARD, Money(0, Currency.NGN))
    assert rail.capabilities.offers(Method.CARD, Money(10**12, Currency.NGN))
    assert not rail.capabilities.offers(Method.CARD, Money(10**12 + 1, Currency.NGN))


def test_a_short_secret_is_refused(open_db: Database) -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        SandboxRail(open_db, b"short")


@pytest.mark.parametrize("instrument", EVERY_MEANS, ids=lambda instrument: type(instrument).__name__)
async def test_ten_starts_at_once_are_one_attempt_with_one_answer(
    world: World, instrument: PaymentInstrument, admin: Any
) -> None:
    order = world.order(instrument)
    first, *others = await asyncio.gather(*(world.rail.start(order, now=NOW) for _ in range(10)))
    assert others == [first] * 9
    assert await world.rail.start(order, now=later(seconds=1)) == first
    assert await admin.fetchval("SELECT count(*) FROM sandbox_attempt") == 1
    assert len(await world.notifications(later(days=1))) <= 1


async def test_the_first_start_decides(world: World) -> None:
    first = await world.rail.start(world.order(phone("0000"), reference="one"), now=NOW)
    assert await world.rail.start(world.order(phone("0004"), reference="one"), now=NOW) == first


async def test_a_start_after_the_end_says_how_it_ended(world: World) -> None:
    order = world.order(card(WITH_PIN))
    await world.rail.start(order, now=NOW)
    ended = await world.rail.authorize(world.business_id, order.reference, Pin("1234"), now=NOW)
    assert isinstance(ended, Succeeded)
    assert await world.rail.start(order, now=NOW) == ended


async def test_means_of_another_method_are_a_mistake_of_ours(world: World) -> None:
    order = StartAttempt(
        business_id=world.business_id,
        reference="one",
        method=Method.USSD,
        amount=Money.of_major(1, Currency.NGN),
        instrument=phone("0000"),
        payer=PAYER,
        return_url="",
    )
    with pytest.raises(ValueError, match="not paid by Phone"):
        await world.rail.start(order, now=NOW)


async def test_another_process_knows_all_of_it(world: World, db: Database) -> None:
    order = world.order(phone("0000"))
    assert await world.rail.start(order, now=NOW) == Running()
    elsewhere = SandboxRail(db, SECRET)
    [notification] = await replace(world, rail=elsewhere).notifications()
    assert notification.event.state == await elsewhere.poll(world.business_id, order.reference, now=NOW)  # type: ignore[union-attr]


async def test_a_notice_is_sent_once_when_all_goes_well(world: World) -> None:
    await world.rail.start(world.order(phone("0000")), now=NOW)
    assert len(await world.sent()) == 1
    assert await world.sent(later(days=1)) == []


async def test_a_notice_whose_sender_died_is_due_again(world: World) -> None:
    await world.rail.start(world.order(phone("0000")), now=NOW)
    first: list[RawNotification] = []

    async def die(_: Lease, raw: RawNotification) -> None:
        first.append(raw)
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await world.rail.send_notifications(die, SettableClock(NOW))
    assert await world.sent(NOW + LEASE / 2) == []
    [second] = await world.sent(NOW + LEASE)
    assert second.body == first[0].body


async def test_a_notice_is_signed_when_it_is_sent(world: World) -> None:
    await world.rail.start(world.order(phone("0000")), now=NOW)
    [late] = await world.sent(later(days=3))
    assert len(await world.rail.read(late, now=later(days=3))) == 1
    with pytest.raises(NotificationRefused):
        await world.rail.read(late, now=NOW)


async def test_two_workers_share_the_notices(world: World) -> None:
    for _ in range(20):
        await world.send("9000000001", Money(1, Currency.NGN))
    sent = [raw.body for some in await asyncio.gather(*(world.sent() for _ in range(8))) for raw in some]
    assert len(sent) == len(set(sent)) == 20


async def test_the_oldest_notice_goes_first(world: World) -> None:
    await world.send("9000000001", Money(2, Currency.NGN), now=later(seconds=2))
    await world.send("9000000001", Money(1, Currency.NGN), now=later(seconds=1))
    notifications = await world.notifications(later(seconds=3))
    assert [one.event.amount.minor for one in notifications] == [1, 2]  # type: ignore[union-attr]


async def test_a_business_is_forgotten_without_the_others(world: World, db: Database, admin: Any) -> None:
    other = await make_world(db)
    for each in (world, other):
        await each.rail.start(each.order(card(PLAIN)), now=NOW)
    await world.rail.forget(world.business_id)
    for table in ("sandbox_attempt", "sandbox_notification"):
        owners = [row["business_id"] for row in await admin.fetch(f"SELECT business_id FROM {table}")]
        assert owners == [other.business_id]
