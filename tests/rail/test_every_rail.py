"""What every rail must pass, together with the engine that it serves: payments, notifications, refunds and the books.

With a test key in the environment (`TIDEGATE_TEST_PAYSTACK_KEY`, `TIDEGATE_TEST_PAWAPAY_TOKEN`) the last tests run
against the sandbox of the provider instead of its emulator: a payment, its refunds, and refusals.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from build import Shop, order
from conftest import check_books
from rail.bench_model import Bench, LineFault
from rail.rail_bench import BENCHES, SANDBOXES, ProviderSandbox, SandboxAccess
from rail.world import PAYER, RETURN_URL
from settable_clock import SettableClock
from tidegate.audit.model import OPERATOR
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Unauthenticated
from tidegate.core.ids import new_attempt_reference, new_refund_reference
from tidegate.core.method import Method
from tidegate.core.money import Money
from tidegate.infra.db import Database
from tidegate.intake import request_again, returns
from tidegate.payment import pay, sweep
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import PaymentStatus
from tidegate.rail import registry
from tidegate.rail.deps import PaymentDeps
from tidegate.rail.event import RawNotification
from tidegate.rail.instrument import PaymentInstrument, Phone
from tidegate.rail.interface import Rail, RailRefused, RefundMoney, StartAttempt
from tidegate.rail.registry import LIVE_RAILS
from tidegate.rail.state import AttemptState, Failed, PayoutState, Running, StillWaiting, Succeeded, Waiting
from tidegate.refund import send as refunds
from tidegate.runtime import Runtime

ENDED = (PaymentStatus.SUCCESS, PaymentStatus.FAILED, PaymentStatus.EXPIRED)


@dataclass(frozen=True)
class Engine:
    """The engine with this rail only, in a time of its own."""

    bench: Bench
    deps: PaymentDeps
    clock: SettableClock
    shop: Shop
    admin: Any

    def minor(self, major: int) -> int:
        return major * self.bench.currency.minor_per_major

    def needs_notifications(self) -> None:
        if not self.bench.notifies:
            pytest.skip(f"{self.bench.rail.name} sends no notifications; its payments are asked about")

    def needs_signatures(self) -> None:
        if not self.bench.signs:
            pytest.skip(f"{self.bench.rail.name} has no signatures: what comes by its own way is believed")

    def needs_calls(self) -> None:
        if not self.bench.calls:
            pytest.skip(f"{self.bench.rail.name} begins an attempt without a call: none is rejected, limited or lost")

    async def charged(self, given: PaymentInstrument | None = None, **fields: Any) -> PaymentSnapshot:
        answer = await self.shop.create(order(amount=100, currency=self.bench.currency, **fields))
        assert answer.status_code == 201, answer.text
        return await self.charge(answer.json()["data"]["payCode"], given)

    async def charge(self, pay_code: str, given: PaymentInstrument | None = None) -> PaymentSnapshot:
        instrument, details = given or self.bench.instrument, {}
        if isinstance(instrument, Phone):
            details = {"phone": instrument.number, "operator": instrument.operator}
        payer = pay.Payer(self.deps, self.shop.business_id, pay_code, RETURN_URL, self.clock.now())
        seen = await self.view(pay_code)
        return await pay.charge(payer, seen, self.bench.method, instrument, details)

    async def view(self, pay_code: str) -> PaymentSnapshot:
        return await pay.view(self.deps.db, self.shop.business_id, pay_code)

    async def paid(self, snapshot: PaymentSnapshot, amount: Money | None = None) -> None:
        assert snapshot.attempt is not None
        await self.bench.pay(self.shop.business_id, snapshot.attempt.reference, amount)

    async def deliver(self, *notifications: RawNotification) -> None:
        for raw in notifications:
            await self.bench.deliver(self.deps, raw, self.clock)

    async def poll(self, *, minutes: int = 3) -> None:
        """The worker's rounds, over so many minutes."""
        for _ in range(minutes):
            self.clock.advance(timedelta(minutes=1))
            await sweep.poll_rails(self.deps, self.clock)
            await refunds.poll_rails(self.deps, self.clock)
            await returns.send(self.deps, self.clock)
            await self.bench.work(self.deps, self.clock)

    async def look_for_refunds(self) -> None:
        """An operator looks at a rail that would pay twice for what it may not have, and has it requested again."""
        query = "SELECT id FROM notification WHERE state = 'quarantined' AND rail = ANY ($1)"
        for row in await self.admin.fetch(query, list(request_again.RAILS)):
            assert self.bench.refunds() == 0
            reference = row["id"].removeprefix("refund-")
            await request_again.request_again(
                self.deps, "refund", self.shop.business_id, reference, note="not there", by=OPERATOR,
                now=self.clock.now(),
            )  # fmt: skip

    async def receipts(self) -> list[tuple[int, str]]:
        query = "SELECT amount_minor, outcome FROM receipt WHERE business_id = $1 ORDER BY id"
        return [tuple(row) for row in await self.admin.fetch(query, self.shop.business_id)]

    async def settled(self) -> PaymentSnapshot:
        """A payment that was paid, and the rail's notifications of it delivered."""
        snapshot = await self.charged()
        await self.paid(snapshot)
        await self.deliver(*await self.bench.sent(self.clock.now()))
        await self.poll()
        after = await self.view(snapshot.payment.pay_code)
        assert after.payment.status is PaymentStatus.SUCCESS
        return after

    async def refund(self, snapshot: PaymentSnapshot, amount: Decimal | int) -> str:
        body = {"transReference": snapshot.payment.pay_code, "amount": float(amount), "reason": "sold out"}
        answer = await self.shop.client.post(
            "/collections/refund", json=body, headers={"api-key": self.shop.secret_key}
        )
        assert answer.is_success, answer.text
        reference: str = answer.json()["data"]["reference"]
        return reference

    async def quarantined(self) -> list[str]:
        rows = await self.admin.fetch("SELECT note FROM notification WHERE state = 'quarantined'")
        return [row["note"] for row in rows]

    async def refund_status(self, reference: str) -> str:
        query = "SELECT status FROM refund WHERE business_id = $1 AND reference = $2"
        status: str = await self.admin.fetchval(query, self.shop.business_id, reference)
        return status


@pytest.fixture(params=BENCHES)
async def engine(
    request: pytest.FixtureRequest, db: Database, runtime: Runtime, shop: Shop, admin: Any
) -> AsyncIterator[Engine]:
    """Whatever a test does, the books are in order afterwards."""
    clock = SettableClock(SystemClock().now())
    async with BENCHES[request.param](db, clock) as bench:
        deps = replace(runtime.deps, rails={bench.rail.name: bench.rail})
        yield Engine(bench, deps, clock, shop, admin)
    await check_books(runtime)


def test_every_rail_has_a_bench() -> None:
    assert set(BENCHES) == {"sandbox", *LIVE_RAILS}
    # Not every provider has a sandbox.
    assert set(SANDBOXES) <= set(LIVE_RAILS)


# Accepted and rejected


async def test_accepted_and_paid(engine: Engine) -> None:
    snapshot = await engine.charged()
    assert snapshot.payment.status is PaymentStatus.PENDING
    assert snapshot.attempt is not None
    assert snapshot.attempt.action is not None
    await engine.settled()
    assert await engine.receipts() == [(engine.minor(100), "settled")]


async def test_rejected_and_free_to_try_again(engine: Engine) -> None:
    engine.needs_calls()
    snapshot = await engine.charged(engine.bench.reject())
    assert snapshot.attempt is not None
    assert not snapshot.attempt.is_open
    assert snapshot.payment.status is PaymentStatus.PENDING
    assert await engine.receipts() == []
    again = await engine.charge(snapshot.payment.pay_code)
    assert again.attempt is not None
    assert again.attempt.is_open


async def test_declined_by_the_payer(engine: Engine) -> None:
    engine.needs_calls()
    snapshot = await engine.charged()
    assert snapshot.attempt is not None
    await engine.bench.decline(engine.shop.business_id, snapshot.attempt.reference)
    await engine.deliver(*await engine.bench.sent(engine.clock.now()))
    await engine.poll()
    after = await engine.view(snapshot.payment.pay_code)
    assert after.attempt is not None
    assert not after.attempt.is_open
    assert after.attempt.failure is not None
    assert await engine.receipts() == []


# Time-outs


async def test_a_time_out_before_the_effect_charges_nothing(engine: Engine) -> None:
    engine.needs_calls()
    engine.bench.break_line(LineFault.BEFORE)
    snapshot = await engine.charged()
    assert snapshot.payment.status is PaymentStatus.PROCESSING
    await engine.poll(minutes=5)
    after = await engine.view(snapshot.payment.pay_code)
    assert after.payment.status is PaymentStatus.PENDING
    again = await engine.charge(snapshot.payment.pay_code)
    await engine.paid(again)
    await engine.poll()
    assert await engine.receipts() == [(engine.minor(100), "settled")]


async def test_a_time_out_after_the_effect_is_found_and_paid_once(engine: Engine) -> None:
    engine.needs_calls()
    engine.bench.break_line(LineFault.AFTER)
    snapshot = await engine.charged()
    assert snapshot.payment.status is PaymentStatus.PROCESSING
    await engine.paid(snapshot)
    await engine.poll()
    assert (await engine.view(snapshot.payment.pay_code)).payment.status is PaymentStatus.SUCCESS
    await engine.deliver(*await engine.bench.sent(engine.clock.now()))
    assert await engine.receipts() == [(engine.minor(100), "settled")]


# Notifications


async def test_a_duplicate_is_one_payment(engine: Engine) -> None:
    engine.needs_notifications()
    snapshot = await engine.charged()
    await engine.paid(snapshot)
    sent = await engine.bench.sent(engine.clock.now())
    assert sent
    await asyncio.gather(*(engine.deliver(raw) for raw in sent * 3))
    await engine.deliver(*sent)
    await engine.poll()
    assert (await engine.view(snapshot.payment.pay_code)).payment.status is PaymentStatus.SUCCESS
    assert await engine.receipts() == [(engine.minor(100), "settled")]


async def test_out_of_order_and_after_asking_is_one_payment_and_one_refund(engine: Engine) -> None:
    snapshot = await engine.charged()
    await engine.paid(snapshot)
    await engine.poll()
    reference = await engine.refund(snapshot, 40)
    await engine.poll(minutes=1)
    await engine.bench.end_refunds()
    await engine.poll(minutes=5)
    late = await engine.bench.sent(engine.clock.now())
    await engine.deliver(*reversed(late))
    await engine.poll()
    assert await engine.receipts() == [(engine.minor(100), "settled")]
    assert await engine.refund_status(reference) == "successful"


async def test_a_late_payment_is_not_lost(engine: Engine) -> None:
    engine.needs_notifications()
    snapshot = await engine.charged()
    # Longer than any payment waits.
    engine.clock.advance(timedelta(days=5))
    await sweep.expire_payments(engine.deps, engine.clock)
    ended = await engine.view(snapshot.payment.pay_code)
    assert ended.payment.status in ENDED
    await engine.paid(snapshot)
    await engine.deliver(*await engine.bench.sent(engine.clock.now()))
    [(minor, outcome)] = await engine.receipts()
    assert minor == engine.minor(100)
    assert outcome in ("settled", "returned")
    await engine.poll()
    await engine.bench.end_refunds()
    await engine.poll(minutes=30)
    await engine.deliver(*await engine.bench.sent(engine.clock.now()))
    query = "SELECT count(*) FROM money_return WHERE business_id = $1 AND status <> 'confirmed'"
    assert await engine.admin.fetchval(query, engine.shop.business_id) == 0


async def test_a_wrong_signature_is_refused_and_changes_nothing(engine: Engine) -> None:
    engine.needs_notifications()
    engine.needs_signatures()
    snapshot = await engine.charged()
    await engine.paid(snapshot)
    for raw in await engine.bench.sent(engine.clock.now()):
        spoilt = [
            RawNotification(raw.body + b" ", raw.headers, raw.method, raw.authority, raw.path, raw.peer),
            RawNotification(raw.body, {}, raw.method, raw.authority, raw.path, raw.peer),
        ]
        for forged in spoilt:
            with pytest.raises(Unauthenticated):
                await engine.deliver(forged)
    assert await engine.receipts() == []
    assert (await engine.view(snapshot.payment.pay_code)).payment.status is PaymentStatus.PENDING


async def test_another_mode_is_refused(engine: Engine) -> None:
    with pytest.raises(Unauthenticated):
        await engine.deliver(await engine.bench.foreign(engine.clock.now()))


async def test_an_unknown_event_is_acknowledged_and_changes_nothing(engine: Engine) -> None:
    engine.needs_notifications()
    await engine.deliver(await engine.bench.unknown(engine.clock.now()))
    assert await engine.receipts() == []


async def test_another_amount_is_recorded_as_it_arrived(engine: Engine) -> None:
    snapshot = await engine.charged()
    await engine.paid(snapshot, Money.of_major(60, engine.bench.currency))
    await engine.deliver(*await engine.bench.sent(engine.clock.now()))
    await engine.poll()
    [(minor, _)] = await engine.receipts()
    assert minor == engine.minor(60)
    after = await engine.view(snapshot.payment.pay_code)
    assert after.payment.variance is not None or after.payment.status is not PaymentStatus.SUCCESS


# Refunds


async def test_a_refund_of_all(engine: Engine) -> None:
    # The fee of a payment is not refunded, so the wallet needs more than one.
    await engine.settled()
    snapshot = await engine.settled()
    reference = await engine.refund(snapshot, 100)
    await engine.poll(minutes=1)
    assert await engine.refund_status(reference) in ("processing", "successful")
    await engine.bench.end_refunds()
    await engine.poll(minutes=5)
    assert await engine.refund_status(reference) == "successful"


async def test_refunds_in_parts_up_to_the_whole(engine: Engine) -> None:
    """Two at once: a rail that takes one at a time makes the second wait."""
    await engine.settled()
    snapshot = await engine.settled()
    references = [await engine.refund(snapshot, 40), await engine.refund(snapshot, 60)]
    for _ in range(4):
        await engine.poll(minutes=5)
        await engine.bench.end_refunds()
    await engine.poll(minutes=30)
    assert [await engine.refund_status(reference) for reference in references] == ["successful"] * 2
    assert engine.bench.refunds() in (2, None)


async def test_a_refund_that_fails_is_back_in_the_wallet(engine: Engine) -> None:
    snapshot = await engine.settled()
    assert snapshot.attempt is not None
    amount = await engine.bench.fail_refunds(engine.shop.business_id, snapshot.attempt.reference)
    query = "SELECT balance_minor FROM wallet WHERE business_id = $1"
    before = await engine.admin.fetchval(query, engine.shop.business_id)
    reference = await engine.refund(snapshot, amount)
    await engine.poll(minutes=1)
    await engine.bench.end_refunds()
    await engine.poll(minutes=5)
    assert await engine.refund_status(reference) == "failed"
    assert await engine.admin.fetchval(query, engine.shop.business_id) == before


@pytest.mark.parametrize("fault", [LineFault.BEFORE, LineFault.AFTER])
async def test_a_refund_without_an_answer_is_paid_once(engine: Engine, fault: LineFault) -> None:
    snapshot = await engine.settled()
    reference = await engine.refund(snapshot, 40)
    engine.bench.break_line(fault)
    await engine.poll(minutes=15)
    await engine.look_for_refunds()
    await engine.poll(minutes=1)
    await engine.bench.end_refunds()
    await engine.poll(minutes=30)
    assert await engine.refund_status(reference) == "successful"
    assert engine.bench.refunds() in (1, None)


async def test_a_refund_of_which_another_amount_was_paid_is_not_ended(engine: Engine) -> None:
    reference = await engine.refund(await engine.settled(), 40)
    await engine.poll(minutes=1)
    if not engine.bench.shorten_refunds():
        pytest.skip("it pays what was asked for")
    await engine.bench.end_refunds()
    await engine.poll(minutes=5)
    assert await engine.refund_status(reference) == "processing"
    [why] = await engine.quarantined()
    assert f" 25.00 was paid for the refund {reference}" in why


async def test_a_return_of_which_another_amount_was_paid_is_not_ended(engine: Engine) -> None:
    engine.needs_notifications()
    snapshot = await engine.charged()
    # Longer than any payment waits.
    engine.clock.advance(timedelta(days=5))
    await sweep.expire_payments(engine.deps, engine.clock)
    await engine.paid(snapshot)
    await engine.deliver(*await engine.bench.sent(engine.clock.now()))
    await engine.poll(minutes=1)
    if not engine.bench.shorten_refunds():
        pytest.skip("it pays what was asked for")
    await engine.bench.end_refunds()
    await engine.poll(minutes=30)
    query = "SELECT status FROM money_return WHERE business_id = $1"
    assert [row["status"] for row in await engine.admin.fetch(query, engine.shop.business_id)] == ["sent"]
    [why] = await engine.quarantined()
    assert " 25.00 was paid for the return " in why


# Its limits


async def test_a_rate_limit_is_no_failure_of_the_payer(engine: Engine) -> None:
    engine.needs_calls()
    engine.bench.break_line(LineFault.BUSY)
    snapshot = await engine.charged()
    assert snapshot.attempt is not None
    assert snapshot.attempt.failure == "rail_unavailable"
    again = await engine.charge(snapshot.payment.pay_code)
    await engine.paid(again)
    engine.bench.break_line(LineFault.BUSY)
    await engine.poll(minutes=5)
    assert (await engine.view(snapshot.payment.pay_code)).payment.status is PaymentStatus.SUCCESS


async def test_down_for_an_hour(engine: Engine) -> None:
    """What was under way goes on afterwards: a payment that was made, and a refund."""
    refunded = await engine.settled()
    paid = await engine.charged()
    await engine.paid(paid)
    reference = await engine.refund(refunded, 40)
    engine.bench.break_line(LineFault.DOWN)
    await engine.poll(minutes=60)
    assert await engine.refund_status(reference) == "processing"
    assert await engine.receipts() == [(engine.minor(100), "settled")]
    engine.bench.mend_line()
    await engine.poll(minutes=60)
    await engine.look_for_refunds()
    await engine.poll(minutes=1)
    await engine.bench.end_refunds()
    await engine.poll(minutes=60)
    assert await engine.refund_status(reference) == "successful"
    assert [minor for minor, _ in await engine.receipts()] == [engine.minor(100), engine.minor(100)]


# The providers' own sandboxes, or their emulators: no notification reaches a test, and no line breaks on request.


@dataclass(frozen=True)
class Reached:
    sandbox: ProviderSandbox
    access: SandboxAccess
    rail: Rail
    shop: Shop

    def attempt(self, phone: Phone) -> StartAttempt:
        return StartAttempt(
            business_id=self.shop.business_id,
            reference=new_attempt_reference(),
            method=Method.MOBILE_MONEY,
            amount=Money.of_major(100, self.sandbox.currency),
            instrument=phone,
            payer=PAYER,
            return_url=RETURN_URL,
        )

    async def ended(self, attempt: StartAttempt) -> AttemptState:
        async with asyncio.timeout(240):
            while True:
                await self.access.pause()
                state = await self.rail.poll(attempt.business_id, attempt.reference, now=now())
                if not isinstance(state, Running | StillWaiting | Waiting):
                    return state

    def refund_of(self, paid: Succeeded, major: int) -> RefundMoney:
        return RefundMoney(
            business_id=self.shop.business_id,
            reference=new_refund_reference(),
            transaction_id=paid.transaction_id,
            amount=Money.of_major(major, self.sandbox.currency),
        )

    async def refunded(self, money: RefundMoney) -> PayoutState:
        async with asyncio.timeout(240):
            while isinstance(state := await self.rail.poll_refund(money, now=now()), Running):
                await self.access.pause()
        return state


def now() -> datetime:
    return SystemClock().now()


@pytest.fixture(params=SANDBOXES)
async def reached(request: pytest.FixtureRequest, db: Database, shop: Shop) -> AsyncIterator[Reached]:
    sandbox = SANDBOXES[request.param]
    async with sandbox.access() as access:
        rail = sandbox.make(db, access.url, access.key)
        async with registry.opened([rail]):
            yield Reached(sandbox, access, rail, shop)


async def test_the_providers_sandbox_takes_a_payment_once_and_refunds_it_in_parts(reached: Reached) -> None:
    rail, attempt = reached.rail, reached.attempt(reached.sandbox.paying)
    assert (await rail.check(now=now()))[0].is_well
    await rail.start(attempt, now=now())
    await rail.start(attempt, now=now())
    paid = await reached.ended(attempt)
    assert isinstance(paid, Succeeded)
    assert paid.amount == attempt.amount
    for major in (40, 60):
        money = reached.refund_of(paid, major)
        assert not isinstance(await rail.refund(money, now=now()), Failed)
        # The same one again is the same refund: with a second one of 40 there would be no 60 left.
        await rail.refund(money, now=now())
        assert isinstance(await reached.refunded(money), Succeeded)


async def test_the_providers_sandbox_declines(reached: Reached) -> None:
    if reached.sandbox.declining is None:
        pytest.skip(f"{reached.rail.name} has no test number that declines")
    attempt = reached.attempt(reached.sandbox.declining)
    await reached.rail.start(attempt, now=now())
    assert isinstance(await reached.ended(attempt), Failed)


async def test_the_providers_sandbox_refuses_a_wrong_key(reached: Reached, db: Database) -> None:
    rail = reached.sandbox.make(db, reached.access.url, reached.sandbox.wrong_key)
    async with registry.opened([rail]):
        assert not (await rail.check(now=now()))[0].is_well
        with pytest.raises(RailRefused):
            await rail.start(reached.attempt(reached.sandbox.paying), now=now())
