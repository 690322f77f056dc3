"""Money that goes back: returns are notified, refunds are polled."""

from __future__ import annotations

import asyncio

import pytest

from rail.world import NOW, World, later, make_world
from tidegate.core.errors import NotFound
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.rail.action import FailureReason
from tidegate.rail.event import ReturnConfirmed
from tidegate.rail.interface import RefundMoney, ReturnMoney
from tidegate.rail.state import Failed, Running, Succeeded


@pytest.fixture
async def world(db: Database) -> World:
    return await make_world(db)


def returned(world: World, reference: str = "ret-1") -> ReturnMoney:
    return ReturnMoney(
        business_id=world.business_id,
        reference=reference,
        transaction_id="sbx_paid",
        amount=Money(40_00, Currency.NGN),
        reason="the account was closed",
    )


def refunded(world: World, minor: int = 40_00, reference: str = "ref-1") -> RefundMoney:
    return RefundMoney(
        business_id=world.business_id,
        reference=reference,
        transaction_id="sbx_paid",
        amount=Money(minor, Currency.NGN),
    )


async def test_a_return_is_confirmed_after_two_seconds(world: World) -> None:
    await world.rail.send_back(returned(world), now=NOW)
    assert await world.notifications(later(seconds=1)) == []
    [notification] = await world.notifications(later(seconds=2))
    assert isinstance(notification.event, ReturnConfirmed)
    assert (notification.event.business_id, notification.event.reference) == (world.business_id, "ret-1")
    assert notification.event.transaction_id != "sbx_paid"


async def test_a_return_asked_for_again_is_one_return(world: World) -> None:
    await asyncio.gather(*(world.rail.send_back(returned(world), now=NOW) for _ in range(5)))
    await world.rail.send_back(returned(world), now=later(hours=1))
    assert len(await world.notifications(later(days=1))) == 1


async def test_a_refund_runs_two_seconds_and_succeeds(world: World) -> None:
    assert await world.rail.refund(refunded(world), now=NOW) == Running()
    assert await world.rail.poll_refund(refunded(world), now=later(seconds=1)) == Running()
    state = await world.rail.poll_refund(refunded(world), now=later(seconds=2))
    assert isinstance(state, Succeeded)
    assert state.amount == Money(40_00, Currency.NGN)
    assert await world.notifications(later(days=1)) == []


async def test_a_refund_that_ends_in_13_is_declined(world: World) -> None:
    assert await world.rail.refund(refunded(world, 40_13), now=NOW) == Running()
    assert await world.rail.poll_refund(refunded(world), now=later(seconds=2)) == Failed(FailureReason.DECLINED)


async def test_a_refund_asked_for_again_is_one_refund(world: World) -> None:
    answers = await asyncio.gather(*(world.rail.refund(refunded(world), now=NOW) for _ in range(5)))
    assert answers == [Running()] * 5
    first = await world.rail.poll_refund(refunded(world), now=later(seconds=2))
    assert await world.rail.refund(refunded(world), now=later(seconds=3)) == first


async def test_a_refund_that_was_never_asked_for_is_not_found(world: World) -> None:
    await world.rail.send_back(returned(world, "shared"), now=NOW)
    with pytest.raises(NotFound):
        await world.rail.poll_refund(refunded(world, reference="shared"), now=NOW)
