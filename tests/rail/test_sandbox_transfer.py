"""Bank transfers: an account of its own for every attempt, and a bank that notifies what came."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from rail.world import NOW, World, later, make_world, transfer_means
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.rail.action import TransferAction
from tidegate.rail.event import MoneyArrived
from tidegate.rail.sandbox.begin import account_number
from tidegate.rail.state import Party, Waiting

HUNDRED = Money.of_major(100, Currency.NGN)


@pytest.fixture
async def world(db: Database) -> World:
    return await make_world(db)


async def account(world: World, currency: Currency = Currency.NGN) -> TransferAction:
    order = world.order(transfer_means(), amount=Money.of_major(100, currency))
    answer = await world.rail.start(order, now=NOW)
    assert isinstance(answer, Waiting)
    assert isinstance(answer.action, TransferAction)
    return answer.action


async def test_every_attempt_has_an_account_of_its_own(world: World) -> None:
    first, second = await account(world), await account(world)
    assert first.account_number != second.account_number
    assert first.account_name == "Test Shop / Ada Obi"
    assert (first.bank_name, first.bank_code) == ("Tidegate Test Bank", "999")


@pytest.mark.parametrize(
    ("currency", "length"),
    [
        (Currency.NGN, 10),
        (Currency.KES, 13),
        (Currency.UGX, 13),
        (Currency.GHS, 13),
        (Currency.ZAR, 11),
    ],
)
async def test_an_account_number_has_the_length_of_its_country(world: World, currency: Currency, length: int) -> None:
    number = (await account(world, currency)).account_number
    assert number.isdigit()
    assert len(number) == length


async def test_an_account_number_is_not_given_again_after_the_business_was_emptied(world: World) -> None:
    before = await account(world)
    await world.rail.forget(world.business_id)
    assert (await account(world)).account_number != before.account_number


def test_different_serials_give_different_account_numbers_in_every_currency() -> None:
    serials = [*range(1, 2_000), *range(10**9 - 2_000, 10**9)]
    numbers = {account_number(currency, serial)[-9:] for serial in serials for currency in Currency}
    assert len(numbers) == len(serials)


async def test_money_is_notified_at_once_with_all_that_the_bank_knows(world: World) -> None:
    number = (await account(world)).account_number
    payer = Party(name="Ada Obi", account_number="0123456789", bank_name="Another Bank", bank_code="044")
    transaction_id = await world.send(
        number, HUNDRED, payer=payer, payee_name="Test Shop", remittance="Order 7 – thanks"
    )
    [notification] = await world.notifications()
    assert notification.event == MoneyArrived(
        account_number=number,
        transaction_id=transaction_id,
        amount=HUNDRED,
        payer=payer,
        payee_name="Test Shop",
        scheme="sandbox",
        remittance="Order 7 – thanks",
        valued_at=NOW,
    )


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("9999999999", "9999999999"),
        ("DE89370400440532013000", "DE89370400440532013000"),
        ("de89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("no such account", "NOSUCHACCOUNT"),
        ("\N{LATIN SMALL LIGATURE FFI}" * 140, "FFI" * 140),
    ],
)
async def test_the_bank_takes_money_for_any_account_however_it_is_typed(world: World, typed: str, number: str) -> None:
    await world.send(typed, Money(1, Currency.EUR))
    [notification] = await world.notifications()
    assert isinstance(notification.event, MoneyArrived)
    assert (notification.event.account_number, notification.event.amount) == (number, Money(1, Currency.EUR))


@pytest.mark.parametrize(
    ("currency", "scheme"), [(Currency.EUR, "sepa"), (Currency.USD, "ach"), (Currency.KES, "sandbox")]
)
async def test_money_travels_as_is_usual_for_its_currency_unless_said_otherwise(
    world: World, currency: Currency, scheme: str
) -> None:
    await world.send("9000000001", Money(1, currency))
    await world.send("9000000001", Money(1, currency), scheme="wire")
    notifications = [one.event for one in await world.notifications()]
    assert [one.scheme for one in notifications if isinstance(one, MoneyArrived)] == [scheme, "wire"]


@pytest.mark.parametrize("valued_at", [later(days=365), NOW - timedelta(days=3650)])
async def test_a_value_date_may_be_far_away(world: World, valued_at: datetime) -> None:
    await world.send("9000000001", HUNDRED, valued_at=valued_at)
    [notification] = await world.notifications()
    assert isinstance(notification.event, MoneyArrived)
    assert notification.event.valued_at == valued_at


async def test_the_word_of_a_transfer_may_be_late(world: World) -> None:
    await world.send("9000000001", HUNDRED, delay=timedelta(seconds=10))
    assert await world.notifications(later(seconds=9)) == []
    [notification] = await world.notifications(later(seconds=10))
    assert isinstance(notification.event, MoneyArrived)
    assert notification.event.valued_at == NOW


@pytest.mark.parametrize(
    "name", ["", "x" * 1_000, "\N{GRINNING FACE}" * 1_000, "عبد الله \u202e", "<script>alert(1)</script>", "'; --"]
)
async def test_names_are_passed_on_as_they_were_typed(world: World, name: str) -> None:
    await world.send("9000000001", HUNDRED, payer=Party(name=name), payee_name=name)
    [notification] = await world.notifications()
    assert isinstance(notification.event, MoneyArrived)
    assert (notification.event.payer.name, notification.event.payee_name) == (name, name)


async def test_the_same_transfer_eight_times_at_once_is_notified_with_the_same_body(world: World) -> None:
    sending = (
        world.send("9000000001", HUNDRED, transaction_id="SEPA-1", now=later(seconds=second)) for second in range(8)
    )
    await asyncio.gather(*sending)
    notices = await world.sent(later(seconds=9))
    assert len(notices) == 8
    assert len({one.body for one in notices}) == 1


async def test_several_transfers_of_any_amount_and_currency_are_each_notified(world: World) -> None:
    number = (await account(world)).account_number
    amounts = [Money(1, Currency.NGN), HUNDRED, HUNDRED, Money(10**15, Currency.UGX)]
    sent = [await world.send(number, amount) for amount in amounts]
    notifications = await world.notifications()
    events = [one.event for one in notifications if isinstance(one.event, MoneyArrived)]
    assert [one.amount for one in events] == amounts
    assert [one.transaction_id for one in events] == sent
    assert len({one.id for one in notifications}) == len(amounts)


async def test_money_comes_long_after_the_account_ran_out(world: World) -> None:
    number = (await account(world)).account_number
    await world.send(number, HUNDRED, now=later(days=30))
    assert len(await world.notifications(later(days=30))) == 1


async def test_the_same_transaction_is_the_same_notification_again(world: World) -> None:
    assert await world.send("9000000001", HUNDRED, transaction_id="NIP-1") == "NIP-1"
    assert await world.send("9000000001", HUNDRED, transaction_id="NIP-1", now=later(seconds=9)) == "NIP-1"
    first, second = await world.sent(later(seconds=9))
    assert first.body == second.body
    await world.send("9000000001", Money(1, Currency.NGN), transaction_id="NIP-1", now=later(days=1))
    notifications = [*await world.rail.read(first, now=later(seconds=9)), *await world.notifications(later(days=1))]
    assert len({one.id for one in notifications}) == 1
    assert {one.event.amount.minor for one in notifications if isinstance(one.event, MoneyArrived)} == {1, 10_000}


async def test_the_same_transaction_id_in_another_business_is_another_notification(world: World, db: Database) -> None:
    other = await make_world(db)
    await world.send("9000000001", HUNDRED, transaction_id="NIP-1")
    await other.send("9000000002", HUNDRED, transaction_id="NIP-1")
    first, second = await world.notifications()
    assert first.id != second.id


async def test_a_transfer_moves_money(world: World) -> None:
    for minor in (0, -1):
        with pytest.raises(ValueError, match="must be positive"):
            await world.send("9000000001", Money(minor, Currency.NGN))


async def test_an_account_stays_open_whatever_arrives(world: World) -> None:
    """One account may get any number of transfers: money is told, never asked for."""
    order = world.order(transfer_means())
    answer = await world.rail.start(order, now=NOW)
    assert isinstance(answer, Waiting)
    assert isinstance(answer.action, TransferAction)
    await world.send(answer.action.account_number, HUNDRED)
    assert await world.rail.poll(world.business_id, order.reference, now=later(days=1)) == answer
