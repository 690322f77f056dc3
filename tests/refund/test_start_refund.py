"""The function that begins a refund, called by hand as the service: what is foreign or does not add up is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import asyncpg
import pytest

from build import Checkout, Shop
from checkout.paying import card
from conftest import MakeCheckout
from tidegate.infra.db import Database, constraint_of

pytestmark = pytest.mark.usefixtures("unlimited")
MINOR = 100


async def paid(new_checkout: MakeCheckout, shop: Shop) -> Checkout:
    checkout = await new_checkout(shop)
    assert (await checkout.charge(card())).status_code == 200
    return checkout


async def change(checkout: Checkout, admin: Any, minor: int = MINOR, name: str = "rf_x") -> dict[str, Any]:
    """A refund of a part, as the program would write it."""
    found = await admin.fetchrow(
        """
        SELECT payment.id, receipt.rail, receipt.transaction_id FROM payment
          JOIN receipt ON receipt.business_id = payment.business_id AND receipt.payment_id = payment.id
         WHERE pay_code = $1
        """,
        checkout.pay_code,
    )
    leg = {"reference": f"{name}-1", "rail": found["rail"], "transaction_id": found["transaction_id"]}
    return {
        "refund": {
            "reference": name, "payment_id": found["id"], "currency": "NGN", "amount_minor": minor,
            "fee_returned_minor": 0, "vat_returned_minor": 0,
        },
        "legs": [leg | {"amount_minor": minor, "fee_minor": 0, "vat_minor": 0}],
        "journal": {
            "kind": "refund_started", "cause": name, "accounts": ["wallet", "refunds"],
            "currencies": ["NGN", "NGN"], "amounts_minor": [-minor, minor], "event_at": "2026-11-19T12:00:00Z",
        },
    }  # fmt: skip


async def start(tx: Any, checkout: Checkout, given: dict[str, Any]) -> Any:
    return await tx.fetchval("SELECT start_refund($1, $2, now())", checkout.shop.business_id, json.dumps(given))


async def test_parts_that_do_not_add_up_are_refused(
    shop: Shop, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await paid(new_checkout, shop)
    good = await change(checkout, admin)
    leg, journal = good["legs"][0], good["journal"]
    spoilings: list[dict[str, Any]] = [
        {"legs": []},
        {"legs": [leg | {"amount_minor": MINOR - 1}]},
        {"legs": [leg, leg | {"reference": "rf_x-2"}]},
        {"journal": journal | {"amounts_minor": [-1, 1]}},
        {"journal": journal | {"accounts": ["wallet", "fee"]}},
        {"journal": journal | {"currencies": ["USD", "USD"]}},
        {
            "journal": journal
            | {"accounts": ["rail", "refunds", "wallet", "refunds"], "currencies": ["USD", "USD", "NGN", "NGN"]}
            | {"amounts_minor": [-MINOR * 2, MINOR * 2, MINOR, -MINOR]}
        },
        {"legs": [leg | {"amount_minor": MINOR - 1}, leg | {"amount_minor": 1, "reference": "rf_x-2"}]},
        {"legs": [leg | {"fee_minor": -10}]},
        {"legs": [leg | {"fee_minor": 10}]},
        {"refund": good["refund"] | {"currency": "USD"}},
    ]
    for spoilt in spoilings:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            async with db.connection() as tx:
                await start(tx, checkout, good | spoilt)
    assert await admin.fetchval("SELECT count(*) FROM refund") == 0
    assert await admin.fetchval("SELECT refunded_minor FROM payment") == 0
    async with db.connection() as tx:
        assert await start(tx, checkout, good)


async def test_a_leg_of_another_payment_or_of_none_is_refused(
    shop: Shop, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout, other = await paid(new_checkout, shop), await paid(new_checkout, shop)
    own, foreign = await change(checkout, admin), await change(other, admin)
    unknown = [own["legs"][0] | {"transaction_id": "unknown"}]
    for legs in (foreign["legs"], unknown):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError) as raised:
            async with db.connection() as tx:
                await start(tx, checkout, own | {"legs": legs})
        assert constraint_of(raised.value) == "refund_leg_takes_what_is_left"
    assert await admin.fetchval("SELECT count(*) FROM refund") == 0


async def test_money_in_suspense_is_not_refunded(
    shop: Shop, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await paid(new_checkout, shop)
    given = await change(checkout, admin)
    aside = admin.transaction()
    await aside.start()
    await admin.execute("UPDATE receipt SET outcome = 'decided'")
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await start(admin, checkout, given)
    await aside.rollback()


@pytest.mark.one_server("the second call waits for a lock of the first, for longer than a cluster lets it")
async def test_two_refunds_that_begin_at_once_take_no_more_than_there_is(
    shop: Shop, new_checkout: MakeCheckout, db: Database, admin: Any
) -> None:
    checkout = await paid(new_checkout, shop)
    arrived = await admin.fetchval("SELECT amount_minor FROM receipt")
    # As if more had come by another transfer: the limit of the whole payment is not reached.
    await admin.execute(
        "UPDATE payment SET received_minor = received_minor + 100000, settled_minor = settled_minor + 100000"
    )
    first, second = [await change(checkout, admin, arrived * 6 // 10, name) for name in ("rf_a", "rf_b")]
    async with db.transaction() as one:
        await start(one, checkout, first)

        async def start_second() -> Any:
            async with db.connection() as other:
                return await start(other, checkout, second)

        waiting = asyncio.create_task(start_second())
        await admin.fetchval("SELECT pg_sleep(0.2)")
        assert not waiting.done()
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await waiting
    assert await admin.fetchval("SELECT sum(amount_minor) FROM refund_leg") < arrived
    await admin.execute(
        "UPDATE payment SET received_minor = received_minor - 100000, settled_minor = settled_minor - 100000"
    )
