"""A bank reverses a credit: notified once, in one form, before or after the credit itself."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from rail.world import NOW, World, later, make_world
from tidegate.core.errors import NotFound
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.rail.event import CreditReversed, MoneyArrived
from tidegate.rail.sandbox.rail import REVERSED_BECAUSE

IBAN = "DE89370400440532013000"
FIFTY = Money(50_25, Currency.EUR)


@pytest.fixture
async def world(db: Database) -> World:
    return await make_world(db)


async def test_a_reversal_says_what_it_undoes(world: World) -> None:
    sent = await world.send(IBAN, FIFTY)
    taken = await world.take_back(sent, "sent twice")
    credit, reversal = await world.notifications()
    assert isinstance(credit.event, MoneyArrived)
    assert (
        reversal.event
        == taken
        == CreditReversed(
            account_number=IBAN,
            transaction_id=sent,
            reversal_id=taken.reversal_id,
            amount=FIFTY,
            reason="sent twice",
        )
    )
    assert taken.reversal_id != sent
    assert credit.id != reversal.id
    assert world.business_id in reversal.id, "so that emptying the business finds it"


async def test_a_reversal_without_a_reason_has_one(world: World) -> None:
    taken = await world.take_back(await world.send(IBAN, FIFTY))
    assert taken.reason == REVERSED_BECAUSE


async def test_a_reversal_notified_again_is_the_same_in_every_byte(world: World) -> None:
    await world.send(IBAN, FIFTY, transaction_id="SEPA-1")
    await world.notifications()
    await world.take_back("SEPA-1", "sent twice")
    await asyncio.gather(*(world.take_back("SEPA-1", f"reason {number}") for number in range(4)))
    await world.take_back("SEPA-1", now=later(days=1))
    notices = await world.sent(later(days=1))
    assert len(notices) == 6
    assert len({one.body for one in notices}) == 1


async def test_reversals_asked_for_at_once_are_one(world: World) -> None:
    await world.send(IBAN, FIFTY, transaction_id="SEPA-1")
    taken = await asyncio.gather(*(world.take_back("SEPA-1") for _ in range(8)))
    assert len({one.reversal_id for one in taken}) == 1


async def test_a_reversal_of_a_delayed_credit_is_notified_before_it(world: World) -> None:
    sent = await world.send(IBAN, FIFTY, delay=timedelta(seconds=10))
    await world.take_back(sent, now=later(seconds=1))
    [first] = await world.notifications(later(seconds=1))
    [second] = await world.notifications(later(seconds=10))
    assert isinstance(first.event, CreditReversed)
    assert isinstance(second.event, MoneyArrived)
    assert first.event.transaction_id == second.event.transaction_id == sent


async def test_a_reversal_is_of_the_credit_as_first_notified(world: World) -> None:
    await world.send(IBAN, FIFTY, transaction_id="SEPA-1")
    await world.send(IBAN, Money(1, Currency.EUR), transaction_id="SEPA-1")
    assert (await world.take_back("SEPA-1")).amount == FIFTY


async def test_only_ones_own_transfers_are_taken_back(world: World, db: Database) -> None:
    other = await make_world(db)
    await other.send(IBAN, FIFTY, transaction_id="SEPA-1")
    for reference in ("SEPA-1", "", "no such transfer", "x" * 1_000):
        with pytest.raises(NotFound):
            await world.take_back(reference)
    await world.send(IBAN, Money(1, Currency.EUR), transaction_id="SEPA-1")
    assert (await world.take_back("SEPA-1")).amount == Money(1, Currency.EUR)
    assert (await other.take_back("SEPA-1")).amount == FIFTY


async def test_nothing_is_taken_back_after_the_business_was_emptied(world: World) -> None:
    sent = await world.send(IBAN, FIFTY)
    await world.rail.forget(world.business_id)
    with pytest.raises(NotFound):
        await world.take_back(sent, now=NOW)
