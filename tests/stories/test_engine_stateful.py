"""Anything that can happen to payments, in any order, on a real database; the books are examined after each step."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from build import order
from conftest import empty, open_emptier
from settable_clock import SettableClock
from tidegate.audit.model import OPERATOR
from tidegate.core.errors import Refusal, Unavailable
from tidegate.core.ids import Mode, new_event_id
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.doctor.commands import examine_books
from tidegate.infra.http.read import read
from tidegate.intake import returns
from tidegate.ledger import chain
from tidegate.merchant import commands as merchants
from tidegate.payment import commands as payments
from tidegate.payment import pay, settle, sweep
from tidegate.payment.batching import PaymentBatching
from tidegate.payment.decide import IncomingTransfer
from tidegate.payment.wire import CreatePayment, order_from
from tidegate.rail.instrument import Bank, Card, Otp, Pin, TransferInstrument
from tidegate.rail.interface import RailTimeout
from tidegate.rail.notification import AlreadyReceived
from tidegate.rail.sandbox.model import UNLUCKY_MINOR
from tidegate.refund import commands as refunds
from tidegate.refund import send as refund_settle
from tidegate.refund.model import RefundRequest
from tidegate.runtime import Runtime
from tidegate.sandbox import notifier
from tidegate.sandbox.simulator import Simulator
from tidegate.settings import Settings

EXAMPLES = int(os.environ.get("TIDEGATE_TEST_STORIES", "24"))
STEPS = 40
# A machine that never got there would prove nothing. Chance decides what a short run sees; a long one must see all.
LONG_RUN = 300
SOMETIMES = {"pending", "success", "failed", "expired", "settled", "held", "returned", "confirmed"}
SOMETIMES |= {"underpayment", "overpayment", "refund processing", "refund successful", "refund failed"}

CARDS = ("5319317801366660", "5366139833864633", "5333018248439266", "4084080000005408")


ROUNDS = (
    sweep.expire_payments,
    sweep.close_accounts,
    sweep.poll_rails,
    sweep.return_held,
    returns.send,
    refund_settle.poll_rails,
    notifier.send_notifications,
)


class Crash(BaseException):
    """Nothing in the product may catch it, as nothing catches a kill."""


def new_arrival(money: Money) -> IncomingTransfer:
    return IncomingTransfer(rail="sandbox", transaction_id=new_event_id(), amount=money, payer={})


class Engine(RuleBasedStateMachine):
    """Each rule is something a payer, a bank, a rail or time does. Refusals are fine; wrong books are not."""

    payments = Bundle("payments")
    transfers = Bundle("transfers")
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    runtime: Runtime
    clean: Callable[[], Coroutine[Any, Any, None]]
    look: Callable[[], Coroutine[Any, Any, set[str]]]
    seen: set[str]

    @initialize(policy=st.sampled_from(["accept", "top_up", "return"]), tolerance=st.sampled_from([0, 50]))
    def open_a_shop(self, policy: str, tolerance: int) -> None:
        self.run(self.clean())
        now = self.runtime.clock.now()
        new = self.run(
            merchants.create(self.runtime.db, name="Story", email="story@example.com", mode=Mode.SANDBOX, now=now)
        )
        changes = {"variance_policy": policy, "variance_tolerance_minor": tolerance}
        self.business = self.run(merchants.change(self.runtime.db, new.business.id, changes, now=now))

    def attempt(self, step: Coroutine[Any, Any, Any]) -> Any:
        """A refusal is an answer; anything else that is raised is a bug, and so is giving up with nobody else there."""
        try:
            return self.run(step)
        except Unavailable:
            raise
        except (Refusal, AlreadyReceived, RailTimeout):
            return None

    async def charge(self, pay_code: str, method: Method, instrument: Any, details: dict[str, Any]) -> Any:
        seen = await pay.view(self.runtime.db, self.business.id, pay_code)
        return await pay.charge(self.payer(pay_code), seen, method, instrument, details)

    def payer(self, pay_code: str) -> pay.Payer:
        return pay.Payer(self.runtime.deps, self.business.id, pay_code, "http://localhost", self.runtime.clock.now())

    @rule(target=payments, bearer=st.sampled_from(["business", "customer"]), amount=st.integers(1, 5_000))
    def create(self, bearer: str, amount: int) -> str:
        request = read(order(reference=..., amount=amount, feeBearer=bearer), CreatePayment)

        async def step() -> str:
            insert = PaymentBatching(self.runtime.db).insert
            wanted = order_from(request, self.business, self.runtime.deps.names)
            draft = await payments.create(insert, self.business, wanted, now=self.runtime.clock.now())
            return draft.pay_code

        code: str = self.run(step())
        return code

    @rule(pay_code=payments)
    def ask_for_a_new_account(self, pay_code: str) -> None:
        self.account_for(pay_code)

    def account_for(self, pay_code: str) -> Any:
        instrument = TransferInstrument("Story", self.runtime.clock.now())
        return self.attempt(self.charge(pay_code, Method.BANK_TRANSFER, instrument, {}))

    @rule(pay_code=payments, number=st.sampled_from(CARDS))
    def pay_by_card(self, pay_code: str, number: str) -> None:
        self.attempt(self.charge(pay_code, Method.CARD, Card(number, 12, 2040, "123"), {}))

    @rule(pay_code=payments, given=st.sampled_from([Pin("1234"), Pin("0000"), Otp("123456"), Otp("000000")]))
    def answer_the_bank(self, pay_code: str, given: Any) -> None:
        self.attempt(pay.authorize(self.payer(pay_code), given))

    @rule(pay_code=payments)
    def dial(self, pay_code: str) -> None:
        self.attempt(self.charge(pay_code, Method.USSD, Bank("058"), {}))

    @rule(pay_code=payments, is_approved=st.booleans())
    def answer_on_the_phone(self, pay_code: str, is_approved: bool) -> None:
        async def step() -> None:
            snapshot = await pay.view(self.runtime.db, self.business.id, pay_code)
            if snapshot.attempt is None:
                return
            rail: Any = self.runtime.rails["sandbox"]
            now = self.runtime.clock.now()
            if is_approved:
                await rail.approve(self.business.id, snapshot.attempt.reference, now=now)
            else:
                await rail.decline(self.business.id, snapshot.attempt.reference, None, now=now)

        self.attempt(step())

    @rule(target=transfers, pay_code=payments, part=st.sampled_from([1, 30, 50, 99, 100, 101, 170]))
    def transfer(self, pay_code: str, part: int) -> Any:
        """To the account on the page, which may have closed; to a new one when there is none."""
        snapshot = self.run(pay.view(self.runtime.db, self.business.id, pay_code))
        if snapshot.attempt is None or snapshot.attempt.account_number is None:
            snapshot = self.account_for(pay_code)
        if snapshot is None or snapshot.attempt is None or snapshot.attempt.account_number is None:
            return multiple()
        money = Money(max(snapshot.payment.expected.minor * part // 100, 1), Currency.NGN)
        arrived = (snapshot.attempt.account_number, new_arrival(money))
        self.arrive(arrived)
        return arrived

    @rule(arrived=transfers)
    def send_the_same_again(self, arrived: Any) -> None:
        account, before = arrived
        self.arrive((account, new_arrival(before.amount)))

    @rule(arrived=transfers)
    def notify_again(self, arrived: Any) -> None:
        self.arrive(arrived)

    def arrive(self, arrived: Any) -> None:
        number, arrival = arrived
        now = self.runtime.clock.now()
        self.attempt(settle.record_arrival(self.runtime.deps, number, arrival, ref=None, now=now))

    @rule(pay_code=payments, is_reached=st.booleans())
    def crash_while_calling_the_rail(self, pay_code: str, is_reached: bool) -> None:
        """The intent is recorded, then all stops: before the rail was called, or before its answer was written."""
        rail: Any = self.runtime.rails["sandbox"]
        start = rail.start

        async def stop(order: Any, *, now: Any) -> Any:
            if is_reached:
                await start(order, now=now)
            raise Crash

        rail.start = stop
        try:
            self.attempt(self.charge(pay_code, Method.CARD, Card(CARDS[0], 12, 2040, "123"), {}))
        except Crash:
            pass
        finally:
            rail.start = start

    @rule(pay_code=payments, part=st.sampled_from([None, 1, 13, 50, 100]), is_declined=st.booleans())
    def refund(self, pay_code: str, part: int | None, is_declined: bool) -> None:
        """All that remains, or a part of what was received; amounts that end in .13 are declined by the rail."""

        async def step() -> None:
            payment = (await pay.view(self.runtime.db, self.business.id, pay_code)).payment
            amount = None
            if part is not None:
                minor = max(payment.received.minor * part // 100, 1)
                amount = Decimal(minor - minor % 100 + UNLUCKY_MINOR if is_declined else minor).scaleb(-2)
            request = RefundRequest(reference=pay_code, amount=amount)
            async with self.runtime.db.transaction() as tx:
                await refunds.begin(tx, self.business.id, request, by=OPERATOR, now=self.runtime.clock.now())

        self.attempt(step())

    @rule(pay_code=payments)
    def give_up(self, pay_code: str) -> None:
        self.attempt(pay.cancel(self.payer(pay_code)))

    @rule(pay_code=payments, is_disabled=st.sampled_from([True, False, False]))
    def disable_or_enable(self, pay_code: str, is_disabled: bool) -> None:
        now = self.runtime.clock.now()
        # Made without a reference, a payment goes by its pay code.
        self.attempt(payments.set_disabled(self.runtime.db, self.business, pay_code, is_disabled=is_disabled, now=now))

    @rule(pay_code=payments)
    def expire_now(self, pay_code: str) -> None:
        simulator = Simulator(self.runtime.deps)
        self.attempt(simulator.expire(self.business.id, pay_code, now=self.runtime.clock.now()))

    @rule(pay_code=payments)
    def ask_for_more_time(self, pay_code: str) -> None:
        self.attempt(pay.extend(self.payer(pay_code)))

    @rule(minutes=st.sampled_from([1, 1, 5, 31, 125]))
    def let_time_pass(self, minutes: int) -> None:
        assert isinstance(self.runtime.clock, SettableClock)
        self.runtime.clock.advance(timedelta(minutes=minutes))

    @rule()
    def work(self) -> None:
        """What a worker does in a second, in an order of its own."""
        for round_ in ROUNDS:
            self.run(round_(self.runtime.deps, self.runtime.clock))

    @rule()
    def a_quiet_minute(self) -> None:
        """What was begun on a rail comes to its end."""
        for _ in range(3):
            self.let_time_pass(1)
            self.work()

    @rule(round_=st.sampled_from(ROUNDS))
    def work_on_one_thing(self, round_: Any) -> None:
        self.run(round_(self.runtime.deps, self.runtime.clock))

    @precondition(lambda self: hasattr(self, "business"))
    @invariant()
    def the_books_are_in_order(self) -> None:
        now = self.runtime.clock.now()
        while self.run(chain.extend(self.runtime.db, self.runtime.clock)).done:
            pass
        findings, sums = self.run(examine_books(self.runtime.db, now=now))
        # Sessions end when a sweep comes by, and no sweep is promised between two steps.
        assert [f for f in findings if not f.is_well and f.subject != "sessions"] == []
        self.seen |= self.run(self.look())
        assert all(sum(s.minor for s in sums if s.currency == currency) == 0 for currency in {s.currency for s in sums})


async def states(admin: Any) -> set[str]:
    rows = await admin.fetch(
        "SELECT status AS word FROM payment UNION SELECT variance FROM payment UNION SELECT outcome FROM receipt "
        "UNION SELECT status FROM money_return UNION SELECT 'refund ' || status FROM refund"
    )
    return {row["word"] for row in rows}


def test_no_order_of_events_breaks_the_books(story_url: str) -> None:
    """In a loop of its own: the machine's steps are synchronous."""
    with asyncio.Runner() as runner:
        runtime = Runtime.of(Settings(database_url=story_url))
        opened = runtime.open()
        runner.run(opened.__aenter__())
        # The machine moves the time itself, that of leases too.
        runtime.clock = SettableClock(runtime.clock.now())
        emptier = runner.run(open_emptier(story_url))
        seen: set[str] = set()
        given: dict[str, Any] = {"runtime": runtime, "run": staticmethod(runner.run), "seen": seen}
        given |= {"clean": staticmethod(lambda: empty(emptier)), "look": staticmethod(lambda: states(emptier))}
        machine: Any = type("Story", (Engine,), given)
        limits: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}
        machine.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, **limits)
        try:
            machine.TestCase().runTest()
            assert EXAMPLES < LONG_RUN or seen >= SOMETIMES
        finally:
            runner.run(emptier.close())
            runner.run(opened.__aexit__(None, None, None))


@pytest.fixture
async def story_url(make_database: Any) -> str:
    url: str = await make_database("tidegate_test_story")
    return url
