"""Paystack's rail, against the emulated Paystack over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from rail.paystack_world import ADDRESS, PaystackWorld, paystack_world, raw_of
from rail.world import RETURN_URL
from receiver import answer, receiving
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Conflict, NotFound
from tidegate.core.ids import new_refund_reference
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.emulator.faults import Fault, FaultKind
from tidegate.emulator.paystack.model import EmulatedAccount
from tidegate.infra.db import Database
from tidegate.rail import breaker
from tidegate.rail.action import (
    DialAction,
    FailureReason,
    OtpAction,
    PromptAction,
    RedirectAction,
    TransferAction,
)
from tidegate.rail.event import (
    AttemptOutcome,
    CreditReversed,
    DisputeChanged,
    DisputeStatus,
    PollRequested,
    PollSubject,
    RawNotification,
)
from tidegate.rail.instrument import Bank, Otp, Phone, TransferInstrument
from tidegate.rail.interface import (
    NotificationRefused,
    NotificationUnreadable,
    RailBusy,
    RailRefused,
    RailTimeout,
    RefundMoney,
    ReturnMoney,
    StartAttempt,
)
from tidegate.rail.paystack import reference, store
from tidegate.rail.paystack.rail import PaystackRail
from tidegate.rail.paystack.signed_notification import sign
from tidegate.rail.state import Failed, Running, StillWaiting, Succeeded, Waiting
from tidegate.rail_settings import PaystackSettings

GHS, KES, NGN, ZAR = Currency.GHS, Currency.KES, Currency.NGN, Currency.ZAR
SUCCEEDS, DECLINED, NO_MONEY = "4084084084084081", "4084080000005408", "4084080000670037"
REFUND_FAILS, REFUND_NEEDS_ATTENTION = "4084080000671803", "4084080000671902"
NO_AMOUNTS: list[Any] = [0, -1, "1.5", "x", None, True, 10**19, []]
UNKNOWN_OUTCOMES = [FaultKind.LOST, FaultKind.HTML, FaultKind.PAGE, FaultKind.CUT, FaultKind.HUGE]


def now() -> Any:
    return SystemClock().now()


def later(**by: int) -> Any:
    return now() + timedelta(**by)


@pytest.fixture
async def world(db: Database) -> AsyncIterator[PaystackWorld]:
    async with paystack_world(db) as made:
        yield made


def transfer() -> TransferInstrument:
    return TransferInstrument(account_name="Test Shop", expires_at=later(minutes=30))


def by_phone(world: PaystackWorld, number: str = "+233551234000", operator: str = "mtn") -> StartAttempt:
    currency = KES if number.startswith("+254") else GHS
    return world.order(Phone(number, operator), method=Method.MOBILE_MONEY, amount=Money.of_major(20, currency))


def by_transfer(world: PaystackWorld, currency: Currency = NGN) -> StartAttempt:
    return world.order(transfer(), method=Method.BANK_TRANSFER, amount=Money.of_major(250, currency))


async def ask(world: PaystackWorld, order: StartAttempt, **by: int) -> Any:
    return await world.rail.poll(order.business_id, order.reference, now=later(**by))


async def paid(world: PaystackWorld, card: str = SUCCEEDS, amount: Money | None = None) -> Succeeded:
    order = world.order(amount=amount)
    await world.rail.start(order, now=now())
    world.service.pay_with_card(world.payment(order), card)
    state = await ask(world, order)
    assert isinstance(state, Succeeded)
    return state


def refund_of(world: PaystackWorld, of: Succeeded, minor: int | None = None) -> RefundMoney:
    amount = Money(minor, of.amount.currency) if minor else of.amount
    return RefundMoney(
        business_id=world.business_id,
        reference=new_refund_reference(),
        transaction_id=of.transaction_id,
        amount=amount,
    )


def return_of(world: PaystackWorld, of: Succeeded, minor: int | None = None) -> ReturnMoney:
    return ReturnMoney(
        business_id=world.business_id,
        reference="rt_0B5RkWq0Zt7cYhN4mPs9Lx",
        transaction_id=of.transaction_id,
        amount=Money(minor, of.amount.currency) if minor else of.amount,
        reason="too late",
    )


# What it offers, and how an attempt begins


@pytest.mark.parametrize(
    ("method", "amount", "is_hosted"),
    [
        (Method.CARD, Money.of_major(100, NGN), True),
        (Method.CARD, Money.of_major(100, ZAR), True),
        (Method.BANK_TRANSFER, Money.of_major(100, NGN), False),
        (Method.BANK_TRANSFER, Money.of_major(100, KES), False),
        (Method.BANK_TRANSFER, Money.of_major(100, ZAR), True),
        (Method.USSD, Money.of_major(100, NGN), False),
        (Method.MOBILE_MONEY, Money.of_major(100, GHS), False),
        (Method.MOBILE_MONEY, Money.of_major(100, KES), False),
    ],
)
def test_it_offers_what_paystack_takes(world: PaystackWorld, method: Method, amount: Money, is_hosted: bool) -> None:
    terms = world.rail.capabilities.terms_for(method, amount.currency)
    assert terms is not None
    assert terms.is_hosted is is_hosted
    assert world.rail.capabilities.offers(method, amount)
    assert not world.rail.capabilities.offers(method, Money(9, amount.currency))
    assert not world.rail.capabilities.offers(method, Money.of_major(10_000_001, amount.currency))


@pytest.mark.parametrize(
    ("method", "currency"),
    [(Method.BANK_TRANSFER, GHS), (Method.CARD, GHS), (Method.CARD, Currency.ZMW), (Method.MOBILE_MONEY, Currency.UGX)],
)
def test_it_offers_nothing_else(world: PaystackWorld, method: Method, currency: Currency) -> None:
    assert not world.rail.capabilities.offers(method, Money.of_major(100, currency))


async def test_a_card_is_entered_on_the_page_of_paystack_only(world: PaystackWorld) -> None:
    order = world.order()
    started = await world.rail.start(order, now=now())
    assert isinstance(started, Waiting)
    assert isinstance(started.action, RedirectAction)
    assert started.action.is_hosted
    assert isinstance(await ask(world, order), StillWaiting)
    async with httpx.AsyncClient() as browser:
        assert (await browser.get(started.action.url)).status_code == 200
        answer = await browser.post(started.action.url, data={"number": SUCCEEDS})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{RETURN_URL}/back?")
    state = await ask(world, order)
    assert isinstance(state, Succeeded)
    assert (state.amount, state.transaction_id) == (order.amount, str(world.payment(order).id))


@pytest.mark.parametrize(
    ("card", "reason"), [(DECLINED, FailureReason.DECLINED), (NO_MONEY, FailureReason.INSUFFICIENT_FUNDS)]
)
async def test_a_refused_card_is_found_by_asking_and_never_notified(
    world: PaystackWorld, card: str, reason: FailureReason
) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    world.service.pay_with_card(world.payment(order), card)
    assert await ask(world, order) == Failed(reason)
    assert world.service.notifier.notices == []


async def test_a_transfer_has_an_account_of_its_own_that_paystack_closes(world: PaystackWorld) -> None:
    order = by_transfer(world)
    started = await world.rail.start(order, now=now())
    assert isinstance(started, Waiting)
    action = started.action
    assert isinstance(action, TransferAction)
    assert (action.reference, action.is_polled, action.destination) == (None, True, action.account_number)
    assert action.expires_at is not None
    assert timedelta(minutes=29) < action.expires_at - now() < timedelta(minutes=31)
    assert world.service.transfer(world.payment(order), 250_00, sender="Ada Obi")
    state = await ask(world, order)
    assert isinstance(state, Succeeded)
    assert state.payer is not None
    assert (state.payer.name, state.payer.account_number) == ("Ada Obi", "XXXXXXX553")


async def test_a_transfer_of_another_amount_is_sent_back_by_paystack(world: PaystackWorld) -> None:
    order = by_transfer(world)
    await world.rail.start(order, now=now())
    assert not world.service.transfer(world.payment(order), 249_00, sender="Ada Obi")
    assert await world.told("bank.transfer.rejected") == []
    assert isinstance(await ask(world, order), StillWaiting)


async def test_a_kenyan_account_is_shared_and_closes_after_25_minutes(world: PaystackWorld) -> None:
    first, second = by_transfer(world, KES), by_transfer(world, KES)
    actions = [(await world.rail.start(order, now=now())) for order in (first, second)]
    one, other = (state.action for state in actions if isinstance(state, Waiting))
    assert isinstance(one, TransferAction)
    assert isinstance(other, TransferAction)
    assert one.account_number == other.account_number
    assert one.reference != other.reference
    assert one.destination != other.destination
    assert one.expires_at is not None
    assert one.expires_at - now() < timedelta(minutes=26)


async def test_a_ussd_code_is_dialled(world: PaystackWorld) -> None:
    order = world.order(Bank("058"), method=Method.USSD)
    started = await world.rail.start(order, now=now())
    assert isinstance(started, Waiting)
    assert isinstance(started.action, DialAction)
    assert started.action.code.startswith("*737*")
    world.service.pay(world.payment(order))
    assert isinstance(await ask(world, order), Succeeded)


async def test_instant_eft_is_a_page(world: PaystackWorld) -> None:
    order = world.order(method=Method.BANK_TRANSFER, amount=Money.of_major(100, ZAR))
    started = await world.rail.start(order, now=now())
    assert isinstance(started, Waiting)
    assert isinstance(started.action, RedirectAction)
    assert started.action.is_hosted


@pytest.mark.parametrize(("number", "operator"), [("+233551234987", "mtn"), ("+254710000000", "mpesa")])
async def test_a_prompt_is_approved_on_the_phone(world: PaystackWorld, number: str, operator: str) -> None:
    order = by_phone(world, number, operator)
    started = await world.rail.start(order, now=now())
    assert isinstance(started, Waiting)
    assert isinstance(started.action, PromptAction)
    assert started.action.text
    assert isinstance(await ask(world, order), StillWaiting)
    world.service.advance(timedelta(seconds=2))
    assert isinstance(await ask(world, order), Succeeded)


async def test_a_prompt_that_nobody_approves_fails_after_three_minutes(world: PaystackWorld) -> None:
    order = by_phone(world)
    await world.rail.start(order, now=now())
    world.service.advance(timedelta(seconds=179))
    assert isinstance(await ask(world, order), StillWaiting)
    world.service.advance(timedelta(seconds=1))
    assert await ask(world, order) == Failed(FailureReason.EXPIRED)
    assert world.service.notifier.notices == []


async def test_a_voucher_is_asked_for_until_it_is_right(world: PaystackWorld) -> None:
    order = by_phone(world, "+233201234567", "telecel")
    started = await world.rail.start(order, now=now())
    assert isinstance(started, Waiting)
    assert isinstance(started.action, OtpAction)
    assert "voucher" in (started.action.text or "")
    again = await world.rail.authorize(order.business_id, order.reference, Otp("000000"), now=now())
    assert isinstance(again, Waiting)
    assert again.problem is FailureReason.WRONG_OTP
    assert isinstance(
        await world.rail.authorize(order.business_id, order.reference, Otp("123456"), now=now()), Succeeded
    )


async def test_a_code_for_a_card_is_refused(world: PaystackWorld) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    with pytest.raises(Conflict):
        await world.rail.authorize(order.business_id, order.reference, Otp("123456"), now=now())


# Repeats, time-outs, refusals


async def test_a_repeated_start_is_one_transaction_and_says_the_same(world: PaystackWorld) -> None:
    for order in (world.order(), by_transfer(world), by_phone(world)):
        first = await world.rail.start(order, now=now())
        assert await world.rail.start(order, now=now()) == first
    assert len(world.service.memory.payments) == 3


async def test_concurrent_starts_are_one_transaction(world: PaystackWorld) -> None:
    order = by_transfer(world)
    answers = await asyncio.gather(*(world.rail.start(order, now=now()) for _ in range(5)), return_exceptions=True)
    assert len(world.service.memory.payments) == 1
    assert {type(answer) for answer in answers} <= {Waiting, RailTimeout}
    assert Waiting in {type(answer) for answer in answers}


@pytest.mark.parametrize("kind", UNKNOWN_OUTCOMES)
async def test_a_start_without_an_answer_is_unknown_and_never_a_failure(world: PaystackWorld, kind: FaultKind) -> None:
    order = by_phone(world, "+233551234987")
    world.service.faults.add(Fault(kind, "/charge"))
    with pytest.raises(RailTimeout):
        await world.rail.start(order, now=now())
    with pytest.raises(RailTimeout):
        await ask(world, order)
    world.service.advance(timedelta(seconds=2))
    assert isinstance(await ask(world, order), Succeeded)


async def test_a_page_that_nobody_was_shown_is_not_started(world: PaystackWorld) -> None:
    order = world.order()
    world.service.faults.add(Fault(FaultKind.LOST, "/transaction/initialize"))
    with pytest.raises(RailTimeout):
        await world.rail.start(order, now=now())
    assert await ask(world, order, minutes=2) == Failed(FailureReason.NOT_STARTED)


async def test_a_prompt_whose_answer_was_lost_is_on_the_phone_and_may_be_approved(world: PaystackWorld) -> None:
    order = by_phone(world)
    world.service.faults.add(Fault(FaultKind.LOST, "/charge"))
    with pytest.raises(RailTimeout):
        await world.rail.start(order, now=now())
    waiting = await ask(world, order, minutes=2)
    assert isinstance(waiting, StillWaiting)
    assert isinstance(waiting.action, PromptAction)
    world.service.advance(timedelta(minutes=3))
    assert await ask(world, order, minutes=5) == Failed(FailureReason.EXPIRED)


async def test_a_voucher_is_typed_though_the_answer_that_asks_for_it_was_lost(world: PaystackWorld) -> None:
    order = by_phone(world, "+233201234567", "telecel")
    world.service.faults.add(Fault(FaultKind.LOST, "/charge"))
    with pytest.raises(RailTimeout):
        await world.rail.start(order, now=now())
    waiting = await ask(world, order, minutes=2)
    assert isinstance(waiting, StillWaiting)
    assert isinstance(waiting.action, OtpAction)
    assert "dial *110#" in (waiting.action.text or "")
    for otp, expected in (("000000", Waiting), ("123456", Succeeded)):
        assert isinstance(await world.rail.authorize(order.business_id, order.reference, Otp(otp), now=now()), expected)


async def test_a_start_that_never_arrived_is_not_found_after_a_minute(world: PaystackWorld) -> None:
    order = world.order()
    world.service.faults.add(Fault(FaultKind.REFUSED, "/transaction/initialize"))
    with pytest.raises(RailTimeout):
        await world.rail.start(order, now=now())
    with pytest.raises(RailTimeout):
        await ask(world, order)
    with pytest.raises(NotFound):
        await ask(world, order, minutes=2)


async def test_what_a_request_names_and_paystack_does_not_have_is_a_rejection(
    world: PaystackWorld, db: Database
) -> None:
    """And a payment that was taken is never a failure, also when it is not found a moment later."""
    unknown_bank = answer(400, b'{"status":false,"message":"Bank not found"}')
    taken = answer(200, b'{"status":true,"message":"Charge attempted","data":{"status":"success"}}')
    not_there = answer(404, b'{"status":false,"message":"Transaction reference not found"}')
    async with receiving() as service:
        service.script = [unknown_bank, taken, not_there]
        rail = PaystackRail(PaystackSettings(secret_key="sk_test_x", base_url=service.url("")), db, webhook_url="")
        await rail.open()
        try:
            assert await rail.start(by_transfer(world), now=now()) == Failed(FailureReason.NOT_STARTED)
            with pytest.raises(RailTimeout):
                await rail.start(by_transfer(world), now=now())
        finally:
            await rail.close()


async def test_too_many_requests_are_no_failure_of_the_payer(world: PaystackWorld) -> None:
    world.service.faults.add(Fault(FaultKind.BUSY))
    with pytest.raises(RailBusy) as busy:
        await world.rail.start(world.order(), now=now())
    assert 1 <= busy.value.retry_after_s <= 60
    assert world.rail.capabilities.offers(Method.CARD, Money.of_major(100, NGN))


async def test_its_own_limit_is_obeyed(world: PaystackWorld) -> None:
    world.service.settings.rate_limit = 3
    order = world.order()
    await world.rail.start(order, now=now())
    assert isinstance(await ask(world, order), StillWaiting)
    assert isinstance(await ask(world, order), StillWaiting)
    with pytest.raises(RailBusy):
        await ask(world, order)
    world.service.advance(timedelta(minutes=1))
    assert isinstance(await ask(world, order), StillWaiting)


async def test_a_rail_that_is_down_is_not_offered_and_comes_back(
    world: PaystackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "PAUSE_S", 0.2)
    world.service.faults.add(Fault(FaultKind.REFUSED, times=breaker.FAILURES_MAX))
    for _ in range(breaker.FAILURES_MAX):
        with pytest.raises(RailTimeout):
            await world.rail.start(world.order(), now=now())
    assert not world.rail.capabilities.offers(Method.CARD, Money.of_major(100, NGN))
    assert world.rail.capabilities.terms_for(Method.CARD, NGN) is not None
    await asyncio.sleep(0.3)
    assert isinstance(await world.rail.start(world.order(), now=now()), Waiting)
    assert world.rail.capabilities.offers(Method.CARD, Money.of_major(100, NGN))


async def test_a_wrong_key_is_no_failure_of_the_payer_and_seen_by_the_doctor(world: PaystackWorld) -> None:
    [finding, _] = await world.rail.check(now=now())
    assert finding.is_well
    assert "it holds NGN 10,000.00" in finding.what
    world.service.settings.secret_key = "sk_test_another0000"
    with pytest.raises(RailRefused):
        await world.rail.start(world.order(), now=now())
    assert not world.rail.capabilities.offers(Method.CARD, Money.of_major(100, NGN))
    [finding, _] = await world.rail.check(now=now())
    assert not finding.is_well


async def test_a_currency_that_is_not_enabled_is_a_refusal(db: Database) -> None:
    async with paystack_world(db, EmulatedAccount("sk_test_tidegate0000", currencies=frozenset({"NGN"}))) as world:
        with pytest.raises(RailRefused):
            await world.rail.start(by_phone(world), now=now())


async def test_an_email_that_paystack_does_not_take_starts_nothing(world: PaystackWorld) -> None:
    order = world.order(payer=type(world.order().payer)("ada@shop.local", "Ada"))
    assert await world.rail.start(order, now=now()) == Failed(FailureReason.NOT_STARTED)


@pytest.mark.parametrize("business_id", ["0123456789abcdef01234567"])
def test_a_reference_has_only_characters_that_paystack_takes_and_is_read_again(business_id: str) -> None:
    sent = reference.sent_as(business_id, "at_0B5RkWq0Zt7cYhN4mPs9Lx")
    assert sent == f"at-0B5RkWq0Zt7cYhN4mPs9Lx.{business_id}"
    assert reference.read(sent) == (business_id, "at_0B5RkWq0Zt7cYhN4mPs9Lx")
    assert reference.read("T123") is None


async def test_a_fee_that_paystack_passes_on_is_not_an_overpayment(world: PaystackWorld) -> None:
    world.service.settings.passes_fees_on = True
    state = await paid(world)
    assert state.amount == Money.of_major(100, NGN)
    [notification] = await world.told("charge.success")
    assert isinstance(notification.event, AttemptOutcome)
    assert notification.event.state == state


# Notifications


async def test_a_success_is_notified_with_the_transaction_that_asking_finds(world: PaystackWorld) -> None:
    order = by_transfer(world)
    await world.rail.start(order, now=now())
    world.service.transfer(world.payment(order), 250_00, sender="Ada Obi")
    [notification] = await world.told("charge.success")
    assert notification.event == AttemptOutcome(
        business_id=order.business_id, reference=order.reference, state=await ask(world, order)
    )


async def test_the_published_vector_of_a_signature(world: PaystackWorld) -> None:
    body = (
        b'{"event":"charge.success","data":{"id":302961,"domain":"test","status":"success","reference":"at-1",'
        b'"amount":10000,"currency":"NGN"}}'
    )
    assert sign(body, "sk_test_tidegate").startswith("467b92f6f09021de8e631323092fa94b246998dfdd115bf6e8d669adb994378b")


async def test_only_paystack_is_believed(world: PaystackWorld) -> None:
    await paid(world)
    [notice] = world.notices("charge.success")
    assert len(await world.rail.read(raw_of(notice), now=now())) == 1
    spoilt: list[dict[str, Any]] = [
        {"headers": {}},
        {"headers": {"x-paystack-signature": "0" * 128}},
        {"headers": {"x-paystack-signature": "ü"}},
        {"headers": {"x-paystack-signature": notice.signature.upper()}},
        {"body": notice.body + b" "},
        {"peer": "198.51.100.1"},
        {"peer": ""},
    ]
    for changes in spoilt:
        with pytest.raises(NotificationRefused):
            await world.rail.read(raw_of(notice, **changes), now=now())


def signed(world: PaystackWorld, body: bytes) -> RawNotification:
    return RawNotification(body, {"x-paystack-signature": world.service.notifier.sign(body)}, peer=ADDRESS)


def success(**changes: Any) -> bytes:
    data = {"id": 1, "domain": "test", "status": "success", "reference": "T1", "amount": 100, "currency": "NGN"}
    return json.dumps({"event": "charge.success", "data": {**data, **changes}}).encode()


async def test_the_other_mode_is_refused(world: PaystackWorld) -> None:
    with pytest.raises(NotificationRefused, match="live"):
        await world.rail.read(signed(world, success(domain="live")), now=now())


@pytest.mark.parametrize("event", ["transfer.success", "subscription.create", "x" * 300, "bank.transfer.rejected"])
async def test_other_events_are_acknowledged_and_forgotten(world: PaystackWorld, event: str) -> None:
    body = json.dumps({"event": event, "data": {}}).encode()
    assert await world.rail.read(signed(world, body), now=now()) == []


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"\xff", b'{"event":"charge.success"}', b'{"event":1,"data":{}}',
        *(success(amount=amount) for amount in NO_AMOUNTS),
        success(currency="XXX"), success(currency=None), success(id=None), success(reference=7), success(status=None),
        success(status="failed"), success(id="9" * 21), success(id="x"), success(fees="1.5", requested_amount=100),
        success(authorization={"sender_name": "a\0b"}), b'{"event":"charge.dispute.\\u0000","data":{}}',
        b'{"event":"charge.dispute.create","data":{"id":1}}', b'{"event":"refund.processed","data":{}}',
    ],
    ids=lambda body: body[:80].decode(errors="replace"),
)  # fmt: skip
async def test_signed_nonsense_is_unreadable(world: PaystackWorld, body: bytes) -> None:
    with pytest.raises(NotificationUnreadable):
        await world.rail.read(signed(world, body), now=now())


async def test_money_that_we_did_not_ask_for_is_not_lost(world: PaystackWorld) -> None:
    [notification] = await world.rail.read(signed(world, success(amount="100", metadata="")), now=now())
    assert isinstance(notification.event, AttemptOutcome)
    assert notification.event.state == Succeeded("1", Money(100, NGN))


async def test_the_old_key_signs_while_keys_are_exchanged(world: PaystackWorld, db: Database) -> None:
    await paid(world)
    [notice] = world.notices("charge.success")
    settings = type(world.rail._settings)(
        secret_key="sk_test_new00000000", old_secret_key="sk_test_tidegate0000", webhook_ips=()
    )
    other = type(world.rail)(settings, db, webhook_url="")
    assert len(await other.read(raw_of(notice), now=now())) == 1


# Money that goes back.


async def test_a_refund_walks_to_its_end(world: PaystackWorld) -> None:
    money = refund_of(world, await paid(world))
    assert await world.rail.refund(money, now=now()) == Running()
    world.service.advance(timedelta(seconds=5))
    assert await world.rail.poll_refund(money, now=now()) == Running()
    world.service.advance(timedelta(seconds=5))
    done = await world.rail.poll_refund(money, now=now())
    assert isinstance(done, Succeeded)
    assert done.amount == money.amount


async def test_parts_are_refunded_up_to_the_whole(world: PaystackWorld) -> None:
    transaction = await paid(world)
    for minor in (40_00, 40_00, 20_00):
        assert await world.rail.refund(refund_of(world, transaction, minor), now=now()) == Running()
    assert await world.rail.refund(refund_of(world, transaction, 1), now=now()) == Failed(FailureReason.DECLINED)
    assert len(world.service.memory.refunds) == 3
    # Reversed, says Paystack now; it was paid all the same.
    world.service.advance(timedelta(seconds=10))
    [payment] = world.service.memory.payments.values()
    assert payment.status == "reversed"
    attempt = reference.read(payment.reference)
    assert attempt is not None
    assert isinstance(await world.rail.poll(*attempt, now=now()), Succeeded)


@pytest.mark.parametrize(
    ("card", "end"), [(REFUND_FAILS, Failed(FailureReason.DECLINED)), (REFUND_NEEDS_ATTENTION, Running())]
)
async def test_a_refund_may_fail_or_need_attention(world: PaystackWorld, card: str, end: Any) -> None:
    money = refund_of(world, await paid(world, card))
    await world.rail.refund(money, now=now())
    world.service.advance(timedelta(seconds=10))
    assert await world.rail.poll_refund(money, now=now()) == end


@pytest.mark.parametrize("kind", UNKNOWN_OUTCOMES)
async def test_a_refund_whose_answer_is_lost_is_found_and_not_paid_twice(world: PaystackWorld, kind: FaultKind) -> None:
    money = refund_of(world, await paid(world), 40_00)
    world.service.faults.add(Fault(kind, "/refund"))
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=now())
    assert await world.rail.poll_refund(money, now=now()) == Running()
    assert await world.rail.refund(money, now=now()) == Running()
    assert len(world.service.memory.refunds) == 1


@pytest.mark.parametrize("minor", [40_00, 100_00])
async def test_a_refund_that_is_listed_without_its_note_is_left_to_an_operator(
    world: PaystackWorld, admin: Any, minor: int
) -> None:
    money = refund_of(world, await paid(world), minor)
    world.service.faults.add(Fault(FaultKind.LOST, "/refund"))
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=now())
    [refund] = world.service.memory.refunds.values()
    refund.merchant_note = ""
    for minutes in (1, 11, 600):
        with pytest.raises(RailTimeout):
            await world.rail.poll_refund(money, now=later(minutes=minutes))
        with pytest.raises(RailTimeout):
            await world.rail.refund(money, now=later(minutes=minutes))
    assert len(world.service.memory.refunds) == 1
    [row] = await admin.fetch("SELECT rail, note FROM notification WHERE state = 'quarantined'")
    assert row["rail"] == world.rail.name
    assert f"refund {refund.id} of the transaction has no note of ours" in row["note"]
    # Listed with it after all.
    refund.merchant_note = f"tidegate {money.reference}"
    assert await world.rail.poll_refund(money, now=later(minutes=601)) == Running()


async def test_a_refund_that_is_listed_late_is_not_a_failure(world: PaystackWorld) -> None:
    money = refund_of(world, await paid(world))
    world.service.faults.add(Fault(FaultKind.LOST, "/refund"))
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=now())
    late = dict(world.service.memory.refunds)
    world.service.memory.refunds.clear()
    with pytest.raises(NotFound):
        await world.rail.poll_refund(money, now=later(minutes=11))
    # The transaction has been fully reversed, says Paystack.
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=later(minutes=12))
    world.service.memory.refunds.update(late)
    assert await world.rail.poll_refund(money, now=later(minutes=13)) == Running()


async def test_a_whole_refund_that_never_arrived_is_requested_again_after_ten_minutes(world: PaystackWorld) -> None:
    money = refund_of(world, await paid(world))
    world.service.faults.add(Fault(FaultKind.REFUSED, "/refund"))
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=now())
    with pytest.raises(RailTimeout):
        await world.rail.poll_refund(money, now=later(minutes=9))
    with pytest.raises(NotFound):
        await world.rail.poll_refund(money, now=later(minutes=11))
    assert await world.rail.refund(money, now=later(minutes=11)) == Running()
    assert len(world.service.memory.refunds) == 1


async def test_a_part_that_is_listed_late_is_not_requested_again_but_asked_about(
    world: PaystackWorld, admin: Any
) -> None:
    """Paystack would pay a second one."""
    transaction = await paid(world)
    refund, back = refund_of(world, transaction, 40_00), return_of(world, transaction, 30_00)
    begun: list[tuple[Any, Any]] = [(world.rail.refund, refund), (world.rail.send_back, back)]
    for call, money in begun:
        world.service.faults.add(Fault(FaultKind.LOST, "/refund"))
        with pytest.raises(RailTimeout):
            await call(money, now=now())
    late = dict(world.service.memory.refunds)
    world.service.memory.refunds.clear()
    for minutes in (11, 60, 600):
        for call, money in [(world.rail.poll_refund, refund), *begun]:
            with pytest.raises(RailTimeout, match="lists none since"):
                await call(money, now=later(minutes=minutes))
    assert world.service.memory.refunds == {}
    rows = await admin.fetch("SELECT id, note FROM notification WHERE state = 'quarantined' ORDER BY id")
    assert [row["id"] for row in rows] == [f"refund-{refund.reference}", f"return-{back.reference}"]
    assert "let it be requested again" in rows[0]["note"]
    world.service.memory.refunds.update(late)
    assert await world.rail.poll_refund(refund, now=later(minutes=601)) == Running()
    assert await world.rail.send_back(back, now=later(minutes=601)) == Running()
    assert len(world.service.memory.refunds) == 2


async def test_a_part_is_requested_again_once_for_each_time_that_an_operator_lets_it(
    world: PaystackWorld, db: Database, admin: Any
) -> None:
    money = refund_of(world, await paid(world), 40_00)
    for minutes in (0, 20):
        world.service.faults.add(Fault(FaultKind.REFUSED, "/refund", method="POST"))
        with pytest.raises(RailTimeout, match="did not answer"):
            await world.rail.refund(money, now=later(minutes=minutes))
        with pytest.raises(RailTimeout, match="lists none since"):
            await world.rail.poll_refund(money, now=later(minutes=minutes + 11))
        # Asked about anew, each time.
        [row] = await admin.fetch("SELECT state FROM notification")
        assert row["state"] == "quarantined"
        await admin.execute("UPDATE notification SET state = 'done'")
        async with db.connection() as tx:
            assert await store.let_repeat(tx, money.business_id, money.reference)
    # What Paystack does not take stays as it was.
    world.service.faults.add(Fault(FaultKind.BUSY, "/refund", method="POST"))
    with pytest.raises(RailBusy):
        await world.rail.refund(money, now=later(minutes=40))
    assert await world.rail.refund(money, now=later(minutes=40)) == Running()
    assert len(world.service.memory.refunds) == 1
    async with db.connection() as tx:
        assert not await store.let_repeat(tx, money.business_id, money.reference)


async def test_a_repeat_that_paystack_rejects_is_in_doubt_and_not_failed(world: PaystackWorld, db: Database) -> None:
    """The first may have been paid: it is the one that uses up the rest."""
    transaction = await paid(world)
    assert await world.rail.refund(refund_of(world, transaction, 50_00), now=now()) == Running()
    money = refund_of(world, transaction, 50_00)
    world.service.faults.add(Fault(FaultKind.LOST, "/refund"))
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=now())
    unlisted = world.service.memory.refunds.popitem()
    async with db.connection() as tx:
        await store.let_repeat(tx, money.business_id, money.reference)
    with pytest.raises(RailTimeout, match="may have paid it before"):
        await world.rail.refund(money, now=later(minutes=12))
    world.service.memory.refunds.update([unlisted])
    assert await world.rail.poll_refund(money, now=later(minutes=13)) == Running()


async def test_a_refund_waits_for_the_balance(world: PaystackWorld) -> None:
    money = refund_of(world, await paid(world))
    world.service.memory.balances["NGN"] = 0
    with pytest.raises(RailBusy):
        await world.rail.refund(money, now=now())
    world.service.memory.balances["NGN"] = 10**9
    assert await world.rail.refund(money, now=now()) == Running()


async def test_a_return_is_requested_once_and_its_repeat_says_how_it_stands(world: PaystackWorld) -> None:
    money = return_of(world, await paid(world))
    assert await world.rail.send_back(money, now=now()) == Running()
    world.service.advance(timedelta(seconds=10))
    assert isinstance(await world.rail.send_back(money, now=now()), Succeeded)
    assert len(world.service.memory.refunds) == 1
    events = [notification.event for notification in await world.told("refund.processed")]
    assert events == [
        PollRequested(subject=PollSubject.RETURN, business_id=world.business_id, reference=money.reference)
    ]


async def test_a_dispute_is_a_fact_and_a_lost_one_takes_the_money(world: PaystackWorld) -> None:
    transaction = await paid(world)
    payment = world.service.find(transaction.transaction_id)
    assert payment is not None
    dispute = world.service.dispute(payment)
    [opened] = [notification.event for notification in await world.told("charge.dispute.create")]
    assert isinstance(opened, DisputeChanged)
    assert (opened.status, opened.transaction_id) == (DisputeStatus.OPEN, transaction.transaction_id)
    world.service.resolve(dispute, "auto-accepted")
    lost, reversed_credit = [notification.event for notification in await world.told("charge.dispute.resolve")]
    assert isinstance(lost, DisputeChanged)
    assert lost.status is DisputeStatus.LOST
    assert isinstance(reversed_credit, CreditReversed)
    assert (reversed_credit.account_number, reversed_credit.amount) == (None, transaction.amount)


async def test_a_dispute_that_is_won_takes_nothing(world: PaystackWorld) -> None:
    payment = world.service.find((await paid(world)).transaction_id)
    assert payment is not None
    world.service.resolve(world.service.dispute(payment), "declined")
    [won] = [notification.event for notification in await world.told("charge.dispute.resolve")]
    assert isinstance(won, DisputeChanged)
    assert won.status is DisputeStatus.WON


@pytest.mark.parametrize("resolution", [None, "", "settled-elsewhere"])
async def test_a_dispute_without_a_known_resolution_is_not_guessed(
    world: PaystackWorld, resolution: str | None
) -> None:
    payment = world.service.find((await paid(world)).transaction_id)
    assert payment is not None
    world.service.resolve(world.service.dispute(payment), resolution)  # type: ignore[arg-type]
    with pytest.raises(NotificationUnreadable, match="its resolution is"):
        await world.told("charge.dispute.resolve")


async def test_its_list_has_what_came_and_what_went(world: PaystackWorld) -> None:
    transaction = await paid(world)
    money = refund_of(world, transaction, 40_00)
    await world.rail.refund(money, now=now())
    await world.rail.start(world.order(), now=now())
    world.service.advance(timedelta(seconds=10))
    listed = [one async for one in world.rail.list_transactions(later(days=-1), later(days=1))]
    assert [(one.is_incoming, one.amount.minor, one.fee) for one in listed] == [
        (True, 100_00, Money(1_50, NGN)),
        (False, 40_00, None),
    ]
    assert listed[0].transaction_id == transaction.transaction_id
    assert listed[1].reference == money.reference
    assert [one async for one in world.rail.list_transactions(later(days=1), later(days=2))] == []
