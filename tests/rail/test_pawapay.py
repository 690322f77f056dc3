"""pawaPay's rail, against the emulated pawaPay over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import AsyncMock

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rail.pawapay_world import TOKEN, PawapayWorld, pawapay_world
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Conflict, NotFound
from tidegate.core.ids import new_refund_reference
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.emulator.faults import Fault, FaultKind
from tidegate.emulator.pawapay.callbacks import Spoil
from tidegate.emulator.pawapay.model import EmulatedPawapayAccount
from tidegate.infra.api_client import ApiAnswer, ApiClient
from tidegate.infra.db import Database
from tidegate.rail import breaker
from tidegate.rail.action import FailureReason, PromptAction
from tidegate.rail.event import AttemptOutcome, PollRequested, PollSubject
from tidegate.rail.instrument import Otp, Phone
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
from tidegate.rail.pawapay import PawapayRail, configuration, offer, wire
from tidegate.rail.pawapay.ids import id_of
from tidegate.rail.state import Failed, Running, StillWaiting, Succeeded, Waiting

KES, UGX, GHS, ZMW, TZS = Currency.KES, Currency.UGX, Currency.GHS, Currency.ZMW, Currency.TZS
# One number of each operator that pays by itself.
PAYING = {
    ("KES", "mpesa"): "+254703456789",
    ("UGX", "mtn"): "+256783456789",
    ("UGX", "airtel"): "+256753456789",
    ("GHS", "mtn"): "+233593456789",
    ("GHS", "telecel"): "+233503456789",
    ("GHS", "at"): "+233273456789",
    ("ZMW", "mtn"): "+260763456789",
    ("ZMW", "airtel"): "+260973456789",
    ("ZMW", "zamtel"): "+260953456700",
    ("TZS", "mpesa"): "+255763456789",
    ("TZS", "mixx"): "+255713456789",
    ("TZS", "airtel"): "+255683456789",
    ("TZS", "halopesa"): "+255623456789",
}
NO_AMOUNTS: list[Any] = ["0", "-1", "x", None, 1, True, "1e9", "9" * 24, []]
UNKNOWN_OUTCOMES = [
    FaultKind.LOST,
    FaultKind.HTML,
    FaultKind.PAGE,
    FaultKind.CUT,
    FaultKind.HUGE,
    FaultKind.ERROR_AFTER,
]


def now() -> datetime:
    return SystemClock().now()


def later(**by: int) -> datetime:
    return now() + timedelta(**by)


@pytest.fixture
async def world(db: Database) -> AsyncIterator[PawapayWorld]:
    async with pawapay_world(db) as made:
        yield made


async def until_offered(rail: PawapayRail) -> None:
    async with asyncio.timeout(120):
        while not rail.capabilities.offers(Method.MOBILE_MONEY, Money.of_major(100, KES)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def ask(world: PawapayWorld, order: StartAttempt, **by: int) -> Any:
    return await world.rail.poll(order.business_id, order.reference, now=later(**by))


async def paid(world: PawapayWorld, number: str = "+254712345678", amount: Money | None = None) -> Succeeded:
    order = world.order(number, amount=amount)
    await world.rail.start(order, now=now())
    world.service.approve(world.deposit(order))
    state = await ask(world, order)
    assert isinstance(state, Succeeded)
    return state


def refund_of(world: PawapayWorld, of: Succeeded, minor: int | None = None) -> RefundMoney:
    amount = Money(minor, of.amount.currency) if minor else of.amount
    return RefundMoney(
        business_id=world.business_id,
        reference=new_refund_reference(),
        transaction_id=of.transaction_id,
        amount=amount,
    )


# What it offers, and how an attempt begins


def test_an_id_is_made_of_the_reference() -> None:
    made = id_of("0123456789abcdef01234567", "at_0B5RkWq0Zt7cYhN4mPs9Lx")
    assert made == "05b20795-0ba8-459d-aec0-93b964a383d0"


def test_the_numbers_here_are_of_every_operator() -> None:
    assert set(PAYING) == {(str(currency), one) for currency, own in offer.PROVIDERS.items() for one in own}


@pytest.mark.parametrize(("currency", "operator"), PAYING)
async def test_a_prompt_is_approved_on_the_phone(world: PawapayWorld, currency: str, operator: str) -> None:
    number, amount = PAYING[currency, operator], Money.of_major(100, Currency(currency))
    assert world.rail.capabilities.offers(Method.MOBILE_MONEY, amount, operator)
    order = world.order(number, operator, amount=amount)
    started = await world.rail.start(order, now=now())
    assert isinstance(started, Waiting)
    assert isinstance(started.action, PromptAction)
    assert started.action.text == "EMULATED SHOP"
    assert started.action.dial == ("*115#" if (currency, operator) == ("ZMW", "mtn") else None)
    assert await ask(world, order) == StillWaiting()
    world.service.advance(timedelta(seconds=2))
    assert await ask(world, order) == Succeeded(world.deposit(order).id, amount)


async def test_whole_amounts_and_cents_go_by_the_operator(world: PawapayWorld) -> None:
    for operator, currency, minor, is_taken in [
        ("mpesa", KES, 101_00, True),
        ("mpesa", KES, 101_50, False),
        ("mtn", GHS, 101_50, True),
        ("mtn", UGX, 101, True),
        ("mpesa", TZS, 101_50, False),
        ("airtel", TZS, 101_50, True),
    ]:
        amount = Money(minor, currency)
        assert world.rail.capabilities.offers(Method.MOBILE_MONEY, amount, operator) is is_taken
        order = world.order(PAYING[currency, operator], operator, amount=amount)
        started = await world.rail.start(order, now=now())
        assert isinstance(started, Waiting) is is_taken
        if not is_taken:
            assert started == Failed(FailureReason.NOT_STARTED)


def test_amounts_are_text_in_major_units() -> None:
    assert [wire.amount_text(Money(minor, KES)) for minor in (100_00, 100_50, 1, 100_05)] == [
        "100",
        "100.50",
        "0.01",
        "100.05",
    ]
    assert wire.amount_text(Money(100, UGX)) == "100"
    assert wire.money("100.00", "UGX") == Money(100, UGX)
    assert wire.money("0.1", "KES") == Money(10, KES)
    no_amounts = ["", "0", "0.00", "-1", "1e3", "01", "1.", ".5", "NaN", "1" * 30, "1.001", None, "١"]
    for text in no_amounts:
        with pytest.raises(wire.PawapayUnreadable):
            wire.money(text, "KES")
    for currency in ("XXX", None):
        with pytest.raises(wire.PawapayUnreadable):
            wire.money("1", currency)
    with pytest.raises(wire.PawapayUnreadable):
        wire.money("100.50", "UGX")


@pytest.mark.parametrize("status", ["CLOSED", "DELAYED"])
async def test_a_closed_operator_is_not_offered_and_opens_again(world: PawapayWorld, status: str) -> None:
    amount = Money.of_major(100, ZMW)
    provider = world.service.memory.providers["MTN_MOMO_ZMB"]
    provider.deposits = status
    order = world.order(PAYING["ZMW", "mtn"], "mtn", amount=amount)
    assert await world.rail.start(order, now=now()) == Failed(FailureReason.RAIL_UNAVAILABLE)
    await world.rail.check(now=now())
    assert not world.rail.capabilities.offers(Method.MOBILE_MONEY, amount, "mtn")
    assert world.rail.capabilities.offers(Method.MOBILE_MONEY, amount, "airtel")
    provider.deposits = "OPERATIONAL"
    await world.rail.check(now=now())
    assert world.rail.capabilities.offers(Method.MOBILE_MONEY, amount, "mtn")


async def test_a_currency_whose_operators_are_all_closed_is_known_and_not_open(world: PawapayWorld) -> None:
    world.service.memory.providers["MPESA_KEN"].deposits = "CLOSED"
    await world.rail.check(now=now())
    terms = world.rail.capabilities.terms_for(Method.MOBILE_MONEY, KES)
    assert terms is not None
    assert not terms.is_open


async def test_what_the_account_does_not_have_is_not_taken(world: PawapayWorld) -> None:
    for name in ("VODACOM_TZA", "TIGO_TZA", "AIRTEL_TZA", "HALOTEL_TZA", "VODAFONE_GHA"):
        del world.service.memory.providers[name]
    world.service.memory.providers["AIRTELTIGO_GHA"].minimum = Decimal("NaN")
    await world.rail.check(now=now())
    assert world.rail.capabilities.terms_for(Method.MOBILE_MONEY, TZS) is None
    terms = world.rail.capabilities.terms_for(Method.MOBILE_MONEY, GHS)
    assert terms is not None
    assert set(terms.choices or {}) == {"mtn"}


async def test_before_the_configuration_is_known_nothing_is_offered(
    world: PawapayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configuration, "RETRY_S", 0.1)
    world.service.faults.add(Fault(FaultKind.ERROR, "/v2/active-conf", times=2))
    async with world.another_rail() as rail:
        terms = rail.capabilities.terms_for(Method.MOBILE_MONEY, KES)
        assert terms is not None
        assert not terms.is_open
        await until_offered(rail)


@pytest.mark.parametrize(
    ("number", "operator", "currency", "reason"),
    [
        ("+254703456019", "mpesa", KES, FailureReason.LIMIT_REACHED),
        ("+254703456039", "mpesa", KES, FailureReason.NOT_APPROVED),
        ("+254703456049", "mpesa", KES, FailureReason.INSUFFICIENT_FUNDS),
        ("+254703456059", "mpesa", KES, FailureReason.ANOTHER_UNDER_WAY),
        ("+254703456069", "mpesa", KES, FailureReason.DECLINED),
        ("+256783456029", "mtn", UGX, FailureReason.NO_SUCH_WALLET),
        ("+260953456704", "zamtel", ZMW, FailureReason.INSUFFICIENT_FUNDS),
    ],
)
async def test_failures_have_the_reasons_of_the_payer(
    world: PawapayWorld, number: str, operator: str, currency: Currency, reason: FailureReason
) -> None:
    order = world.order(number, operator, amount=Money.of_major(100, currency))
    await world.rail.start(order, now=now())
    world.service.advance(timedelta(seconds=2))
    assert await ask(world, order) == Failed(reason)
    [notification] = await world.told("FAILED")
    assert isinstance(notification.event, AttemptOutcome)
    assert notification.event.state == Failed(reason)


async def test_a_stuck_deposit_never_ends_and_is_never_a_failure(world: PawapayWorld) -> None:
    order = world.order("+254703456129")
    await world.rail.start(order, now=now())
    world.service.advance(timedelta(days=2))
    assert await ask(world, order, days=2) == StillWaiting()
    assert world.callbacks() == []


async def test_a_deposit_that_pawapay_looks_into_goes_on(world: PawapayWorld) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    world.service.reconcile(world.deposit(order))
    assert await ask(world, order) == StillWaiting()
    world.service.advance(timedelta(minutes=10))
    assert isinstance(await ask(world, order), Succeeded)


@pytest.mark.parametrize(
    ("instrument", "amount", "reason"),
    [
        (Phone("+254703456789", "mpesa"), Money.of_major(6_000_000, KES), FailureReason.LIMIT_REACHED),
        (Phone("+256783456789", "mpesa"), Money.of_major(100, KES), FailureReason.NO_SUCH_WALLET),
    ],
)
async def test_a_rejected_deposit_has_failed(
    world: PawapayWorld, instrument: Phone, amount: Money, reason: FailureReason
) -> None:
    order = world.order(instrument=instrument, amount=amount)
    assert await world.rail.start(order, now=now()) == Failed(reason)
    assert world.service.memory.deposits == {}


async def test_there_is_nothing_to_authorize_or_to_send_again(world: PawapayWorld) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    with pytest.raises(Conflict):
        await world.rail.authorize(order.business_id, order.reference, Otp("123456"), now=now())
    with pytest.raises(Conflict):
        await world.rail.resend(order.business_id, order.reference, now=now())


# Repeats, time-outs, refusals


async def test_a_repeated_start_is_one_deposit_whatever_it_says(world: PawapayWorld) -> None:
    order = world.order()
    first = await world.rail.start(order, now=now())
    other = world.order(reference=order.reference, amount=Money.of_major(7, KES))
    assert await world.rail.start(other, now=now()) == first
    assert [one.amount for one in world.service.memory.deposits.values()] == [100]
    world.service.approve(world.deposit(order))
    assert isinstance(await world.rail.start(order, now=now()), Succeeded)


@pytest.mark.parametrize("kind", UNKNOWN_OUTCOMES)
async def test_a_start_without_an_answer_is_unknown_and_never_a_failure(world: PawapayWorld, kind: FaultKind) -> None:
    order = world.order("+254703456789")
    world.service.faults.add(Fault(kind, "/v2/deposits"))
    with pytest.raises(RailTimeout):
        await world.rail.start(order, now=now())
    world.service.advance(timedelta(seconds=2))
    assert isinstance(await ask(world, order), Succeeded)


@pytest.mark.parametrize("kind", [FaultKind.ERROR, FaultKind.REFUSED])
async def test_a_start_that_never_arrived_is_not_found_after_a_minute(world: PawapayWorld, kind: FaultKind) -> None:
    order = world.order()
    world.service.faults.add(Fault(kind, "/v2/deposits"))
    with pytest.raises(RailTimeout):
        await world.rail.start(order, now=now())
    with pytest.raises(RailTimeout):
        await ask(world, order, seconds=55)
    with pytest.raises(NotFound):
        await ask(world, order, seconds=65)
    assert isinstance(await world.rail.start(order, now=now()), Waiting)


@pytest.mark.parametrize("answer", [b'{"status": "FOUND"}', b'{"status": "FOUND", "data": null}', b'{"status": "?"}'])
async def test_an_answer_that_tells_nothing_does_not_say_that_there_is_no_deposit(
    world: PawapayWorld, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    monkeypatch.setattr(ApiClient, "call", AsyncMock(return_value=ApiAnswer(200, {}, answer)))
    with pytest.raises(RailTimeout):
        await ask(world, order, seconds=65)


async def test_too_many_requests_are_no_failure_of_the_payer(world: PawapayWorld) -> None:
    world.service.faults.add(Fault(FaultKind.BUSY))
    with pytest.raises(RailBusy):
        await world.rail.start(world.order(), now=now())
    assert world.rail.capabilities.offers(Method.MOBILE_MONEY, Money.of_major(100, KES))


async def test_a_rail_that_is_down_is_not_offered_and_comes_back(
    world: PawapayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "PAUSE_S", 0.2)
    world.service.faults.add(Fault(FaultKind.REFUSED, times=breaker.FAILURES_MAX))
    for _ in range(breaker.FAILURES_MAX):
        with pytest.raises(RailTimeout):
            await world.rail.start(world.order(), now=now())
    assert not world.rail.capabilities.offers(Method.MOBILE_MONEY, Money.of_major(100, KES))
    await until_offered(world.rail)
    assert isinstance(await world.rail.start(world.order(), now=now()), Waiting)


async def test_a_wrong_token_is_no_failure_of_the_payer_and_seen_by_the_doctor(world: PawapayWorld) -> None:
    assert all(finding.is_well for finding in await world.rail.check(now=now()))
    world.service.account.token = "another-token-of-the-tests"
    with pytest.raises(RailRefused):
        await world.rail.start(world.order(), now=now())
    assert not world.rail.capabilities.offers(Method.MOBILE_MONEY, Money.of_major(100, KES))
    [finding] = await world.rail.check(now=now())
    assert not finding.is_well


# Signed requests


async def test_signed_requests_are_taken_where_only_those_are(db: Database) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = EmulatedPawapayAccount(TOKEN, signed_requests_only=True, merchant_keys={"KEY:1": key.public_key()})
    async with pawapay_world(db, account) as world:
        findings = await world.rail.check(now=now())
        assert [finding.what for finding in findings if not finding.is_well] == [
            "the account takes signed requests only, and there is no key"
        ]
        with pytest.raises(RailRefused, match="HTTP_SIGNATURE_ERROR"):
            await world.rail.start(world.order(), now=now())
        async with world.another_rail(signing_key=pem, signing_key_id="KEY:1") as rail:
            assert all(finding.is_well for finding in await rail.check(now=now()))
            assert isinstance(await rail.start(world.order(), now=now()), Waiting)
        async with world.another_rail(signing_key=pem, signing_key_id="KEY:2") as rail:
            with pytest.raises(RailRefused, match="not known"):
                await rail.start(world.order(), now=now())


# Callbacks


async def test_a_success_is_told_with_the_transaction_that_asking_finds(world: PawapayWorld) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    world.service.approve(world.deposit(order))
    [notification] = await world.told("COMPLETED")
    assert notification.event == AttemptOutcome(
        business_id=order.business_id, reference=order.reference, state=await ask(world, order)
    )


async def test_another_amount_is_told_as_it_was_paid(world: PawapayWorld) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    world.service.approve(world.deposit(order), paid=Decimal(60))
    [notification] = await world.told("COMPLETED")
    assert isinstance(notification.event, AttemptOutcome)
    assert notification.event.state == Succeeded(world.deposit(order).id, Money.of_major(60, KES))


@pytest.mark.parametrize("spoil", Spoil)
async def test_only_pawapay_is_believed(world: PawapayWorld, spoil: Spoil) -> None:
    await paid(world)
    [callback] = world.callbacks("COMPLETED")
    assert len(await world.rail.read(world.raw(callback), now=now())) == 1
    callback.spoil = spoil
    with pytest.raises(NotificationRefused):
        await world.rail.read(world.raw(callback), now=now())


async def test_a_callback_is_for_this_address_and_this_path(world: PawapayWorld) -> None:
    await paid(world)
    [callback] = world.callbacks("COMPLETED")
    changes: list[dict[str, Any]] = [
        {"authority": "other.example.com"},
        {"path": "/intake/paystack"},
        {"method": "PUT"},
        {"body": callback.body + b" "},
        {"body": b"x" * (64 * 1024 + 1)},
    ]
    for change in changes:
        with pytest.raises(NotificationRefused):
            await world.rail.read(world.raw(callback, **change), now=now())


async def test_a_new_key_is_fetched_once_a_minute_at_most(world: PawapayWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    await paid(world)
    [callback] = world.callbacks("COMPLETED")
    assert len(await world.rail.read(world.raw(callback), now=now())) == 1
    world.service.callbacks.rotate_key()
    assert len(await world.rail.read(world.raw(callback), now=now())) == 1
    world.service.callbacks.rotate_key()
    with pytest.raises(NotificationRefused, match="not known"):
        await world.rail.read(world.raw(callback), now=now())
    monkeypatch.setattr(configuration, "KEYS_AGAIN_S", 0.0)
    assert len(await world.rail.read(world.raw(callback), now=now())) == 1


async def test_without_keys_a_callback_is_a_hint(world: PawapayWorld) -> None:
    order = world.order()
    await world.rail.start(order, now=now())
    world.service.approve(world.deposit(order))
    [callback] = world.callbacks("COMPLETED")
    world.service.faults.add(Fault(FaultKind.ERROR, "/v2/public-key", times=2))
    async with world.another_rail() as rail:
        [hint] = await rail.read(world.raw(callback), now=now())
        assert hint.event == PollRequested(
            subject=PollSubject.ATTEMPT, business_id=order.business_id, reference=order.reference
        )
        [notification] = await rail.read(world.raw(callback), now=now())
        assert isinstance(notification.event, AttemptOutcome)


async def test_unsigned_callbacks_never_settle(db: Database) -> None:
    async with pawapay_world(db, EmulatedPawapayAccount(TOKEN, signed_callbacks=False)) as world:
        findings = await world.rail.check(now=now())
        assert ["not signed" in finding.what for finding in findings if not finding.is_well] == [True]
        order = world.order()
        await world.rail.start(order, now=now())
        world.service.approve(world.deposit(order))
        [hint] = await world.told("COMPLETED")
        assert hint.event == PollRequested(
            subject=PollSubject.ATTEMPT, business_id=order.business_id, reference=order.reference
        )
        strangers = [
            b"", b"{", b'{"depositId":"x","status":"COMPLETED"}', b'{"status":"COMPLETED"}',
            b'{"refundId":"x","status":"x"}',
        ]  # fmt: skip
        for body in strangers:
            with pytest.raises(NotificationRefused):
                await world.rail.read(world.signed(body), now=now())


def completed(**changes: Any) -> bytes:
    told = {"depositId": "f4401bd2-1568-4140-bf2d-eb77d2b2b639", "status": "COMPLETED", "amount": "1.00"}
    return json.dumps({**told, "currency": "KES", **changes}).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"\xff", b"{}",
        *(completed(amount=amount) for amount in NO_AMOUNTS),
        completed(currency="XXX"), completed(currency=None), completed(status=None), completed(depositId=7),
        completed(depositId="x" * 37),
        completed(depositId="a\0b"),
    ],
    ids=lambda body: body[-60:].decode(errors="replace"),
)  # fmt: skip
async def test_signed_nonsense_is_unreadable(world: PawapayWorld, body: bytes) -> None:
    with pytest.raises(NotificationUnreadable):
        await world.rail.read(world.signed(body), now=now())


async def test_money_that_we_did_not_ask_for_is_not_lost(world: PawapayWorld) -> None:
    [notification] = await world.rail.read(world.signed(completed()), now=now())
    assert isinstance(notification.event, AttemptOutcome)
    assert notification.event.business_id == ""
    assert notification.event.state == Succeeded("f4401bd2-1568-4140-bf2d-eb77d2b2b639", Money.of_major(1, KES))


@pytest.mark.parametrize(
    "body",
    [
        completed(status="PROCESSING"),
        completed(status="FAILED"),
        completed(status="SOMETHING_NEW"),
        b'{"payoutId":"x","status":"COMPLETED"}',
        b'{"refundId":"x","status":"COMPLETED"}',
    ],
)
async def test_what_is_not_ours_is_acknowledged_and_forgotten(world: PawapayWorld, body: bytes) -> None:
    assert await world.rail.read(world.signed(body), now=now()) == []


# Money that goes back


async def test_a_refund_walks_to_its_end(world: PawapayWorld) -> None:
    money = refund_of(world, await paid(world))
    assert await world.rail.refund(money, now=now()) == Running()
    assert await world.rail.poll_refund(money, now=now()) == Running()
    world.service.advance(timedelta(seconds=2))
    done = await world.rail.poll_refund(money, now=now())
    assert isinstance(done, Succeeded)
    assert done.amount == money.amount
    events = [one.event for one in await world.told() if isinstance(one.event, PollRequested)]
    assert events == [
        PollRequested(subject=PollSubject.REFUND, business_id=world.business_id, reference=money.reference)
    ]


async def test_parts_are_refunded_one_after_the_other_up_to_the_whole(world: PawapayWorld) -> None:
    transaction = await paid(world)
    for major in (40, 40, 20):
        money = refund_of(world, transaction, major * 100)
        assert await world.rail.refund(money, now=now()) == Running()
        if major == 40:
            with pytest.raises(RailBusy, match="REFUND_IN_PROGRESS"):
                await world.rail.refund(refund_of(world, transaction, 100), now=now())
        world.service.advance(timedelta(seconds=2))
        assert isinstance(await world.rail.poll_refund(money, now=now()), Succeeded)
    for rejects_by_rejection_reason in (True, False):
        world.service.account.rejects_by_rejection_reason = rejects_by_rejection_reason
        again = await world.rail.refund(refund_of(world, transaction, 100), now=now())
        assert again == Failed(FailureReason.DECLINED)
    assert len(world.service.memory.refunds) == 3


@pytest.mark.parametrize("number", ["+254712345089", "+254712345099", "+254712345119"])
async def test_a_refund_may_fail(world: PawapayWorld, number: str) -> None:
    money = refund_of(world, await paid(world, number))
    await world.rail.refund(money, now=now())
    world.service.advance(timedelta(seconds=2))
    assert await world.rail.poll_refund(money, now=now()) == Failed(FailureReason.DECLINED)


async def test_a_stuck_refund_goes_on(world: PawapayWorld) -> None:
    money = refund_of(world, await paid(world, "+254712345129"))
    await world.rail.refund(money, now=now())
    world.service.advance(timedelta(days=1))
    assert await world.rail.poll_refund(money, now=now()) == Running()


async def test_a_refund_to_a_delayed_operator_waits_in_its_queue(world: PawapayWorld) -> None:
    money = refund_of(world, await paid(world))
    provider = world.service.memory.providers["MPESA_KEN"]
    provider.refunds = "DELAYED"
    assert await world.rail.refund(money, now=now()) == Running()
    world.service.advance(timedelta(hours=1))
    assert await world.rail.poll_refund(money, now=now()) == Running()
    provider.refunds = "OPERATIONAL"
    world.service.tick()
    world.service.advance(timedelta(seconds=2))
    assert isinstance(await world.rail.poll_refund(money, now=now()), Succeeded)


@pytest.mark.parametrize("kind", UNKNOWN_OUTCOMES)
async def test_a_refund_whose_answer_is_lost_is_not_paid_twice(world: PawapayWorld, kind: FaultKind) -> None:
    money = refund_of(world, await paid(world), 40_00)
    world.service.faults.add(Fault(kind, "/v2/refunds"))
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=now())
    assert await world.rail.poll_refund(money, now=now()) == Running()
    assert await world.rail.refund(money, now=now()) == Running()
    assert len(world.service.memory.refunds) == 1


async def test_a_refund_that_never_arrived_is_requested_again(world: PawapayWorld) -> None:
    money = refund_of(world, await paid(world), 40_00)
    world.service.faults.add(Fault(FaultKind.REFUSED, "/v2/refunds"))
    with pytest.raises(RailTimeout):
        await world.rail.refund(money, now=now())
    with pytest.raises(RailTimeout):
        await world.rail.poll_refund(money, now=now())
    with pytest.raises(NotFound):
        await world.rail.poll_refund(money, now=later(seconds=65))
    assert await world.rail.refund(money, now=later(seconds=65)) == Running()
    assert len(world.service.memory.refunds) == 1


async def test_a_refund_waits_for_the_balance_and_is_paid_once(world: PawapayWorld) -> None:
    money = refund_of(world, await paid(world))
    world.service.memory.balances["KES"] = Decimal(0)
    assert await world.rail.refund(money, now=now()) == Running()
    world.service.advance(timedelta(seconds=2))
    with pytest.raises(RailBusy, match="does not cover"):
        await world.rail.poll_refund(money, now=now())
    world.service.memory.balances["KES"] = Decimal(10**9)
    with pytest.raises(NotFound):
        await world.rail.poll_refund(money, now=later(minutes=2))
    assert await world.rail.refund(money, now=later(minutes=2)) == Running()
    world.service.advance(timedelta(seconds=2))
    assert isinstance(await world.rail.poll_refund(money, now=later(minutes=2)), Succeeded)
    assert sorted(one.status for one in world.service.memory.refunds.values()) == ["COMPLETED", "FAILED"]


async def test_a_return_is_requested_once_and_its_repeat_says_how_it_stands(world: PawapayWorld) -> None:
    transaction = await paid(world)
    money = ReturnMoney(
        business_id=world.business_id,
        reference="rt_0B5RkWq0Zt7cYhN4mPs9Lx",
        transaction_id=transaction.transaction_id,
        amount=transaction.amount,
        reason="too late",
    )
    assert await world.rail.send_back(money, now=now()) == Running()
    world.service.advance(timedelta(seconds=2))
    assert isinstance(await world.rail.send_back(money, now=now()), Succeeded)
    assert len(world.service.memory.refunds) == 1
    events = [one.event for one in await world.told() if isinstance(one.event, PollRequested)]
    assert events == [
        PollRequested(subject=PollSubject.RETURN, business_id=world.business_id, reference=money.reference)
    ]


async def test_its_list_has_what_came_and_what_went(world: PawapayWorld) -> None:
    transaction = await paid(world)
    money = refund_of(world, transaction, 40_00)
    await world.rail.refund(money, now=now())
    await world.rail.start(world.order(), now=now())
    world.service.advance(timedelta(seconds=2))
    listed = [one async for one in world.rail.list_transactions(later(days=-1), later(days=1))]
    assert [(one.is_incoming, one.amount.minor) for one in listed] == [(True, 100_00), (False, 40_00)]
    assert listed[0].transaction_id == transaction.transaction_id
    assert listed[1].reference == money.reference
    assert [one async for one in world.rail.list_transactions(later(days=1), later(days=2))] == []


# The doctor


async def test_callbacks_that_go_elsewhere_are_found(db: Database) -> None:
    account = EmulatedPawapayAccount(TOKEN, callback_url="https://old.example.com/hook")
    async with pawapay_world(db, account) as world:
        unwell = [finding for finding in await world.rail.check(now=now()) if not finding.is_well]
        assert ["old.example.com" in finding.what for finding in unwell] == [True]
