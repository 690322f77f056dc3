"""Settlements that wait at the same moment are written together, and each has its own outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from build import Checkout, Shop
from conftest import MakeCheckout, MakeShop
from tidegate.core import ids
from tidegate.core.errors import Unavailable
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Contended
from tidegate.intake import commands as intake
from tidegate.payment import attempt_store, decide, settle
from tidegate.payment.change import ChangeOutcome, PaymentChange
from tidegate.payment.decide import IncomingTransfer
from tidegate.payment.settle import TRIES
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import MoneyArrived, Notification
from tidegate.rail.notification import Destination, NotificationRef
from tidegate.rail.sandbox import signed_notification
from tidegate.rail.state import Party
from tidegate.runtime import Runtime

MANY = 12
PAYER = Party(name="Ada Obi", account_number="0123456789", bank_name=None, bank_code=None)


@pytest.fixture
def deps(runtime: Runtime) -> PaymentDeps:
    """One for all that happens in a test, as an API process has one: only who shares it is written together."""
    return runtime.deps


def credit(runtime: Runtime, account: str, *, minor: int = 10_000, transaction_id: str | None = None) -> MoneyArrived:
    return MoneyArrived(
        account_number=account,
        transaction_id=transaction_id or ids.new_event_id(),
        amount=Money(minor, Currency.NGN),
        payer=PAYER,
        payee_name=None,
        scheme="nip",
        remittance=None,
        valued_at=runtime.clock.now(),
    )


async def notify(
    runtime: Runtime, deps: PaymentDeps, transfer: MoneyArrived, *, notification_id: str | None = None
) -> None:
    body = signed_notification.write(Notification(id=notification_id or ids.new_event_id(), event=transfer))
    await intake.receive(
        deps, "sandbox", signed_notification.sign(body, runtime.secret, now=runtime.clock.now()), runtime.clock
    )


async def waiting(new_checkout: MakeCheckout, shop: Shop, count: int) -> tuple[list[Checkout], list[str]]:
    checkouts = [await new_checkout(shop) for _ in range(count)]
    return checkouts, [await checkout.account() for checkout in checkouts]


async def change_of(
    deps: PaymentDeps, runtime: Runtime, account: str, *, notification_id: str | None = None, **credited: Any
) -> PaymentChange:
    """What is to be written once this much has arrived there."""
    snapshot = await settle.find_by_destination(deps, Destination("sandbox", account, "T-1"))
    assert snapshot is not None
    assert snapshot.attempt is not None
    transfer = credit(runtime, account, **credited)
    rule = snapshot.business.fee_rule_by_id(snapshot.attempt.fee_rule_id)
    assert rule is not None
    assert snapshot.attempt.method is Method.BANK_TRANSFER
    return decide.on_arrival(
        snapshot,
        IncomingTransfer(rail="sandbox", transaction_id=transfer.transaction_id, amount=transfer.amount, payer={}),
        rule=rule,
        names=deps.names,
        public_ids=deps.public_ids,
        ref=NotificationRef(rail="sandbox", id=notification_id or ids.new_event_id(), body=b"{}"),
        now=runtime.clock.now(),
    )


async def apply_all(deps: PaymentDeps, *changes: PaymentChange) -> list[ChangeOutcome]:
    async with deps.db.connection() as tx:
        return await attempt_store.apply_all(tx, changes)


async def count(admin: Any, table: str, business_id: str) -> int:
    rows: int = await admin.fetchval(f"SELECT count(*) FROM {table} WHERE business_id = $1", business_id)
    return rows


async def test_many_at_once_are_written_in_few_transactions_and_the_balances_run_on(
    new_checkout: MakeCheckout, shop: Shop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    checkouts, accounts = await waiting(new_checkout, shop, MANY)
    await asyncio.gather(*(notify(runtime, deps, credit(runtime, account)) for account in accounts))
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


async def test_repeats_and_contradictions_in_a_batch_affect_no_other(
    new_checkout: MakeCheckout, shop: Shop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    checkouts, accounts = await waiting(new_checkout, shop, MANY)
    known = credit(runtime, accounts[0])
    await notify(runtime, deps, known, notification_id="first")
    contradiction = msgspec.structs.replace(known, account_number=accounts[1])
    await asyncio.gather(
        notify(runtime, deps, known, notification_id="first"),
        notify(runtime, deps, known, notification_id="under another name"),
        notify(runtime, deps, contradiction, notification_id="to another account"),
        notify(runtime, deps, credit(runtime, accounts[0]), notification_id="paid twice"),
        *(notify(runtime, deps, credit(runtime, account)) for account in accounts[2:]),
    )
    statuses = Counter([(await checkout.view())["status"] for checkout in checkouts])
    assert statuses == {"success": MANY - 1, "pending": 1}
    assert (await checkouts[0].view())["amountReturned"] == 100
    states = dict(await admin.fetch("SELECT id, state FROM notification WHERE id = ANY ($1)", [
        "first", "under another name", "to another account", "paid twice",
    ]))  # fmt: skip
    assert states == {
        "first": "done",
        "under another name": "done",
        "to another account": "quarantined",
        "paid twice": "done",
    }


async def test_parts_for_one_payment_that_wait_together_add_up(
    new_checkout: MakeCheckout, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await asyncio.gather(*(notify(runtime, deps, credit(runtime, account, minor=1_000)) for _ in range(10)))
    record = await checkout.record()
    assert (record["status"], record["amountReceived"]) == ("success", 100)


async def test_more_rivals_for_one_payment_than_are_written_together_all_get_their_turn(
    new_checkout: MakeCheckout, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    rivals = TRIES // 2 + 6
    await asyncio.gather(*(notify(runtime, deps, credit(runtime, account)) for _ in range(rivals)))
    view = await checkout.view()
    assert (view["status"], view["amountReturned"]) == ("success", 100 * (rivals - 1))


async def test_of_two_changes_of_one_payment_in_a_group_the_first_is_written(
    new_checkout: MakeCheckout, shop: Shop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    _, [account, other] = await waiting(new_checkout, shop, 2)
    first, second, beside = [await change_of(deps, runtime, number) for number in (account, account, other)]
    assert await apply_all(deps, first, second, beside) == [
        ChangeOutcome.WRITTEN,
        ChangeOutcome.STALE,
        ChangeOutcome.WRITTEN,
    ]
    assert await count(admin, "receipt", shop.business_id) == 2


async def test_one_notification_for_two_payments_in_a_group_is_acted_on_once(
    new_checkout: MakeCheckout, shop: Shop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    _, accounts = await waiting(new_checkout, shop, 2)
    changes = [await change_of(deps, runtime, account, notification_id="the same") for account in accounts]
    assert await apply_all(deps, *changes) == [ChangeOutcome.WRITTEN, ChangeOutcome.STALE]
    assert await apply_all(deps, changes[1]) == [ChangeOutcome.DUPLICATE]


async def test_a_batch_distinguishes_stale_duplicate_and_written(
    new_checkout: MakeCheckout, shop: Shop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    _, accounts = await waiting(new_checkout, shop, 5)
    before = [await change_of(deps, runtime, account) for account in accounts]
    stale = await change_of(deps, runtime, accounts[4])
    assert await apply_all(deps, before[0], before[4]) == [ChangeOutcome.WRITTEN] * 2
    assert before[0].ref is not None
    again = await change_of(deps, runtime, accounts[1], notification_id=before[0].ref.id)
    notifications = await admin.fetchval("SELECT count(*) FROM notification")
    outcomes = await apply_all(deps, before[2], again, stale, before[3])
    assert outcomes == [ChangeOutcome.WRITTEN, ChangeOutcome.DUPLICATE, ChangeOutcome.STALE, ChangeOutcome.WRITTEN]
    assert await admin.fetchval("SELECT count(*) FROM notification") == notifications + 2
    assert await count(admin, "receipt", shop.business_id) == 4


async def test_money_that_is_known_keeps_nothing_else_of_its_group_from_being_written(
    new_checkout: MakeCheckout, shop: Shop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    _, accounts = await waiting(new_checkout, shop, 3)
    known = await change_of(deps, runtime, accounts[0], transaction_id="T-1")
    assert await apply_all(deps, known) == [ChangeOutcome.WRITTEN]
    good, same = [
        await change_of(deps, runtime, accounts[1]),
        await change_of(deps, runtime, accounts[2], transaction_id="T-1"),
    ]
    assert await apply_all(deps, good, same) == [ChangeOutcome.WRITTEN, ChangeOutcome.ALREADY_RECEIVED]
    assert await count(admin, "receipt", shop.business_id) == 2


@pytest.mark.one_server("on a cluster a batch is of one business")
async def test_settlements_of_several_businesses_share_a_transaction(
    new_checkout: MakeCheckout, new_shop: MakeShop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    shops = [await new_shop() for _ in range(4)]
    waits = [await waiting(new_checkout, shop, 3) for shop in shops]
    accounts = [account for _, of_shop in waits for account in of_shop]
    await asyncio.gather(*(notify(runtime, deps, credit(runtime, account)) for account in accounts))
    for shop, (checkouts, _) in zip(shops, waits, strict=True):
        assert [(await checkout.view())["status"] for checkout in checkouts] == ["success"] * 3
        assert await count(admin, "journal", shop.business_id) == 3
    assert await admin.fetchval("SELECT count(DISTINCT xmin::text) FROM journal") < len(accounts) / 2


@pytest.mark.one_server("on a cluster a batch is of one business")
async def test_outcomes_of_several_businesses_are_their_own(
    new_checkout: MakeCheckout, new_shop: MakeShop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    shops = [await new_shop() for _ in range(3)]
    changes = [await change_of(deps, runtime, (await waiting(new_checkout, shop, 1))[1][0]) for shop in shops]
    assert await apply_all(deps, changes[1]) == [ChangeOutcome.WRITTEN]
    stale = msgspec.structs.replace(changes[1], ref=None, receipt=None)
    assert await apply_all(deps, changes[2], stale, changes[0]) == [
        ChangeOutcome.WRITTEN,
        ChangeOutcome.STALE,
        ChangeOutcome.WRITTEN,
    ]
    assert [await count(admin, "journal", shop.business_id) for shop in shops] == [1, 1, 1]


@pytest.mark.one_server("on a cluster a batch is of one business")
async def test_a_business_whose_rows_are_locked_holds_up_no_other(
    new_checkout: MakeCheckout, new_shop: MakeShop, runtime: Runtime, deps: PaymentDeps, admin: Any
) -> None:
    locked, free = [await waiting(new_checkout, await new_shop(), 1) for _ in range(2)]
    async with admin.transaction():
        await admin.execute("SELECT FROM payment WHERE pay_code = $1 FOR UPDATE", locked[0][0].pay_code)
        held = asyncio.ensure_future(notify(runtime, deps, credit(runtime, locked[1][0])))
        await notify(runtime, deps, credit(runtime, free[1][0]))
        assert (await free[0][0].view())["status"] == "success"
        changes = [await change_of(deps, runtime, account) for account in (locked[1][0], free[1][0])]
        with pytest.raises(Contended):
            await apply_all(deps, *changes)
    with suppress(Unavailable):
        await held
    await notify(runtime, deps, credit(runtime, locked[1][0]))
    assert (await locked[0][0].view())["status"] == "success"


def test_changes_of_every_caller_share_one_batcher(runtime: Runtime) -> None:
    """Each batcher has its own connections; several of them would take all of the pool."""
    assert runtime.deps is runtime.deps
