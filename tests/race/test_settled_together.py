"""Settlements of one business that wait at the same moment are written together, and each has its own outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from build import Checkout, Shop
from conftest import MakeCheckout
from tidegate.core import ids
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.house import House
from tidegate.intake import commands as intake
from tidegate.payment import attempt_store, decide, settle
from tidegate.payment.change import Change, Outcome
from tidegate.payment.decide import Arrival
from tidegate.payment.destination_store import Destination
from tidegate.payment.settle import TRIES
from tidegate.rail.interface import MoneyArrived, Party, Told
from tidegate.rail.sandbox import notice
from tidegate.rail.till import Till
from tidegate.rail.told import ToldBy

MANY = 12
PAYER = Party(name="Ada Obi", account_number="0123456789", bank_name=None, bank_code=None)


@pytest.fixture
def till(house: House) -> Till:
    """One for all that happens in a test, as an API process has one: only who shares it is written together."""
    return house.till


def credit(house: House, account: str, *, minor: int = 10_000, transaction_id: str | None = None) -> MoneyArrived:
    return MoneyArrived(
        account_number=account,
        transaction_id=transaction_id or ids.new_event_id(),
        amount=Money(minor, Currency.NGN),
        payer=PAYER,
        payee_name=None,
        scheme="nip",
        remittance=None,
        valued_at=house.clock.now(),
    )


async def tell(house: House, till: Till, news: MoneyArrived, *, told_id: str | None = None) -> None:
    body = notice.write(Told(id=told_id or ids.new_event_id(), news=news))
    await intake.receive(till, "sandbox", notice.sign(body, house.secret, now=house.clock.now()), house.clock)


async def waiting(new_checkout: MakeCheckout, shop: Shop, count: int) -> tuple[list[Checkout], list[str]]:
    checkouts = [await new_checkout(shop) for _ in range(count)]
    return checkouts, [await checkout.account() for checkout in checkouts]


async def change_of(till: Till, house: House, account: str, *, told_id: str | None = None, **credited: Any) -> Change:
    """What is to be written once this much has arrived there."""
    situation = await settle.find_by_destination(till, Destination("sandbox", account, "T-1"))
    assert situation is not None
    assert situation.attempt is not None
    news = credit(house, account, **credited)
    rule = situation.business.fee_rule_by_id(situation.attempt.fee_rule_id)
    assert rule is not None
    assert situation.attempt.method is Method.BANK_TRANSFER
    return decide.on_arrival(
        situation,
        Arrival(rail="sandbox", transaction_id=news.transaction_id, amount=news.amount, payer={}),
        rule=rule,
        names=till.names,
        public_ids=till.public_ids,
        told_by=ToldBy(rail="sandbox", id=told_id or ids.new_event_id(), body=b"{}"),
        now=house.clock.now(),
    )


async def apply_all(till: Till, *changes: Change) -> list[Outcome]:
    async with till.db.connection() as tx:
        return await attempt_store.apply_all(tx, changes)


async def count(admin: Any, table: str, business_id: str) -> int:
    rows: int = await admin.fetchval(f"SELECT count(*) FROM {table} WHERE business_id = $1", business_id)
    return rows


async def test_many_at_once_are_written_in_few_transactions_and_the_balances_run_on(
    new_checkout: MakeCheckout, shop: Shop, house: House, till: Till, admin: Any
) -> None:
    checkouts, accounts = await waiting(new_checkout, shop, MANY)
    await asyncio.gather(*(tell(house, till, credit(house, account)) for account in accounts))
    assert [(await checkout.view())["status"] for checkout in checkouts] == ["success"] * MANY
    for table in ("journal", "receipt", "event"):
        assert await count(admin, table, shop.business_id) == MANY
    transactions = await admin.fetchval(
        "SELECT count(DISTINCT xmin::text) FROM journal WHERE business_id = $1", shop.business_id
    )
    assert transactions < MANY / 2
    lines = await admin.fetch(
        "SELECT amount_minor, balance_after_minor FROM entry WHERE business_id = $1 AND account = 'wallet'"
        " ORDER BY journal_id",
        shop.business_id,
    )
    balance = 0
    for line in lines:
        balance += line["amount_minor"]
        assert line["balance_after_minor"] == balance
    wallet = await admin.fetchval("SELECT balance_minor FROM wallet WHERE business_id = $1", shop.business_id)
    assert wallet == balance > 0


async def test_repeats_and_contradictions_among_good_ones_disturb_nobody(
    new_checkout: MakeCheckout, shop: Shop, house: House, till: Till, admin: Any
) -> None:
    checkouts, accounts = await waiting(new_checkout, shop, MANY)
    known = credit(house, accounts[0])
    await tell(house, till, known, told_id="first")
    contradiction = msgspec.structs.replace(known, account_number=accounts[1])
    await asyncio.gather(
        tell(house, till, known, told_id="first"),
        tell(house, till, known, told_id="under another name"),
        tell(house, till, contradiction, told_id="to another account"),
        tell(house, till, credit(house, accounts[0]), told_id="paid twice"),
        *(tell(house, till, credit(house, account)) for account in accounts[2:]),
    )
    statuses = Counter([(await checkout.view())["status"] for checkout in checkouts])
    assert statuses == {"success": MANY - 1, "pending": 1}
    assert (await checkouts[0].view())["amountReturned"] == 100
    told = dict(await admin.fetch("SELECT id, state FROM notification WHERE id = ANY ($1)", [
        "first", "under another name", "to another account", "paid twice",
    ]))  # fmt: skip
    assert told == {
        "first": "done",
        "under another name": "done",
        "to another account": "quarantined",
        "paid twice": "done",
    }


async def test_parts_for_one_payment_that_wait_together_add_up(
    new_checkout: MakeCheckout, house: House, till: Till, admin: Any
) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await asyncio.gather(*(tell(house, till, credit(house, account, minor=1_000)) for _ in range(10)))
    record = await checkout.record()
    assert (record["status"], record["amountReceived"]) == ("success", 100)


async def test_more_rivals_for_one_payment_than_are_written_together_all_get_their_turn(
    new_checkout: MakeCheckout, house: House, till: Till, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    rivals = TRIES // 2 + 6
    await asyncio.gather(*(tell(house, till, credit(house, account)) for _ in range(rivals)))
    view = await checkout.view()
    assert (view["status"], view["amountReturned"]) == ("success", 100 * (rivals - 1))


async def test_of_two_changes_of_one_payment_in_a_group_the_first_is_written(
    new_checkout: MakeCheckout, shop: Shop, house: House, till: Till, admin: Any
) -> None:
    _, [account, other] = await waiting(new_checkout, shop, 2)
    first, second, beside = [await change_of(till, house, number) for number in (account, account, other)]
    assert await apply_all(till, first, second, beside) == [Outcome.WRITTEN, Outcome.STALE, Outcome.WRITTEN]
    assert await count(admin, "receipt", shop.business_id) == 2


async def test_one_notification_for_two_payments_in_a_group_is_acted_on_once(
    new_checkout: MakeCheckout, shop: Shop, house: House, till: Till, admin: Any
) -> None:
    _, accounts = await waiting(new_checkout, shop, 2)
    changes = [await change_of(till, house, account, told_id="the same") for account in accounts]
    assert await apply_all(till, *changes) == [Outcome.WRITTEN, Outcome.STALE]
    assert await apply_all(till, changes[1]) == [Outcome.TOLD_BEFORE]


async def test_a_group_tells_stale_and_told_before_and_written_apart(
    new_checkout: MakeCheckout, shop: Shop, house: House, till: Till, admin: Any
) -> None:
    _, accounts = await waiting(new_checkout, shop, 5)
    before = [await change_of(till, house, account) for account in accounts]
    assert await apply_all(till, before[0], before[4]) == [Outcome.WRITTEN] * 2
    assert before[0].told_by is not None
    again = await change_of(till, house, accounts[1], told_id=before[0].told_by.id)
    notifications = await admin.fetchval("SELECT count(*) FROM notification")
    outcomes = await apply_all(till, before[2], again, before[4], before[3])
    assert outcomes == [Outcome.WRITTEN, Outcome.TOLD_BEFORE, Outcome.STALE, Outcome.WRITTEN]
    assert await admin.fetchval("SELECT count(*) FROM notification") == notifications + 2
    assert await count(admin, "receipt", shop.business_id) == 4


async def test_money_that_is_known_keeps_nothing_else_of_its_group_from_being_written(
    new_checkout: MakeCheckout, shop: Shop, house: House, till: Till, admin: Any
) -> None:
    _, accounts = await waiting(new_checkout, shop, 3)
    known = await change_of(till, house, accounts[0], transaction_id="T-1")
    assert await apply_all(till, known) == [Outcome.WRITTEN]
    good, same = [
        await change_of(till, house, accounts[1]),
        await change_of(till, house, accounts[2], transaction_id="T-1"),
    ]
    assert await apply_all(till, good, same) == [Outcome.WRITTEN, Outcome.ALREADY_RECEIVED]
    assert await count(admin, "receipt", shop.business_id) == 2


def test_whatever_door_a_change_comes_through_it_gathers_in_one_till(house: House) -> None:
    """Each till has its own lanes to the database; several of them would take all its connections."""
    assert house.till is house.till
