"""What every rail must hold. A new rail adds itself to RAILS; behind it stands a server that answers for the bank."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rail.world import NOW, PAYER, SECRET, card, later, transfer_means
from tidegate import settings
from tidegate.core.errors import NotFound
from tidegate.core.ids import Mode
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.rail.event import RawNotification
from tidegate.rail.instrument import Otp
from tidegate.rail.interface import NotificationRefused, OpenAccount, Rail, RefundMoney, ReturnMoney, StartAttempt
from tidegate.rail.registry import LIVE_RAILS
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.state import Failed, Running, Succeeded, Waiting


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


@dataclass(frozen=True)
class RailCase:
    make: Callable[[Database], Rail]
    # What is different from a bank transfer of NGN 100, where the rail does not take one.
    attempt: dict[str, Any]


RAILS = {
    "sandbox": RailCase(lambda db: SandboxRail(db, SECRET), {}),
    "sandbox, by card": RailCase(
        lambda db: SandboxRail(db, SECRET), {"method": Method.CARD, "instrument": card("5319317801366660")}
    ),
}


@pytest.fixture(params=RAILS)
def case(request: pytest.FixtureRequest) -> RailCase:
    return RAILS[request.param]


@pytest.fixture
def rail(case: RailCase, db: Database) -> Rail:
    return case.make(db)


@pytest.fixture
async def order(case: RailCase, db: Database) -> StartAttempt:
    new = await merchants.create(db, name="Test Shop", email="shop@example.com", mode=Mode.SANDBOX, now=NOW)
    return an_attempt(new.business.id, "attempt-1", **case.attempt)


def test_every_rail_is_tested_here_and_known_to_the_settings() -> None:
    assert {name.partition(",")[0] for name in RAILS} == {"sandbox", *LIVE_RAILS}
    assert set(settings.LIVE_RAILS) == set(LIVE_RAILS)


def test_it_offers_what_it_takes(rail: Rail, order: StartAttempt) -> None:
    assert rail.capabilities.offers(order.method, order.amount)
    assert not rail.capabilities.offers(order.method, Money.zero(order.amount.currency))


async def test_one_reference_is_one_attempt(rail: Rail, order: StartAttempt) -> None:
    first, *others = await asyncio.gather(*(rail.start(order, now=NOW) for _ in range(5)))
    assert isinstance(first, Waiting | Running | Succeeded | Failed)
    assert others == [first] * 4
    assert await rail.start(order, now=later(seconds=1)) == first


async def test_an_attempt_can_be_asked_about(rail: Rail, order: StartAttempt) -> None:
    started = await rail.start(order, now=NOW)
    assert await rail.ask(order.business_id, order.reference, now=NOW) == started


@pytest.mark.parametrize(
    "call",
    [
        lambda rail, business_id: rail.ask(business_id, "never", now=NOW),
        lambda rail, business_id: rail.authorize(business_id, "never", Otp("123456"), now=NOW),
        lambda rail, business_id: rail.resend(business_id, "never", now=NOW),
        lambda rail, business_id: rail.ask_refund(
            RefundMoney(business_id=business_id, reference="never", transaction_id="0", amount=Money(1, Currency.NGN)),
            now=NOW,
        ),
    ],
    ids=["ask", "authorize", "resend", "ask_refund"],
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


async def test_one_reference_is_one_refund(rail: Rail, order: StartAttempt) -> None:
    money = RefundMoney(
        business_id=order.business_id, reference="refund-1", transaction_id="bank-1", amount=order.amount
    )
    first = await rail.refund(money, now=NOW)
    assert await rail.refund(money, now=NOW) == first
    assert await rail.ask_refund(money, now=NOW) == first


async def test_a_return_may_be_asked_for_twice(rail: Rail, order: StartAttempt) -> None:
    money = ReturnMoney(
        business_id=order.business_id,
        reference="return-1",
        transaction_id="bank-1",
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
