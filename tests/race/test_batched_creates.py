"""Creates that wait at the same moment: one statement for all of them, and to each its own outcome."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import msgspec
import pytest

from build import order
from conftest import MakeShop
from tidegate.core.clock import SystemClock
from tidegate.core.ids import Mode
from tidegate.core.method import MethodNames
from tidegate.infra.db import Database
from tidegate.infra.http.read import read
from tidegate.merchant import commands as merchants
from tidegate.merchant.model import Business
from tidegate.payment import store
from tidegate.payment.batching import PaymentBatching
from tidegate.payment.model import Draft, draft
from tidegate.payment.store import PaymentKey
from tidegate.payment.wire import CreatePayment, order_from


@pytest.fixture
async def business(db: Database) -> Business:
    now = SystemClock().now()
    return (await merchants.create(db, name="Shop", email="s@example.com", mode=Mode.SANDBOX, now=now)).business


def draft_of(business: Business, **changes: Any) -> Draft:
    return draft(
        order_from(read(order(**changes), CreatePayment), business, MethodNames()), business, now=SystemClock().now()
    )


async def test_in_one_group_the_first_of_a_reference_has_it(db: Database, business: Business) -> None:
    first, second = (draft_of(business, reference="ORD-A", amount=amount) for amount in (100, 200))
    other = draft_of(business, reference="ORD-B")
    async with db.connection() as tx:
        outcomes = await store.insert_all(tx, [first, second, other])
    new = [outcome for outcome in outcomes if outcome and outcome.is_new]
    assert outcomes[2] is not None
    assert outcomes[2].is_new
    assert len(new) == 2
    winner = first if outcomes[0] and outcomes[0].is_new else second
    # PostgreSQL does not see, in one statement, what the statement itself has written: the loser reads again.
    loser = second if winner is first else first
    async with db.connection() as tx:
        again = await store.insert(tx, loser)
    assert again == (False, winner.pay_code, winner.fingerprint)


async def test_a_draft_that_was_inserted_before_counts_as_new_once_more(db: Database, business: Business) -> None:
    """So that a group whose commit was not heard of can be tried again."""
    mine, others = draft_of(business), draft_of(business)
    async with db.connection() as tx:
        await store.insert_all(tx, [mine])
        outcomes = await store.insert_all(tx, [others, mine])
        count = await tx.fetchval("SELECT count(*) FROM payment WHERE business_id = $1", business.id)
    assert [outcome and outcome.is_new for outcome in outcomes] == [True, True]
    assert count == 2


async def test_a_failing_create_fails_alone(db: Database, business: Business) -> None:
    taken, *good = [draft_of(business) for _ in range(6)]
    batching = PaymentBatching(db)
    # Before them all: each of a group that failed is tried alone, and whichever of two with one code came first had it.
    await batching.insert(taken)
    # A pay code that another payment has: the one thing that fails a whole statement.
    bad = msgspec.structs.replace(draft_of(business), pay_code=taken.pay_code)
    outcomes = await asyncio.gather(*map(batching.insert, [*good, bad]), return_exceptions=True)
    assert isinstance(outcomes[-1], asyncpg.UniqueViolationError)
    assert [outcome.is_new for outcome in outcomes[:-1] if isinstance(outcome, store.Inserted)] == [True] * 5
    found = await asyncio.gather(*(batching.find(PaymentKey(business.id, one.reference)) for one in [*good, bad]))
    assert [payment and payment.pay_code for payment in found] == [*(one.pay_code for one in good), None]


async def test_each_finds_its_own(db: Database, business: Business, new_shop: MakeShop) -> None:
    stranger = (await new_shop()).business_id
    drafts = [draft_of(business, amount=number) for number in range(1, 40)]
    batching = PaymentBatching(db)
    await asyncio.gather(*map(batching.insert, drafts))
    keys = [PaymentKey(business.id, one.reference) for one in drafts]
    asked = [*keys, PaymentKey(stranger, drafts[0].reference), keys[3], PaymentKey(business.id, "nobody's"), keys[3]]
    found = await asyncio.gather(*map(batching.find, asked))
    expected = [*(one.pay_code for one in drafts), None, drafts[3].pay_code, None, drafts[3].pay_code]
    assert [payment and payment.pay_code for payment in found] == expected
    assert [payment and payment.asked_minor for payment in found[:39]] == [100 * n for n in range(1, 40)]


async def test_every_column_arrives_with_its_own_row(db: Database, business: Business) -> None:
    drafts = [
        draft_of(
            business,
            amount=number,
            customer={"name": f"Ada {number}", "email": f"ada{number}@example.com", "phoneNumber": phone},
            redirectUrl=f"https://shop.example.com/{number}" if number % 2 else ...,
            metadata={"number": number, "text": "a,b"} if number % 3 else ...,
            paymentMethods=methods,
            successMessage=f"Thanks, {number}" if number % 5 else ...,
        )
        for number, phone, methods in (
            (n, "" if n % 2 else f"+23480123456{n:02}", ["card"] if n % 2 else ["ussd", "card"]) for n in range(1, 21)
        )
    ]
    await asyncio.gather(*map(PaymentBatching(db).insert, drafts))
    async with db.connection() as tx:
        found = [await store.find(tx, PaymentKey(business.id, one.reference)) for one in drafts]
    assert [payment and payment.order for payment in found] == [
        msgspec.structs.replace(one.order, reference=one.reference) for one in drafts
    ]
