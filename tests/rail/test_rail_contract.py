"""What every rail must hold. A new rail adds itself to RAILS; behind it stands a server that answers for the bank."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bank.world import settings_in
from rail.pawapay_world import pawapay_world
from rail.paystack_world import paystack_world
from rail.world import NOW, PAYER, SECRET, card, later, transfer_means
from tidegate import settings
from tidegate.core.errors import NotFound
from tidegate.core.ids import Mode
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.rail.bankfiles.rail import FOLDERS, BankFilesRail
from tidegate.rail.event import RawNotification
from tidegate.rail.instrument import HostedPage, Otp, Phone
from tidegate.rail.interface import (
    NotificationRefused,
    OpenAccount,
    Rail,
    RailTimeout,
    RefundMoney,
    ReturnMoney,
    StartAttempt,
)
from tidegate.rail.registry import LIVE_RAILS
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.state import Failed, Running, StillWaiting, Succeeded, Waiting


def an_attempt(business_id: str, reference: str, **changes: Any) -> StartAttempt:
    fields: dict[str, Any] = {
        "method": Method.BANK_TRANSFER,
        "amount": Money.of_major(100, Currency.NGN),
        "instrument": transfer_means(),
        "payer": PAYER,
        "return_url": "https://pay.example.com/p/tg_abcde_1",
        **changes,
    }
    return StartAttempt(business_id=business_id, reference=reference, **fields)


# Of a payment that was paid: its transaction.
Pay = Callable[[StartAttempt], Awaitable[str]]
Opened = tuple[Rail, str, Pay]


@asynccontextmanager
async def sandbox(db: Database) -> AsyncIterator[Opened]:
    new = await merchants.create(db, name="Test Shop", email="shop@example.com", mode=Mode.SANDBOX, now=NOW)

    async def pay(_: StartAttempt) -> str:
        return "bank-1"

    yield SandboxRail(db, SECRET), new.business.id, pay


@asynccontextmanager
async def paystack(db: Database) -> AsyncIterator[Opened]:
    async with paystack_world(db) as world:

        async def pay(order: StartAttempt) -> str:
            await world.rail.start(order, now=NOW)
            world.service.pay(world.payment(order))
            return str(world.payment(order).id)

        yield world.rail, world.business_id, pay


@asynccontextmanager
async def pawapay(db: Database) -> AsyncIterator[Opened]:
    async with pawapay_world(db) as world:

        async def pay(order: StartAttempt) -> str:
            await world.rail.start(order, now=NOW)
            world.service.approve(world.deposit(order))
            return world.deposit(order).id

        yield world.rail, world.business_id, pay


@asynccontextmanager
async def bankfiles(db: Database) -> AsyncIterator[Opened]:
    new = await merchants.create(db, name="Test Shop", email="shop@example.com", mode=Mode.SANDBOX, now=NOW)

    async def pay(_: StartAttempt) -> str:
        return "2026-11-15/9030001234567/C/R1"

    with TemporaryDirectory() as folder:
        for name in FOLDERS:
            (Path(folder) / name).mkdir()
        yield BankFilesRail(settings_in(Path(folder)), db), new.business.id, pay


@dataclass(frozen=True)
class RailCase:
    open: Callable[[Database], AbstractAsyncContextManager[Opened]]
    # What is different from a bank transfer of NGN 100, where the rail does not take one.
    attempt: dict[str, Any]


RAILS = {
    "sandbox": RailCase(sandbox, {}),
    "sandbox, by card": RailCase(sandbox, {"method": Method.CARD, "instrument": card("5319317801366660")}),
    "bankfiles": RailCase(bankfiles, {"amount": Money.of_major(100, Currency.UGX)}),
    "paystack": RailCase(paystack, {}),
    "paystack, by card": RailCase(paystack, {"method": Method.CARD, "instrument": HostedPage()}),
    "pawapay": RailCase(
        pawapay,
        {
            "method": Method.MOBILE_MONEY,
            "instrument": Phone("+254712345678", "mpesa"),
            "amount": Money.of_major(100, Currency.KES),
        },
    ),
}


@pytest.fixture(params=RAILS)
def case(request: pytest.FixtureRequest) -> RailCase:
    return RAILS[request.param]


@pytest.fixture
async def opened(case: RailCase, db: Database) -> AsyncIterator[Opened]:
    async with case.open(db) as made:
        yield made


@pytest.fixture
def rail(opened: Opened) -> Rail:
    return opened[0]


@pytest.fixture
def pay(opened: Opened) -> Pay:
    return opened[2]


@pytest.fixture
def order(case: RailCase, opened: Opened) -> StartAttempt:
    return an_attempt(opened[1], "at_0B5RkWq0Zt7cYhN4mPs9Lx", **case.attempt)


def test_every_rail_is_tested_here_and_known_to_the_settings() -> None:
    assert {name.partition(",")[0] for name in RAILS} == {"sandbox", *LIVE_RAILS}
    assert set(settings.LIVE_RAILS) == set(LIVE_RAILS)


def test_it_offers_what_it_takes(rail: Rail, order: StartAttempt) -> None:
    assert rail.capabilities.offers(order.method, order.amount)
    assert not rail.capabilities.offers(order.method, Money.zero(order.amount.currency))


async def test_one_reference_is_one_attempt(rail: Rail, order: StartAttempt) -> None:
    """A repeat that comes while the first is under way may also have to wait."""
    answers = await asyncio.gather(*(rail.start(order, now=NOW) for _ in range(5)), return_exceptions=True)
    [first, *others] = [answer for answer in answers if not isinstance(answer, RailTimeout)]
    assert isinstance(first, Waiting | Running | Succeeded | Failed)
    assert others == [first] * len(others)
    assert await rail.start(order, now=later(seconds=1)) == first


async def test_an_attempt_can_be_asked_about(rail: Rail, order: StartAttempt) -> None:
    started = await rail.start(order, now=NOW)
    found = await rail.poll(order.business_id, order.reference, now=NOW)
    is_waiting = isinstance(started, Waiting) and isinstance(found, StillWaiting)
    assert found == started or (is_waiting and found.action in (None, started.action))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "call",
    [
        lambda rail, business_id: rail.poll(business_id, "never", now=NOW),
        lambda rail, business_id: rail.authorize(business_id, "never", Otp("123456"), now=NOW),
        lambda rail, business_id: rail.resend(business_id, "never", now=NOW),
        lambda rail, business_id: rail.poll_refund(
            RefundMoney(business_id=business_id, reference="never", transaction_id="0", amount=Money(1, Currency.NGN)),
            now=NOW,
        ),
    ],
    ids=["poll", "authorize", "resend", "poll_refund"],
)
async def test_a_reference_that_never_reached_it_is_not_found(
    rail: Rail, order: StartAttempt, call: Callable[[Rail, str], Awaitable[Any]]
) -> None:
    with pytest.raises(NotFound):
        await call(rail, order.business_id)


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff", b'{"event": "attempt.succeeded"}'])
async def test_a_notification_without_its_signature_is_refused(rail: Rail, body: bytes) -> None:
    with pytest.raises(NotificationRefused):
        await rail.read(RawNotification(body, {}), now=NOW)


async def test_one_reference_is_one_refund(rail: Rail, order: StartAttempt, pay: Pay) -> None:
    money = RefundMoney(
        business_id=order.business_id, reference="rf_1", transaction_id=await pay(order), amount=order.amount
    )
    first = await rail.refund(money, now=NOW)
    assert await rail.refund(money, now=NOW) == first
    assert await rail.poll_refund(money, now=NOW) == first


async def test_a_return_may_be_asked_for_twice(rail: Rail, order: StartAttempt, pay: Pay) -> None:
    money = ReturnMoney(
        business_id=order.business_id,
        reference="rt_1",
        transaction_id=await pay(order),
        amount=order.amount,
        reason="too late",
    )
    first = await rail.send_back(money, now=NOW)
    assert await rail.send_back(money, now=NOW) == first


async def test_one_reference_is_one_account(rail: Rail, order: StartAttempt) -> None:
    for currency in rail.capabilities.account_currencies:
        wanted = OpenAccount(
            business_id=order.business_id, reference=f"account-{currency}", currency=currency, holder="Ada Obi"
        )
        details = await rail.open_account(wanted, now=NOW)
        assert details.account_number
        assert await rail.open_account(wanted, now=NOW) == details


async def test_it_is_examined_without_fail(rail: Rail) -> None:
    findings = await rail.check(now=NOW)
    assert findings
    assert all(finding.is_well for finding in findings)


async def test_its_terms_name_methods_that_its_currencies_have(rail: Rail) -> None:
    for currency, terms in rail.capabilities.methods.items():
        assert set(terms) <= set(currency.spec.methods)
