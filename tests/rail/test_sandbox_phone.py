"""Mobile money and USSD: what happens on the payer's phone, and what the rail notifies."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from typing import Any

import pytest

from rail.world import NOW, PLAIN, WITH_PIN, World, card, later, make_world, phone, transfer_means
from tidegate.core.errors import Conflict, Invalid, NotFound
from tidegate.core.money import Currency
from tidegate.infra.db import Database
from tidegate.rail.action import DialAction, FailureReason, PromptAction
from tidegate.rail.event import AttemptOutcome
from tidegate.rail.instrument import Bank, PaymentInstrument
from tidegate.rail.interface import RailTimeout, StartAttempt
from tidegate.rail.state import Failed, Running, Succeeded, Waiting
from tidegate.rail.ussd_bank import USSD_BANKS

GTB = Bank("058")


@pytest.fixture
async def world(db: Database) -> World:
    return await make_world(db)


async def outcome_notified(world: World, order: StartAttempt, now: datetime = NOW) -> Succeeded | Failed:
    [notification] = await world.notifications(now)
    assert isinstance(notification.event, AttemptOutcome)
    assert (notification.event.business_id, notification.event.reference) == (order.business_id, order.reference)
    assert await world.rail.poll(world.business_id, order.reference, now=now) == notification.event.state
    return notification.event.state


async def test_0000_is_approved_at_once_and_notified(world: World) -> None:
    order = world.order(phone("0000"))
    assert await world.rail.start(order, now=NOW) == Running()
    state = await outcome_notified(world, order)
    assert isinstance(state, Succeeded)
    assert state.amount == order.amount


async def test_0001_is_approved_after_five_seconds(world: World) -> None:
    order = world.order(phone("0001"))
    assert await world.rail.start(order, now=NOW) == Running()
    assert await world.notifications(later(seconds=4)) == []
    assert await world.rail.poll(world.business_id, order.reference, now=later(seconds=4)) == Running()
    assert isinstance(await outcome_notified(world, order, later(seconds=5)), Succeeded)


@pytest.mark.parametrize(
    ("last_four", "reason"), [("0002", FailureReason.INSUFFICIENT_FUNDS), ("0003", FailureReason.NOT_APPROVED)]
)
async def test_0002_has_no_money_and_0003_declines(world: World, last_four: str, reason: FailureReason) -> None:
    order = world.order(phone(last_four))
    assert await world.rail.start(order, now=NOW) == Running()
    assert await outcome_notified(world, order) == Failed(reason)


async def test_0004_has_no_wallet(world: World) -> None:
    order = world.order(phone("0004"))
    assert await world.rail.start(order, now=NOW) == Failed(FailureReason.NO_SUCH_WALLET)
    assert await world.notifications(later(days=1)) == []


async def test_0005_never_answers_and_is_resolved_by_asking(world: World) -> None:
    order = world.order(phone("0005"))
    for _ in range(2):
        with pytest.raises(RailTimeout):
            await world.rail.start(order, now=NOW)
    assert await world.rail.poll(world.business_id, order.reference, now=NOW) == Running()
    assert await world.rail.poll(world.business_id, order.reference, now=later(seconds=9)) == Running()
    assert isinstance(await world.rail.poll(world.business_id, order.reference, now=later(seconds=10)), Succeeded)
    assert await world.notifications(later(days=1)) == []


async def test_any_other_number_waits_for_the_payer(world: World) -> None:
    order = world.order(phone("0006"))
    assert await world.rail.start(order, now=NOW) == Waiting(PromptAction())
    assert await world.rail.poll(world.business_id, order.reference, now=later(days=1)) == Waiting(PromptAction())
    assert await world.notifications(later(days=1)) == []
    await world.rail.approve(world.business_id, order.reference, now=later(days=1))
    assert isinstance(await outcome_notified(world, order, later(days=1)), Succeeded)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (None, FailureReason.NOT_APPROVED),
        ("changed my mind", FailureReason.NOT_APPROVED),
        ("insufficient_funds", FailureReason.INSUFFICIENT_FUNDS),
        ("not_a_test_card", FailureReason.NOT_APPROVED),
    ],
)
async def test_the_payer_declines_for_a_reason_or_none(world: World, given: str | None, reason: FailureReason) -> None:
    order = world.order(phone("7777"))
    await world.rail.start(order, now=NOW)
    await world.rail.decline(world.business_id, order.reference, given, now=NOW)
    assert await outcome_notified(world, order) == Failed(reason)


@pytest.mark.parametrize("bank", USSD_BANKS[Currency.NGN], ids=lambda bank: bank.name)
async def test_every_bank_has_a_code_to_dial(world: World, bank: Any) -> None:
    answer = await world.rail.start(world.order(Bank(bank.code)), now=NOW)
    assert isinstance(answer, Waiting)
    assert isinstance(answer.action, DialAction)
    assert re.fullmatch(rf"\*{bank.ussd}\*000\*\d{{6}}#", answer.action.code)


async def test_a_dialled_code_is_approved(world: World) -> None:
    order = world.order(GTB)
    await world.rail.start(order, now=NOW)
    await world.rail.approve(world.business_id, order.reference, now=later(minutes=9))
    assert isinstance(await outcome_notified(world, order, later(minutes=9)), Succeeded)
    # The end of the code changes nothing any more.
    assert isinstance(await world.rail.poll(world.business_id, order.reference, now=later(hours=1)), Succeeded)


async def test_a_dialled_code_is_declined(world: World) -> None:
    order = world.order(GTB)
    await world.rail.start(order, now=NOW)
    await world.rail.decline(world.business_id, order.reference, None, now=NOW)
    assert await outcome_notified(world, order) == Failed(FailureReason.NOT_APPROVED)


async def test_a_code_lapses_after_ten_minutes_without_a_notification(world: World) -> None:
    order = world.order(GTB)
    answer = await world.rail.start(order, now=NOW)
    assert await world.rail.poll(world.business_id, order.reference, now=later(minutes=9)) == answer
    end = later(minutes=10)
    assert await world.rail.poll(world.business_id, order.reference, now=end) == Failed(FailureReason.EXPIRED)
    with pytest.raises(Conflict, match="expired"):
        await world.rail.approve(world.business_id, order.reference, now=end)
    assert await world.notifications(later(days=1)) == []


async def test_an_unknown_bank_is_refused_and_nothing_is_started(world: World) -> None:
    order = world.order(Bank("000"))
    with pytest.raises(Invalid, match="bank"):
        await world.rail.start(order, now=NOW)
    with pytest.raises(NotFound):
        await world.rail.poll(world.business_id, order.reference, now=NOW)


@pytest.mark.parametrize(
    ("instrument", "message"),
    [
        (card(PLAIN), "already approved"),
        (card(WITH_PIN), "only mobile money and USSD"),
        (transfer_means(), "only mobile money and USSD"),
        (phone("0000"), "already approved"),
        (phone("0001"), "answers by itself"),
        (phone("0002"), "already failed"),
        (phone("0004"), "already failed"),
    ],
)
async def test_what_does_not_wait_for_the_phone_cannot_be_approved_there(
    world: World, instrument: PaymentInstrument, message: str
) -> None:
    order = world.order(instrument)
    before = await world.rail.start(order, now=NOW)
    with pytest.raises(Conflict, match=message):
        await world.rail.approve(world.business_id, order.reference, now=NOW)
    with pytest.raises(Conflict, match=message):
        await world.rail.decline(world.business_id, order.reference, None, now=NOW)
    assert await world.rail.start(order, now=NOW) == before


async def test_the_payer_answers_once(world: World) -> None:
    order = world.order(phone("1111"))
    await world.rail.start(order, now=NOW)
    answers = await asyncio.gather(
        world.rail.approve(world.business_id, order.reference, now=NOW),
        world.rail.approve(world.business_id, order.reference, now=NOW),
        world.rail.decline(world.business_id, order.reference, None, now=NOW),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers if answer is not None] == [Conflict, Conflict]
    assert len(await world.notifications()) == 1


async def test_an_unknown_attempt_cannot_be_answered(world: World) -> None:
    with pytest.raises(NotFound):
        await world.rail.approve(world.business_id, "never", now=NOW)
    with pytest.raises(NotFound):
        await world.rail.decline(world.business_id, "never", None, now=NOW)
