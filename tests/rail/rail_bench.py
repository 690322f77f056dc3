"""Every rail with what stands behind it under control (`bench_model.py`), and the providers' own sandboxes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from rail.bank_bench import bankfiles
from rail.bench_model import Bench, LineFault
from rail.pawapay_world import PawapayWorld, pawapay_world
from rail.paystack_world import ADDRESS, PaystackWorld, paystack_world, raw_of
from rail.world import SECRET
from settable_clock import SettableClock
from tidegate.core.money import Currency, Money
from tidegate.emulator.faults import Fault, FaultKind, Faults
from tidegate.emulator.pawapay import server as pawapay_server
from tidegate.emulator.pawapay.callbacks import Spoil
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount, EmulatedTransaction
from tidegate.emulator.paystack import server as paystack_server
from tidegate.emulator.paystack.model import EmulatedAccount, EmulatedPayment
from tidegate.infra.db import Database
from tidegate.infra.lease_store import Lease
from tidegate.rail.event import AttemptOutcome, Notification, RawNotification
from tidegate.rail.instrument import PaymentInstrument, Phone
from tidegate.rail.interface import Rail, RailBusy, RailTimeout, RefundMoney, StartAttempt
from tidegate.rail.pawapay import PawapayRail
from tidegate.rail.pawapay.ids import id_of
from tidegate.rail.paystack import PaystackRail
from tidegate.rail.sandbox import SandboxRail, signed_notification
from tidegate.rail.state import AttemptState, PayoutState, Succeeded
from tidegate.rail_settings import PAYSTACK_URL, PawapaySettings, PaystackSettings

PAYSTACK_KEY = os.environ.get("TIDEGATE_TEST_PAYSTACK_KEY", "")
PAWAPAY_TOKEN = os.environ.get("TIDEGATE_TEST_PAWAPAY_TOKEN", "")
T = TypeVar("T")


# The sandbox's rail.


class UnreliableRail(SandboxRail):
    """It has no line of its own that could break."""

    fault: LineFault | None = None

    async def _over_the_line(self, work: Callable[[], Awaitable[T]]) -> T:
        fault = self.fault
        if fault is not LineFault.DOWN:
            self.fault = None
        if fault is LineFault.BUSY:
            raise RailBusy("too many requests")
        if fault in (LineFault.BEFORE, LineFault.DOWN):
            raise RailTimeout("the line is broken")
        done = await work()
        if fault is LineFault.AFTER:
            raise RailTimeout("the answer is lost")
        return done

    async def start(self, attempt: StartAttempt, *, now: datetime) -> AttemptState:
        start = super().start
        return await self._over_the_line(lambda: start(attempt, now=now))

    async def poll(self, business_id: str, reference: str, *, now: datetime) -> AttemptState:
        poll = super().poll
        return await self._over_the_line(lambda: poll(business_id, reference, now=now))

    async def refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        refund = super().refund
        return await self._over_the_line(lambda: refund(money, now=now))

    async def poll_refund(self, money: RefundMoney, *, now: datetime) -> PayoutState:
        poll_refund = super().poll_refund
        return await self._over_the_line(lambda: poll_refund(money, now=now))


@dataclass
class SandboxBench(Bench):
    rail: UnreliableRail
    clock: SettableClock = field(kw_only=True)
    contradictions: list[RawNotification] = field(default_factory=list)

    async def pay(self, business_id: str, reference: str, amount: Money | None = None) -> None:
        if amount is None:
            await self.rail.approve(business_id, reference, now=self.clock.now())
            return
        state = Succeeded("sbx_other_amount", amount)
        outcome = AttemptOutcome(business_id=business_id, reference=reference, state=state)
        self.contradictions.append(self._signed(Notification(id="attempt-sbx_other_amount", event=outcome)))

    async def decline(self, business_id: str, reference: str) -> None:
        await self.rail.decline(business_id, reference, None, now=self.clock.now())

    def reject(self) -> PaymentInstrument:
        return Phone("+254712340004", "mpesa")

    def break_line(self, fault: LineFault) -> None:
        self.rail.fault = fault

    def mend_line(self) -> None:
        self.rail.fault = None

    async def sent(self, now: datetime) -> list[RawNotification]:
        sent, self.contradictions = self.contradictions, []

        async def take(_: Lease, raw: RawNotification) -> None:
            sent.append(raw)

        await self.rail.send_notifications(take, SettableClock(now))
        return sent

    def _signed(self, told: Notification, secret: bytes = SECRET) -> RawNotification:
        return signed_notification.sign(signed_notification.write(told), secret, now=self.clock.now())

    async def foreign(self, now: datetime) -> RawNotification:
        body = b'{"type":"attempt.failed","id":"x","businessId":"x","reference":"x","reason":"declined"}'
        return signed_notification.sign(body, b"the secret of another deployment", now=now)

    async def unknown(self, now: datetime) -> RawNotification:
        return signed_notification.sign(b'{"type":"something.new","id":"x"}', SECRET, now=now)

    async def end_refunds(self) -> None:
        self.clock.advance(timedelta(seconds=2))

    async def fail_refunds(self, business_id: str, reference: str) -> Decimal:
        return Decimal("40.13")

    def refunds(self) -> int | None:
        return None


@asynccontextmanager
async def sandbox(db: Database, clock: SettableClock) -> AsyncIterator[Bench]:
    yield SandboxBench(
        UnreliableRail(db, SECRET),
        Currency.KES,
        Phone("+254712345678", "mpesa"),
        clock=clock,
    )


# Rails over HTTP: their emulators break the line.

_KINDS = {
    LineFault.BEFORE: FaultKind.REFUSED,
    LineFault.AFTER: FaultKind.LOST,
    LineFault.BUSY: FaultKind.BUSY,
    LineFault.DOWN: FaultKind.REFUSED,
}


def _break(faults: Faults, fault: LineFault) -> None:
    faults.add(Fault(_KINDS[fault], times=10**6 if fault is LineFault.DOWN else 1))


@dataclass
class PaystackBench(Bench):
    world: PaystackWorld = field(kw_only=True)
    seen: int = 0

    def _payment(self, business_id: str, reference: str) -> EmulatedPayment:
        return self.world.service.memory.payments[f"{reference.replace('_', '-', 1)}.{business_id}"]

    async def pay(self, business_id: str, reference: str, amount: Money | None = None) -> None:
        payment = self._payment(business_id, reference)
        if amount is not None:
            payment.requested_amount = amount.minor
        self.world.service.pay(payment)

    async def decline(self, business_id: str, reference: str) -> None:
        self.world.service.decline(self._payment(business_id, reference))

    def reject(self) -> PaymentInstrument:
        self.world.service.faults.add(Fault(FaultKind.REJECTED))
        return self.instrument

    def break_line(self, fault: LineFault) -> None:
        _break(self.world.service.faults, fault)

    def mend_line(self) -> None:
        self.world.service.faults.clear()

    async def sent(self, now: datetime) -> list[RawNotification]:
        fresh = self.world.service.notifier.notices[self.seen :]
        self.seen += len(fresh)
        return [raw_of(one) for one in fresh]

    def _signed(self, told: dict[str, Any]) -> RawNotification:
        body = json.dumps(told).encode()
        signature = self.world.service.notifier.sign(body)
        return RawNotification(body, {"x-paystack-signature": signature}, peer=ADDRESS)

    async def foreign(self, now: datetime) -> RawNotification:
        data = {"id": 1, "domain": "live", "status": "success", "reference": "x", "amount": 100, "currency": "NGN"}
        return self._signed({"event": "charge.success", "data": data})

    async def unknown(self, now: datetime) -> RawNotification:
        return self._signed({"event": "something.new", "data": {}})

    async def end_refunds(self) -> None:
        self.world.service.advance(timedelta(seconds=10))

    def shorten_refunds(self) -> bool:
        for refund in self.world.service.memory.refunds.values():
            refund.amount = 25_00
        return True

    async def fail_refunds(self, business_id: str, reference: str) -> Decimal:
        self._payment(business_id, reference).refund_end = "failed"
        return Decimal(40)

    def refunds(self) -> int | None:
        return len(self.world.service.memory.refunds)


@asynccontextmanager
async def paystack(db: Database, clock: SettableClock) -> AsyncIterator[Bench]:
    async with paystack_world(db) as world:
        yield PaystackBench(
            world.rail,
            Currency.GHS,
            Phone("+233551234000", "mtn"),
            world=world,
        )


@dataclass
class PawapayBench(Bench):
    world: PawapayWorld = field(kw_only=True)
    seen: int = 0

    def _deposit(self, business_id: str, reference: str) -> EmulatedTransaction:
        return self.world.service.memory.deposits[id_of(business_id, reference)]

    async def pay(self, business_id: str, reference: str, amount: Money | None = None) -> None:
        self.world.service.approve(self._deposit(business_id, reference), paid=amount.major if amount else None)

    async def decline(self, business_id: str, reference: str) -> None:
        self.world.service.fail(self._deposit(business_id, reference))

    def reject(self) -> PaymentInstrument:
        self.world.service.faults.add(Fault(FaultKind.REJECTED))
        return self.instrument

    def break_line(self, fault: LineFault) -> None:
        _break(self.world.service.faults, fault)

    def mend_line(self) -> None:
        self.world.service.faults.clear()

    async def sent(self, now: datetime) -> list[RawNotification]:
        fresh = self.world.service.callbacks.sent[self.seen :]
        self.seen += len(fresh)
        return [self._signed(one.body, now) for one in fresh]

    def _signed(self, body: bytes, now: datetime, spoil: Spoil | None = None) -> RawNotification:
        return self.world.signed(body, spoil, now=now)

    async def foreign(self, now: datetime) -> RawNotification:
        """Its sandbox has other keys."""
        body = b'{"depositId":"x","status":"COMPLETED","amount":"1.00","currency":"KES"}'
        return self._signed(body, now, Spoil.OTHER_KEY)

    async def unknown(self, now: datetime) -> RawNotification:
        return self._signed(b'{"remittanceId":"x","status":"SOMETHING_NEW"}', now)

    async def end_refunds(self) -> None:
        self.world.service.advance(timedelta(seconds=2))

    def shorten_refunds(self) -> bool:
        for refund in self.world.service.memory.refunds.values():
            refund.amount = Decimal(25)
        return True

    async def fail_refunds(self, business_id: str, reference: str) -> Decimal:
        self._deposit(business_id, reference).phone = "254712345119"
        return Decimal(40)

    def refunds(self) -> int | None:
        return len(self.world.service.memory.refunds)


@asynccontextmanager
async def pawapay(db: Database, clock: SettableClock) -> AsyncIterator[Bench]:
    async with pawapay_world(db) as world:
        yield PawapayBench(
            world.rail,
            Currency.KES,
            Phone("+254712345678", "mpesa"),
            world=world,
        )


BENCHES: dict[str, Callable[[Database, SettableClock], AbstractAsyncContextManager[Bench]]] = {
    "sandbox": sandbox,
    "paystack": paystack,
    "pawapay": pawapay,
    "bankfiles": bankfiles,
}


# The providers' own sandboxes: their payers are test numbers, their line is whole, their notifications do not reach a
# test. Without a test key in the environment the emulator stands for them, whose clock need not be waited for.

Pause = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class SandboxAccess:
    url: str
    key: str
    pause: Pause


async def _wait() -> None:
    await asyncio.sleep(5)


def _moving(advance: Callable[[timedelta], None]) -> Pause:
    async def move() -> None:
        advance(timedelta(seconds=5))

    return move


@asynccontextmanager
async def _paystack_access() -> AsyncIterator[SandboxAccess]:
    if PAYSTACK_KEY:
        yield SandboxAccess(PAYSTACK_URL, PAYSTACK_KEY, _wait)
        return
    async with paystack_server.running(EmulatedAccount("sk_test_emulated0000")) as emulated:
        yield SandboxAccess(emulated.api_url, "sk_test_emulated0000", _moving(emulated.service.advance))


@asynccontextmanager
async def _pawapay_access() -> AsyncIterator[SandboxAccess]:
    if PAWAPAY_TOKEN:
        yield SandboxAccess("https://api.sandbox.pawapay.io", PAWAPAY_TOKEN, _wait)
        return
    async with pawapay_server.running(EmulatedPawapayAccount("emulated-pawapay-token")) as emulated:
        yield SandboxAccess(emulated.api_url, "emulated-pawapay-token", _moving(emulated.service.advance))


@dataclass(frozen=True)
class ProviderSandbox:
    access: Callable[[], AbstractAsyncContextManager[SandboxAccess]]
    # Of the address and the key.
    make: Callable[[Database, str, str], Rail]
    wrong_key: str
    currency: Currency
    paying: Phone
    # None where no number declines.
    declining: Phone | None


SANDBOXES = {
    "paystack": ProviderSandbox(
        _paystack_access,
        lambda db, url, key: PaystackRail(PaystackSettings(secret_key=key, base_url=url), db, webhook_url=""),
        "sk_test_0123456789abcdef0123456789abcdef01234567",
        Currency.GHS,
        Phone("+233551234987", "mtn"),
        None,
    ),
    "pawapay": ProviderSandbox(
        _pawapay_access,
        lambda db, url, key: PawapayRail(PawapaySettings(token=key, base_url=url), db, callback_url=""),
        "not-a-token-of-theirs",
        Currency.KES,
        Phone("+254703456789", "mpesa"),
        Phone("+254703456039", "mpesa"),
    ),
}
