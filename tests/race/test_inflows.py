"""Inflows at once: one effect each. Each guard has a twin without it that shows the other one holds alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from conftest import MakeCheckout
from inflow import CLOSE, HOLDER, Inflows, credit, reversal_of
from receiver import receiving
from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OPERATOR, OURSELVES
from tidegate.collection import reversal, review, settle, store
from tidegate.collection.model import AccountSnapshot
from tidegate.core import ids
from tidegate.core.errors import Refusal
from tidegate.core.ids import Mode
from tidegate.core.money import Currency, Money
from tidegate.merchant import commands as merchants
from tidegate.rail.event import MoneyArrived
from tidegate.rail.notification import Destination, NotificationRef
from tidegate.rail.state import Party
from tidegate.runtime import Runtime
from tidegate.settings import Settings
from waiting import until_waiting

RIVALS = 20


def arrival(number: str, transaction_id: str) -> MoneyArrived:
    return MoneyArrived(
        account_number=number, transaction_id=transaction_id, amount=Money(100_00, Currency.EUR), payer=Party(),
        payee_name=HOLDER, scheme="sepa", remittance=None, valued_at=datetime(2026, 3, 14, tzinfo=UTC),
    )  # fmt: skip


async def arrive(runtime: Runtime, number: str, transaction_id: str, rivals: int = RIVALS) -> None:
    """The same money under as many identifiers, each on a connection of its own."""
    async with runtime.db.connection() as tx:
        snapshot = await store.find_account_snapshot(tx, "sandbox", number)
    assert snapshot is not None
    transfer, now = arrival(number, transaction_id), runtime.clock.now()
    refs = [NotificationRef(rail="sandbox", id=ids.new_event_id(), body=b"") for _ in range(rivals)]
    await asyncio.gather(
        *(settle.record_arrival(runtime.deps, snapshot, transfer, ref=one, now=now) for one in refs),
        return_exceptions=True,
    )


async def credited(admin: Any) -> tuple[int, int]:
    """Journals, and what the wallets hold."""
    journals = await admin.fetchval("SELECT count(*) FROM journal WHERE kind = 'inflow_credited'")
    return journals, int(await admin.fetchval("SELECT coalesce(sum(balance_minor), 0) FROM wallet"))


@pytest.mark.one_server("on a cluster the lock is on the node of the business")
@pytest.mark.parametrize("other", ["in suspense", "of a payment"])
async def test_a_transaction_notified_at_once_in_two_ways_is_recorded_once(
    other: str, inflows: Inflows, new_checkout: MakeCheckout
) -> None:
    number, admin = await inflows.number(), inflows.admin
    place = {"currency": "USD"}
    if other == "of a payment":
        place = {"currency": "NGN", "accountNumber": await (await new_checkout(inflows.shop)).account()}
    async with admin.transaction():
        await admin.execute("SELECT lock_transactions(ARRAY[$1])", f"{inflows.shop.business_id} sandbox T-1")
        bodies = [credit(number, transactionId="T-1", **fields) for fields in ({}, place)]
        both = asyncio.gather(*(inflows.notify(body) for body in bodies))
        await until_waiting(admin, 2)
    assert [answer.status_code for answer in await both] == [200, 200]
    assert await admin.fetchval("SELECT (SELECT count(*) FROM collection) + (SELECT count(*) FROM receipt)") == 1


async def test_the_same_credit_notified_many_times_at_once_is_one(inflows: Inflows) -> None:
    number = await inflows.number()
    bodies = [credit(number, transactionId="T-1") for _ in range(RIVALS // 2)]
    answers = await asyncio.gather(*(inflows.notify(body) for body in [*bodies, *bodies]))
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert await credited(inflows.admin) == (1, 95_00)
    assert (await inflows.page())["total"] == 1
    await arrive(inflows.runtime, number, "T-2")
    assert await credited(inflows.admin) == (2, 190_00)


@pytest.mark.one_server("on a cluster each is written by itself")
async def test_inflows_that_wait_at_the_same_moment_share_a_transaction(inflows: Inflows) -> None:
    numbers = [await inflows.number() for _ in range(3)]
    money = [arrival(numbers[n % 3], f"T-{n}") for n in range(12)]
    places = [await settle.find_account(inflows.runtime.deps, Destination("sandbox", number, "")) for number in numbers]

    async def record(snapshot: AccountSnapshot | None, transfer: MoneyArrived) -> None:
        assert snapshot is not None
        ref = NotificationRef(rail="sandbox", id=ids.new_event_id(), body=b"")
        await settle.record_arrival(inflows.runtime.deps, snapshot, transfer, ref=ref, now=inflows.now)

    await asyncio.gather(*(record(places[n % 3], transfer) for n, transfer in enumerate(money)))
    assert await credited(inflows.admin) == (12, 12 * 95_00)
    assert await inflows.admin.fetchval("SELECT count(DISTINCT xmin::text) FROM journal") < 6
    assert (await inflows.page())["total"] == 12


async def test_a_suspension_in_the_same_moment_is_before_or_after(inflows: Inflows) -> None:
    for n in range(6):
        account = await inflows.account()
        assert account.details is not None
        number = account.details.account_number
        await asyncio.gather(
            arrive(inflows.runtime, number, f"T-{n}", rivals=3),
            accounts.suspend(inflows.runtime.db, account.id, "a complaint", by=OPERATOR, now=inflows.now),
        )
        kinds = await inflows.admin.fetch("SELECT kind FROM journal WHERE cause = $1", f"sandbox/T-{n}")
        assert [row["kind"] for row in kinds] in (["inflow_credited"], ["receipt_returning"])
        record = await inflows.inflow(f"T-{n}")
        assert record["status"] == ("successful" if kinds[0]["kind"] == "inflow_credited" else "reversed")
        # Whatever comes now goes back.
        await arrive(inflows.runtime, number, f"late-{n}", rivals=2)
        assert (await inflows.inflow(f"late-{n}"))["status"] == "reversed"


async def test_a_decision_made_before_a_change_of_the_account_is_made_again(inflows: Inflows) -> None:
    account = await inflows.account()
    assert account.details is not None
    number = account.details.account_number
    async with inflows.runtime.db.connection() as tx:
        stale = await store.find_account_snapshot(tx, "sandbox", number)
    assert stale is not None
    await accounts.suspend(inflows.runtime.db, account.id, "a complaint", by=OPERATOR, now=inflows.now)
    ref = NotificationRef(rail="sandbox", id="n-1", body=b"")
    recorded = await settle.record_arrival(
        inflows.runtime.deps, stale, arrival(number, "T-1"), ref=ref, now=inflows.now
    )
    assert recorded.status == "reversed"


async def test_a_decision_and_a_reversal_at_once_leave_the_money_in_one_place(inflows: Inflows) -> None:
    number, deps = await inflows.number(), inflows.runtime.deps
    for _ in range(5):
        body = credit(number, payeeName=CLOSE)
        reference = (await inflows.notified(body))["reference"]

        async def decide(reference: str = reference) -> None:
            await review.credit(deps, reference, note=None, by=OPERATOR, now=inflows.now)

        done = await asyncio.gather(decide(), inflows.notify(reversal_of(body)), return_exceptions=True)
        assert not [one for one in done if isinstance(one, BaseException) and not isinstance(one, Refusal)], done
        await reversal.apply_due(deps, inflows.runtime.clock)
        assert (await inflows.get(reference))["status"] in ("reversed", "failed")
    assert await inflows.wallet("EUR") == 0


async def test_two_workers_apply_a_reversal_once(inflows: Inflows) -> None:
    body = credit(await inflows.number())
    await inflows.notify(reversal_of(body))
    await inflows.notified(body)
    done = await asyncio.gather(*(reversal.apply_due(inflows.runtime.deps, inflows.runtime.clock) for _ in range(6)))
    assert sum(tally.done for tally in done) == 1
    assert (await inflows.journals())["held_reversed"] == 1


async def test_a_return_confirmed_many_times_at_once_is_confirmed_once(inflows: Inflows) -> None:
    record = await inflows.notified(credit(await inflows.number(), payeeName="Somebody Else"))
    reference = record["refundInfo"]["returnReference"]
    left = {"type": "return.left", "businessId": inflows.shop.business_id, "reference": reference, "transactionId": "x"}
    bodies = [{**left, "id": ids.new_event_id()} for _ in range(8)]
    answers = await asyncio.gather(*(inflows.notify(body) for body in bodies))
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert (await inflows.events())["collection.returned"] == 1
    assert (await inflows.journals())["return_done"] == 1


async def test_a_process_that_dies_before_the_wake_up_has_written_the_event(
    inflows: Inflows, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Nothing in the product may catch it, as nothing catches a kill."""

    def die(*_: Any) -> None:
        raise Killed

    number = await inflows.number()
    async with receiving() as receiver:
        await inflows.call("POST", "/webhooks/endpoints", {"url": receiver.url()})
        async with inflows.runtime.db.connection() as tx:
            snapshot = await store.find_account_snapshot(tx, "sandbox", number)
        assert snapshot is not None
        monkeypatch.setattr(settle, "_tell", die)
        ref = NotificationRef(rail="sandbox", id="n-1", body=b"")
        with pytest.raises(Killed):
            await settle.record_arrival(
                inflows.runtime.deps, snapshot, arrival(number, "T-1"), ref=ref, now=inflows.now
            )
        assert await inflows.deliver() == len(receiver.received) == 1


# The twins: the same race with one guard taken away.


@asynccontextmanager
async def twin(url: str, base_url: str) -> AsyncIterator[tuple[Runtime, str]]:
    """A copy of everything, and the number of an account in it."""
    runtime = Runtime.of(Settings(database_url=url, base_url=base_url))
    async with runtime.open():
        now = runtime.clock.now()
        new = await merchants.create(runtime.db, name="Twin", email="twin@example.com", mode=Mode.SANDBOX, now=now)
        draft = Account(
            business_id=new.business.id, id=ids.new_account_id(), currency=Currency.EUR,
            settlement_currency=Currency.EUR, account_type=AccountType.INDIVIDUAL, holder=HOLDER,
            created_at=now, updated_at=now,
        )  # fmt: skip
        await accounts.request(runtime.db, draft, by=OURSELVES, now=now)
        approved = await accounts.approve(runtime.deps, draft.id, by=OPERATOR, now=now)
        assert approved.details is not None
        yield runtime, approved.details.account_number


async def test_twins_without_one_guard_credit_once_and_without_both_twice(
    make_database: Callable[[str], Awaitable[str]], base_url: str
) -> None:
    url = await make_database("tidegate_test_twin_inflow")
    admin = await asyncpg.connect(url)
    try:
        async with twin(url, base_url) as (runtime, number):
            # Only the journal's key is left. The functions name their keys, so the twin gets some that never collide.
            await admin.execute("ALTER TABLE collection DROP CONSTRAINT collection_one_per_transaction")
            await admin.execute(
                "ALTER TABLE collection ADD CONSTRAINT collection_one_per_transaction "
                "UNIQUE (business_id, rail, transaction_id, id)"
            )
            await arrive(runtime, number, "T-1")
            assert await credited(admin) == (1, 95_00)
            await admin.execute("ALTER TABLE journal DROP CONSTRAINT journal_one_per_cause")
            await admin.execute(
                "ALTER TABLE journal ADD CONSTRAINT journal_one_per_cause UNIQUE (business_id, kind, cause, id)"
            )
            await admin.execute("ALTER TABLE event DROP CONSTRAINT event_one_per_cause")
            await arrive(runtime, number, "T-2")
            assert (await credited(admin))[0] > 2, "without the guards the race shows"
            # Only the collection's key is left.
            await admin.execute("DELETE FROM collection")
            await admin.execute("ALTER TABLE collection DROP CONSTRAINT collection_one_per_transaction")
            await admin.execute(
                "ALTER TABLE collection ADD CONSTRAINT collection_one_per_transaction "
                "UNIQUE (business_id, rail, transaction_id)"
            )
            before = (await credited(admin))[0]
            await arrive(runtime, number, "T-3")
            assert (await credited(admin))[0] == before + 1
    finally:
        await admin.close()
