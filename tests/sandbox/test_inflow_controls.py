"""Transfers and reversals over HTTP: all that a payer's bank may say of them reaches the rail's own words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from build import Shop
from conftest import MakeShop
from payment.refusal import assert_refused, without_request_id
from settable_clock import SettableClock
from tidegate.core.card_number import contains_card_number
from tidegate.core.clock import ShiftedClock
from tidegate.core.money import Currency, Money
from tidegate.infra.lease_store import Lease
from tidegate.rail.event import CreditReversed, MoneyArrived, Notification, RawNotification
from tidegate.rail.sandbox import SandboxRail
from tidegate.rail.state import Party
from tidegate.runtime import Runtime

IBAN = "DE89370400440532013000"
SendNotices = Callable[..., Awaitable[list[Notification]]]


def transfer(**changes: Any) -> dict[str, Any]:
    body = {"accountNumber": IBAN, "amount": 12, "currency": "EUR", "payer": {"name": "Ada Obi"}}
    return {**body, **changes}


async def post(shop: Shop, path: str, body: Any = None, **headers: str) -> httpx.Response:
    return await shop.client.post(f"/sandbox/{path}", json=body, headers={"api-key": shop.secret_key, **headers})


async def sent(shop: Shop, **changes: Any) -> str:
    answer = await post(shop, "transfers", transfer(**changes))
    assert answer.status_code == 201, answer.text
    transaction_id: str = answer.json()["data"]["transactionId"]
    return transaction_id


@pytest.fixture
async def notifications(runtime: Runtime, shop: Shop) -> AsyncIterator[SendNotices]:
    """The notifications that are due by then, read as a receiver would; they are sent nowhere."""
    rail = runtime.deps.rails["sandbox"]
    assert isinstance(rail, SandboxRail)
    assert isinstance(runtime.clock, ShiftedClock)

    async def send_all(*, after: timedelta = timedelta(0)) -> list[Notification]:
        read: list[Notification] = []

        clock = SettableClock(runtime.clock.now() + after)

        async def carry(_: Lease, raw: RawNotification) -> None:
            read.extend(await rail.read(raw, now=clock.now()))

        await rail.send_notifications(carry, clock)
        return read

    yield send_all
    await rail.forget(shop.business_id)


async def only(notifications: SendNotices) -> MoneyArrived:
    [one] = await notifications()
    assert isinstance(one.event, MoneyArrived)
    return one.event


@pytest.mark.parametrize(
    ("currency", "amount", "minor", "scheme"), [("EUR", 1234.56, 1_234_56, "sepa"), ("USD", 0.01, 1, "ach")]
)
async def test_all_that_is_said_of_a_transfer_reaches_the_rail(
    shop: Shop, notifications: SendNotices, *, currency: str, amount: float, minor: int, scheme: str
) -> None:
    payer = {"name": "Ada Obi", "accountNumber": "GB29 NWBK 6016 1331 9268 19", "bankName": "Sample Bank"}
    transaction_id = await sent(
        shop,
        amount=amount,
        currency=currency,
        payer=payer,
        payee={"name": "Test Shop Ltd"},
        reference="BANK-7",
        remittance="Invoice 7 – merci",
        valuedAt="2016-02-29",
    )
    assert transaction_id == "BANK-7"
    assert await only(notifications) == MoneyArrived(
        account_number=IBAN,
        transaction_id="BANK-7",
        amount=Money(minor, Currency(currency)),
        payer=Party(name="Ada Obi", account_number="GB29 NWBK 6016 1331 9268 19", bank_name="Sample Bank"),
        payee_name="Test Shop Ltd",
        scheme=scheme,
        remittance="Invoice 7 – merci",
        valued_at=datetime(2016, 2, 29, tzinfo=UTC),
    )


async def test_what_is_not_said_the_bank_chooses(shop: Shop, notifications: SendNotices, runtime: Runtime) -> None:
    before = runtime.clock.now()
    await sent(shop, payee=None, reference=None, remittance=None, scheme=None, valuedAt=None, delay=None)
    event = await only(notifications)
    assert (event.payee_name, event.remittance, event.scheme) == (None, None, "sepa")
    assert abs(event.valued_at - before) < timedelta(minutes=5)


async def test_a_scheme_and_a_time_with_an_offset_may_be_given(shop: Shop, notifications: SendNotices) -> None:
    await sent(shop, scheme="wire", valuedAt="2036-11-15T01:00:00+02:00")
    event = await only(notifications)
    assert (event.scheme, event.valued_at) == ("wire", datetime(2036, 11, 14, 23, tzinfo=UTC))


@pytest.mark.parametrize(
    "name", ["x" * 1_000, "\N{GRINNING FACE}" * 1_000, "محمد بن سلمان", "\u202eiboeada", "<img src=x>", "'; DROP --"]
)
async def test_names_are_taken_as_they_were_typed(shop: Shop, notifications: SendNotices, name: str) -> None:
    await sent(shop, payer={"name": name}, payee={"name": name})
    event = await only(notifications)
    assert (event.payer.name, event.payee_name) == (name, name)


async def test_a_payer_may_have_no_name(shop: Shop, notifications: SendNotices) -> None:
    await sent(shop, payer={"name": ""})
    assert (await only(notifications)).payer.name == ""


# An IBAN that, typed in groups, holds what would pass for a card number.
LIKE_A_CARD = "DE82 4111 0000 0000 0008 00"


async def test_an_iban_in_groups_is_never_taken_for_a_card(shop: Shop, notifications: SendNotices) -> None:
    typed = LIKE_A_CARD
    assert contains_card_number(typed[5:])
    await sent(shop, accountNumber=typed.lower(), payer={"name": "Ada", "accountNumber": typed})
    assert (await only(notifications)).account_number == typed.replace(" ", "")


async def test_a_card_number_beside_an_iban_is_refused_all_the_same(shop: Shop, admin: Any) -> None:
    typed = LIKE_A_CARD
    for field in ("remittance", "scheme"):
        sending = post(shop, "transfers", transfer(accountNumber=typed, **{field: "4111 1111 1111 1111"}))
        await assert_refused(admin, sending, 422, "CARD_DATA_NOT_ALLOWED", field=field)
    wrong = f"{typed[:-1]}{(int(typed[-1]) + 1) % 10}"
    sending = post(shop, "transfers", transfer(accountNumber="4111 1111 1111 1111", remittance=wrong))
    await assert_refused(admin, sending, 422, "CARD_DATA_NOT_ALLOWED", field="accountNumber")


async def test_many_transfers_at_once_are_all_sent(shop: Shop, notifications: SendNotices) -> None:
    """More than there are connections: none may hold one while it waits for another."""
    made = await asyncio.gather(*(sent(shop) for _ in range(40)))
    events = [one.event for one in await notifications()]
    assert sorted(one.transaction_id for one in events if isinstance(one, MoneyArrived)) == sorted(made)


async def test_the_same_transfer_many_times_at_once_is_notified_with_the_same_body(
    shop: Shop, notifications: SendNotices
) -> None:
    await asyncio.gather(*(sent(shop, reference="BANK-1") for _ in range(20)))
    one, *others = await notifications()
    assert others == [one] * 19


# Reversals.


async def test_a_transfer_is_taken_back(shop: Shop, notifications: SendNotices) -> None:
    transaction_id = await sent(shop, amount=50.25)
    answer = await post(shop, f"transfers/{transaction_id}/reverse", {"reason": "sent twice"})
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert data["transactionId"] == transaction_id
    _, reversal = await notifications()
    assert reversal.event == CreditReversed(
        account_number=IBAN,
        transaction_id=transaction_id,
        reversal_id=data["reversalId"],
        amount=Money(50_25, Currency.EUR),
        reason="sent twice",
    )


@pytest.mark.parametrize("body", [None, {}, {"reason": None}])
async def test_a_reversal_needs_no_reason_and_asked_for_again_is_the_same(
    shop: Shop, notifications: SendNotices, body: dict[str, Any] | None
) -> None:
    transaction_id = await sent(shop, reference="BANK 1.ö")
    first, second = [await post(shop, f"transfers/{transaction_id}/reverse", body) for _ in range(2)]
    assert first.json()["data"] == second.json()["data"]
    _, one, other = await notifications()
    assert one == other


async def test_a_reversal_may_come_before_its_credit(shop: Shop, notifications: SendNotices) -> None:
    transaction_id = await sent(shop, delay="10m")
    assert (await post(shop, f"transfers/{transaction_id}/reverse")).status_code == 200
    [first] = await notifications()
    [second] = await notifications(after=timedelta(minutes=11))
    assert isinstance(first.event, CreditReversed)
    assert isinstance(second.event, MoneyArrived)


async def test_a_transfer_of_another_business_is_as_unknown_as_none(
    shop: Shop, new_shop: MakeShop, admin: Any, notifications: SendNotices
) -> None:
    await sent(shop, reference="BANK-1")
    other = await new_shop()
    answers = [
        await assert_refused(admin, post(other, f"transfers/{reference}/reverse"), 404, "RESOURCE_NOT_FOUND")
        for reference in ("BANK-1", "BANK-2", "x" * 3_000, "%27", "BANK-1%0A")
    ]
    assert len({without_request_id(answer) for answer in answers}) == 1
    assert len(await notifications()) == 1


@pytest.mark.parametrize(
    ("reason", "rule"),
    [
        (1, "VALIDATION_FAILED"),
        ("", "VALIDATION_FAILED"),
        ("x" * 141, "VALIDATION_FAILED"),
        ("4111 1111 1111 1111", "CARD_DATA_NOT_ALLOWED"),
    ],
)
async def test_a_reason_to_take_back_is_a_short_text(shop: Shop, admin: Any, reason: Any, rule: str) -> None:
    await sent(shop, reference="BANK-1")
    sending = post(shop, "transfers/BANK-1/reverse", {"reason": reason})
    await assert_refused(admin, sending, 422, rule, field="reason")
