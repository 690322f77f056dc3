"""Test cards: each does what is published, and nothing of a card is ever kept."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from rail.world import (
    NOW,
    PLAIN,
    RETURN_URL,
    WITH_3DS,
    WITH_ADDRESS,
    WITH_PIN,
    WITH_PIN_AND_OTP,
    WITHOUT_MONEY,
    World,
    card,
    later,
    make_world,
)
from tidegate.core.errors import NotFound
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.payment.attempt import ANSWERS_MAX
from tidegate.rail.action import AddressAction, FailureReason, OtpAction, PinAction, RedirectAction
from tidegate.rail.event import AttemptOutcome
from tidegate.rail.instrument import Address, Authorization, Otp, Pin
from tidegate.rail.state import Failed, Succeeded, Waiting

ADDRESS = Address("1 Marina Road", "Lagos", "NG")
RIGHT_PIN, RIGHT_OTP = Pin("1234"), Otp("123456")


@pytest.fixture
async def world(db: Database) -> World:
    return await make_world(db)


async def test_a_card_without_a_step_succeeds_at_once_and_is_notified_too(world: World) -> None:
    order = world.order(card(PLAIN))
    answer = await world.rail.start(order, now=NOW)
    assert isinstance(answer, Succeeded)
    assert answer.amount == order.amount
    [notification] = await world.notifications()
    assert notification.event == AttemptOutcome(business_id=world.business_id, reference=order.reference, state=answer)
    assert await world.notifications(later(days=1)) == []


async def test_a_pin_lets_the_card_through(world: World) -> None:
    order = world.order(card(WITH_PIN))
    assert await world.rail.start(order, now=NOW) == Waiting(PinAction())
    assert await world.notifications() == []
    answer = await world.rail.authorize(world.business_id, order.reference, RIGHT_PIN, now=NOW)
    assert isinstance(answer, Succeeded)
    [notification] = await world.notifications()
    assert isinstance(notification.event, AttemptOutcome)
    assert notification.event.state == answer


async def test_a_card_may_want_a_pin_and_then_a_code(world: World) -> None:
    order = world.order(card(WITH_PIN_AND_OTP))
    where = world.business_id, order.reference
    assert await world.rail.start(order, now=NOW) == Waiting(PinAction())
    assert await world.rail.authorize(*where, RIGHT_PIN, now=NOW) == Waiting(OtpAction())
    # The first answer may have been lost: a PIN again is no try of the code.
    assert await world.rail.authorize(*where, RIGHT_PIN, now=NOW) == Waiting(OtpAction())
    assert await world.rail.poll(*where, now=NOW) == Waiting(OtpAction())
    assert isinstance(await world.rail.authorize(*where, RIGHT_OTP, now=NOW), Succeeded)


async def test_3d_secure_sends_the_payer_to_the_issuer_and_takes_its_code(world: World) -> None:
    order = world.order(card(WITH_3DS))
    assert await world.rail.start(order, now=NOW) == Waiting(RedirectAction(f"{RETURN_URL}/3ds"))
    answer = await world.rail.authorize(world.business_id, order.reference, RIGHT_OTP, now=NOW)
    assert isinstance(answer, Succeeded)


async def test_any_billing_address_will_do_but_none_will_not(world: World) -> None:
    order = world.order(card(WITH_ADDRESS))
    where = world.business_id, order.reference
    assert await world.rail.start(order, now=NOW) == Waiting(AddressAction())
    empty = Address("  ", "", "NG")
    again = Waiting(AddressAction(), FailureReason.WRONG_ADDRESS)
    assert await world.rail.authorize(*where, empty, now=NOW) == again
    assert isinstance(await world.rail.authorize(*where, ADDRESS, now=NOW), Succeeded)


async def test_a_card_without_money_fails_at_once(world: World) -> None:
    order = world.order(card(WITHOUT_MONEY))
    assert await world.rail.start(order, now=NOW) == Failed(FailureReason.INSUFFICIENT_FUNDS)
    assert await world.rail.poll(world.business_id, order.reference, now=NOW) == Failed(
        FailureReason.INSUFFICIENT_FUNDS
    )
    assert await world.notifications(later(days=1)) == []


@pytest.mark.parametrize("number", ["4111111111111111", "5319317801366661", "", "5319 3178 0136 6660", "x" * 100])
async def test_any_other_number_is_no_test_card(world: World, number: str) -> None:
    assert await world.rail.start(world.order(card(number)), now=NOW) == Failed(FailureReason.NOT_A_TEST_CARD)


@pytest.mark.parametrize(
    ("month", "year", "is_good"),
    [
        (3, 2026, True),
        (2, 2026, False),
        (12, 2025, False),
        (1, 2027, True),
        (4, 26, True),
        (2, 26, False),
        (0, 2030, False),
        (13, 2030, False),
        (-1, 2030, False),
    ],
)
async def test_a_card_is_good_until_its_month_is_over(world: World, month: int, year: int, is_good: bool) -> None:
    answer = await world.rail.start(world.order(card(PLAIN, expiry_month=month, expiry_year=year)), now=NOW)
    assert isinstance(answer, Succeeded) if is_good else answer == Failed(FailureReason.DECLINED)


async def test_the_last_moment_of_the_month_still_counts_wherever_the_payer_is(world: World) -> None:
    instrument = card(PLAIN, expiry_month=3, expiry_year=2026)
    last = datetime(2026, 4, 1, 11, 59, 59, tzinfo=UTC)
    assert isinstance(await world.rail.start(world.order(instrument), now=last), Succeeded)
    first = datetime(2026, 4, 1, 12, tzinfo=UTC)
    assert await world.rail.start(world.order(instrument), now=first) == Failed(FailureReason.DECLINED)


@pytest.mark.parametrize(
    ("number", "wrong", "reason"),
    [
        (WITH_PIN, Pin("4321"), FailureReason.WRONG_PIN),
        (WITH_3DS, Otp("654321"), FailureReason.WRONG_OTP),
        (WITH_ADDRESS, Address("", "", ""), FailureReason.WRONG_ADDRESS),
    ],
)
async def test_a_wrong_try_is_asked_for_again_as_often_as_the_payer_may_answer(
    world: World, number: str, wrong: Authorization, reason: FailureReason
) -> None:
    order = world.order(card(number))
    where = world.business_id, order.reference
    asked = await world.rail.start(order, now=NOW)
    assert isinstance(asked, Waiting)
    assert asked.problem is None
    again = Waiting(asked.action, reason)
    assert await world.rail.authorize(*where, wrong, now=NOW) == again
    assert await world.rail.poll(*where, now=NOW) == again, "the outcome can be polled too"
    for _ in range(2 * ANSWERS_MAX):
        assert await world.rail.authorize(*where, wrong, now=NOW) == again, "how often is not counted here"
    assert await world.notifications(later(days=1)) == []


async def test_each_step_has_tries_of_its_own(world: World) -> None:
    order = world.order(card(WITH_PIN_AND_OTP))
    where = world.business_id, order.reference
    await world.rail.start(order, now=NOW)
    for _ in range(2):
        await world.rail.authorize(*where, Pin("0000"), now=NOW)
    assert await world.rail.authorize(*where, RIGHT_PIN, now=NOW) == Waiting(OtpAction()), (
        "nothing is wrong with it yet"
    )
    again = Waiting(OtpAction(), FailureReason.WRONG_OTP)
    for _ in range(2):
        assert await world.rail.authorize(*where, Otp("000000"), now=NOW) == again


async def test_what_is_not_asked_for_is_no_try(world: World) -> None:
    order = world.order(card(WITH_PIN))
    await world.rail.start(order, now=NOW)
    for _ in range(5):
        answer = await world.rail.authorize(world.business_id, order.reference, RIGHT_OTP, now=NOW)
        assert answer == Waiting(PinAction())


async def test_a_card_authorized_twice_at_once_succeeds_once(world: World) -> None:
    order = world.order(card(WITH_PIN))
    await world.rail.start(order, now=NOW)
    answers = await asyncio.gather(
        *(world.rail.authorize(world.business_id, order.reference, RIGHT_PIN, now=NOW) for _ in range(5))
    )
    assert len(set(map(repr, answers))) == 1
    assert len(await world.notifications()) == 1


async def test_an_attempt_that_never_reached_the_rail_is_not_found(world: World) -> None:
    with pytest.raises(NotFound):
        await world.rail.poll(world.business_id, "never", now=NOW)
    with pytest.raises(NotFound):
        await world.rail.authorize(world.business_id, "never", RIGHT_PIN, now=NOW)


async def test_an_attempt_of_another_business_is_not_found(world: World, db: Database) -> None:
    order = world.order(card(WITH_PIN))
    await world.rail.start(order, now=NOW)
    other = await make_world(db)
    with pytest.raises(NotFound):
        await world.rail.authorize(other.business_id, order.reference, RIGHT_PIN, now=NOW)


async def test_the_same_reference_in_another_business_is_another_attempt(world: World, db: Database) -> None:
    other = await make_world(db)
    mine = await world.rail.start(world.order(card(PLAIN), reference="one"), now=NOW)
    theirs = await world.rail.start(other.order(card(PLAIN), reference="one"), now=NOW)
    assert isinstance(mine, Succeeded)
    assert isinstance(theirs, Succeeded)
    assert mine.transaction_id != theirs.transaction_id


FLOWS: list[tuple[str, list[Authorization]]] = [
    (PLAIN, []),
    (WITH_PIN, [Pin("4321"), RIGHT_PIN]),
    (WITH_PIN, [Pin("4321"), Pin("4321"), Pin("4321")]),
    (WITH_PIN_AND_OTP, [RIGHT_PIN, Otp("654321"), RIGHT_OTP]),
    (WITH_3DS, [RIGHT_OTP]),
    (WITH_ADDRESS, [ADDRESS]),
    (WITHOUT_MONEY, []),
    ("4111111111111111", []),
]


async def test_nothing_of_a_card_is_kept(world: World, admin: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    for number, steps in FLOWS:
        instrument = card(number, holder="Ada Holder")
        order = world.order(instrument, amount=Money(70_00, Currency.NGN))
        await world.rail.start(order, now=NOW)
        for given in steps:
            await world.rail.authorize(world.business_id, order.reference, given, now=NOW)
        await world.rail.start(order, now=NOW)
    assert len(await world.notifications()) == 5

    rows = [row for table in SANDBOX_TABLES for row in await admin.fetch(f"SELECT * FROM {table}")]
    assert len(rows) == len(FLOWS) + 5
    dump = " ".join(map(text_of, rows)) + caplog.text
    digits = re.sub(r"\D", "", dump)
    for number, _ in FLOWS:
        assert number not in digits
        assert number[:6] not in dump
    # Whole words, since identifiers are random and may contain any few digits.
    words = set(re.findall(r"\w+", dump))
    assert not words & {"999", "1234", "4321", "123456", "654321", "Ada", "Holder", "Marina", "Lagos", "2030"}


SANDBOX_TABLES = ("sandbox_attempt", "sandbox_notification", "sandbox_payout")


def text_of(row: Any) -> str:
    return " ".join(value.decode() if isinstance(value, bytes) else str(value) for value in row.values())


def test_a_card_and_its_codes_do_not_show_themselves() -> None:
    for secret in (card(PLAIN), RIGHT_PIN, RIGHT_OTP):
        assert not re.search(r"\d", f"{secret!r} {secret}")
