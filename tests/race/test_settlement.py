"""Two things at once for one payment: one effect. Each guard has a twin without it that shows the race is real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from build import Checkout, order
from conftest import MakeCheckout
from settable_clock import SettableClock
from tidegate.core import ids
from tidegate.core.ids import Mode
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra import lease_store, leased_work
from tidegate.infra.http.read import read
from tidegate.infra.lease_store import Lease
from tidegate.infra.leased_work import LEASE, LeaseLost, WorkKind
from tidegate.merchant import commands as merchants
from tidegate.money_return import commands as money_return
from tidegate.money_return import store as money_returns
from tidegate.payment import attempt_store, pay, settle, sweep
from tidegate.payment import commands as payments
from tidegate.payment.batching import PaymentBatching
from tidegate.payment.change import ChangeOutcome, PaymentChange
from tidegate.payment.decide import IncomingTransfer
from tidegate.payment.wire import CreatePayment, order_from
from tidegate.rail.instrument import TransferInstrument
from tidegate.rail.state import Running
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from waiting import until_waiting

RIVALS = 12


def arrival(minor: int = 10_000, transaction_id: str | None = None) -> IncomingTransfer:
    return IncomingTransfer(
        rail="sandbox",
        transaction_id=transaction_id or ids.new_event_id(),
        amount=Money(minor, Currency.NGN),
        payer={},
    )


async def arrive(runtime: Runtime, account: str, *arrivals: IncomingTransfer) -> None:
    """All at once, each as if in a process of its own: nothing of one waits for another before the database."""
    now = runtime.clock.now()
    tills = [(one, replace(runtime.deps)) for one in arrivals]
    await asyncio.gather(
        *(settle.record_arrival(deps, account, one, ref=None, now=now) for one, deps in tills),
        return_exceptions=True,
    )


async def journals(admin: Any, checkout: Checkout, kind: str) -> int:
    count: int = await admin.fetchval(
        "SELECT count(*) FROM journal WHERE business_id = $1 AND kind = $2", checkout.shop.business_id, kind
    )
    return count


async def test_two_receipts_at_once_settle_one_and_return_the_other(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    for _ in range(5):
        checkout = await new_checkout()
        account = await checkout.account()
        await arrive(runtime, account, *(arrival() for _ in range(RIVALS)))
        assert await journals(admin, checkout, "checkout_settled") == 1
        assert await journals(admin, checkout, "receipt_returning") == RIVALS - 1
        view = await checkout.view()
        assert (view["status"], view["amountReturned"]) == ("success", 100 * (RIVALS - 1))


async def test_the_same_receipt_at_once_counts_once(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await arrive(runtime, account, *(arrival(transaction_id="T-1") for _ in range(RIVALS)))
    assert await journals(admin, checkout, "checkout_settled") == 1
    assert await journals(admin, checkout, "receipt_returning") == 0


async def test_parts_at_once_add_up_exactly(new_checkout: MakeCheckout, runtime: Runtime, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await arrive(runtime, account, *(arrival(1_000) for _ in range(10)))
    record = await checkout.record()
    assert (record["status"], record["amountReceived"]) == ("success", 100)


async def expire_and_settle(runtime: Runtime, admin: Any, account: str, *, is_money_first: bool) -> None:
    """Both have read the payment before either writes; who is first is decided here, not by chance.

    The money is in time, and the sweep sees a moment after the end: both are right.
    """
    later = runtime.clock.now() + timedelta(hours=3)
    works = [
        lambda: arrive(runtime, account, arrival()),
        lambda: sweep.expire_payments(runtime.deps, SettableClock(later)),
    ]
    # The row is held until both stand before it, in the order in which they came.
    async with runtime.db.transaction() as tx:
        business_id = await tx.fetchval("SELECT business_id FROM payment")
        await tx.execute("SELECT FROM payment WHERE business_id = $1 FOR NO KEY UPDATE", business_id)
        running = []
        for count, work in enumerate(works if is_money_first else reversed(works), start=1):
            running.append(asyncio.create_task(work()))
            await until_waiting(admin, count)
    await asyncio.gather(*running)


@pytest.mark.parametrize(
    ("is_money_first", "ending"), [(True, ("success", 1, 0)), (False, ("expired", 0, 1))], ids=["money", "expiry"]
)
async def test_expiry_and_settlement_at_once_give_one_ending(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any, is_money_first: bool, ending: tuple[str, int, int]
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await expire_and_settle(runtime, admin, account, is_money_first=is_money_first)
    settled = await journals(admin, checkout, "checkout_settled")
    returned = await journals(admin, checkout, "receipt_returning")
    assert ((await checkout.record())["status"], settled, returned) == ending


VERSION = "AND payment.version = given.version"


@asynccontextmanager
async def without(admin: Any, guard: str) -> AsyncIterator[None]:
    whole = await admin.fetchval("SELECT pg_get_functiondef('write_payment_changes'::regproc)")
    assert guard in whole
    await admin.execute(whole.replace(guard, ""))
    try:
        yield
    finally:
        await admin.execute(whole)


@pytest.mark.breaks_the_books
async def test_twin_without_the_version_what_expired_is_settled_as_well(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout()
    async with without(admin, VERSION):
        await expire_and_settle(runtime, admin, await checkout.account(), is_money_first=False)
    assert (await checkout.record())["status"] == "success", "without the version the expiry is overwritten"


async def test_two_tabs_that_charge_at_once_start_one_attempt(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    answers = await asyncio.gather(*(checkout.charge({"type": "bank_transfer"}) for _ in range(6)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    open_attempts = await admin.fetchval(
        "SELECT count(*) FROM attempt WHERE business_id = $1 AND status IN ('starting', 'waiting', 'running')",
        checkout.shop.business_id,
    )
    assert open_attempts == 1


async def test_two_workers_ask_about_an_attempt_once(new_checkout: MakeCheckout, runtime: Runtime) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge({"type": "mobile_money", "phone": "+254712340005"})
    later = runtime.clock.now() + timedelta(seconds=10)
    done = await asyncio.gather(*(sweep.poll_rails(runtime.deps, SettableClock(later)) for _ in range(4)))
    assert sum(tally.done for tally in done) == 1


async def test_a_worker_whose_lease_was_taken_over_writes_nothing(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge({"type": "mobile_money", "phone": "+254712340005"})
    now = runtime.clock.now() + timedelta(seconds=10)

    later = now + LEASE
    zombie, heir = await claim(runtime, sweep.POLL, "zombie", now), await claim(runtime, sweep.POLL, "heir", later)

    async def record(lease: Lease) -> None:
        await settle.record_state(
            runtime.deps, lease.business_id, lease.id, Running(), ref=None, lease=lease, now=later
        )

    before = await admin.fetchrow("SELECT * FROM attempt WHERE reference = $1", zombie.id)
    with pytest.raises(LeaseLost):
        await record(zombie)
    assert await admin.fetchrow("SELECT * FROM attempt WHERE reference = $1", zombie.id) == before
    await record(heir)
    assert await admin.fetchval("SELECT polls FROM attempt WHERE reference = $1", heir.id) == before["polls"] + 1


async def test_a_change_under_a_lease_that_was_lost_since_it_was_decided_writes_nothing(
    new_checkout: MakeCheckout, runtime: Runtime
) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge({"type": "mobile_money", "phone": "+254712340005"})
    now = runtime.clock.now() + timedelta(seconds=10)
    zombie = await claim(runtime, sweep.POLL, "zombie", now)
    async with runtime.db.connection() as tx:
        snapshot = await attempt_store.find_by_reference(tx, zombie.business_id, zombie.id)
    assert snapshot is not None
    change = PaymentChange(payment=snapshot.payment, attempt=snapshot.attempt, lease=zombie, now=now)
    heir = await claim(runtime, sweep.POLL, "heir", now + LEASE)
    async with runtime.db.connection() as tx:
        assert await attempt_store.apply_all(tx, [change]) == [ChangeOutcome.STALE]
        ours = msgspec.structs.replace(change, lease=heir)
        assert await attempt_store.apply_all(tx, [ours]) == [ChangeOutcome.WRITTEN]


async def claim(runtime: Runtime, kind: WorkKind, token: str, now: datetime) -> Lease:
    """The only row that is due."""
    async with runtime.db.connection() as tx:
        [due] = await kind.list_due(tx, now, limit=10)
        lease = await lease_store.claim_one(tx, kind.name, due, token=token, now=now, lease_until=now + LEASE)
    assert lease is not None
    return lease


async def test_a_return_sent_by_a_zombie_is_not_marked_twice(new_checkout: MakeCheckout, runtime: Runtime) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    account = await checkout.account()
    await arrive(runtime, account, arrival(4_000))
    now = runtime.clock.now()

    zombie = await claim(runtime, money_return.SEND, "zombie", now)
    heir = await claim(runtime, money_return.SEND, "heir", now + LEASE)
    with pytest.raises(LeaseLost):
        async with leased_work.writing(runtime.db, zombie):
            pytest.fail("nothing may be written here")
    async with leased_work.writing(runtime.db, heir) as tx:
        found = await money_returns.find_to_send(tx, heir.business_id, heir.id, now)
        assert found is not None
        assert await money_returns.mark_sent(tx, found[1], now=now)


# The twins: the same races with one guard taken away, to show that the tests above would notice.


async def test_twin_without_the_version_and_the_journal_key_a_payment_settles_twice(
    make_database: Callable[[str], Awaitable[str]], base_url: str
) -> None:
    url = await make_database("tidegate_test_twin")
    admin = await asyncpg.connect(url)
    runtime = Runtime.of(Settings(database_url=url, base_url=base_url))
    try:
        async with without(admin, VERSION), runtime.open():
            account, business_id = await waiting_account(runtime)
            # The journal's unique key is the second guard: alone, it still holds.
            await arrive(runtime, account, *(arrival() for _ in range(RIVALS)))
            assert await settled(admin, business_id) == 1
            # post_journal names the key, so the twin gets one that never collides.
            await admin.execute("ALTER TABLE journal DROP CONSTRAINT journal_one_per_cause")
            await admin.execute(
                "ALTER TABLE journal ADD CONSTRAINT journal_one_per_cause UNIQUE (business_id, kind, cause, id)"
            )
            await admin.execute("DROP INDEX attempt_one_success_per_payment")
            await admin.execute("ALTER TABLE event DROP CONSTRAINT event_one_per_cause")
            account, business_id = await waiting_account(runtime)
            await arrive(runtime, account, *(arrival() for _ in range(RIVALS)))
            assert await settled(admin, business_id) > 1, "without the guards the race shows"
    finally:
        await admin.close()


@pytest.mark.breaks_the_books
async def test_twin_without_the_version_parts_are_lost(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    lost = 0
    for _ in range(5):
        checkout = await new_checkout(settings={"variance_policy": "top_up"})
        async with without(admin, VERSION):
            await arrive(runtime, await checkout.account(), *(arrival(500) for _ in range(RIVALS)))
        held = await admin.fetchval("SELECT held_minor FROM payment WHERE pay_code = $1", checkout.pay_code)
        arrived = await admin.fetchval(
            "SELECT sum(amount_minor) FROM receipt WHERE business_id = $1", checkout.shop.business_id
        )
        lost += arrived - held
    assert lost > 0, "without the version one part overwrites another"


async def test_twin_without_the_journal_key_the_version_alone_holds(
    make_database: Callable[[str], Awaitable[str]], base_url: str
) -> None:
    url = await make_database("tidegate_test_twin_key")
    admin = await asyncpg.connect(url)
    await admin.execute("ALTER TABLE journal DROP CONSTRAINT journal_one_per_cause")
    await admin.execute(
        "ALTER TABLE journal ADD CONSTRAINT journal_one_per_cause UNIQUE (business_id, kind, cause, id)"
    )
    runtime = Runtime.of(Settings(database_url=url, base_url=base_url))
    async with runtime.open():
        account, business_id = await waiting_account(runtime)
        await arrive(runtime, account, *(arrival() for _ in range(RIVALS)))
        assert await settled(admin, business_id) == 1
    await admin.close()


async def waiting_account(runtime: Runtime) -> tuple[str, str]:
    """A payment that waits for a transfer, made without the API: the copy has none."""
    now = runtime.clock.now()
    new = await merchants.create(runtime.db, name="Twin", email="twin@example.com", mode=Mode.SANDBOX, now=now)
    request = read(order(), CreatePayment)
    insert = PaymentBatching(runtime.db).insert
    draft = await payments.create(insert, new.business, order_from(request, new.business, runtime.deps.names), now=now)
    payer = pay.Payer(runtime.deps, new.business.id, draft.pay_code, "http://localhost", now)
    seen = await pay.view(runtime.db, payer.business_id, payer.pay_code)
    snapshot = await pay.charge(payer, seen, Method.BANK_TRANSFER, TransferInstrument("Twin", now), {})
    assert snapshot.attempt is not None
    assert snapshot.attempt.account_number is not None
    return snapshot.attempt.account_number, new.business.id


async def settled(admin: Any, business_id: str) -> int:
    count: int = await admin.fetchval(
        "SELECT count(*) FROM journal WHERE business_id = $1 AND kind = 'checkout_settled'", business_id
    )
    return count
