"""A payer who changes the mind, a rail that is slow, a business that is suspended: the money is still right."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import WITHOUT_MONEY, card
from checkout.test_page_without_script import visit
from conftest import MakeCheckout, MakeShop
from tidegate.core.clock import SystemClock
from tidegate.core.fee import FeeRule
from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.payment import pay, settle
from tidegate.payment.transition import ATTEMPTS_MAX
from tidegate.rail.instrument import Card
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.rail.state import Succeeded
from tidegate.runtime import Runtime

CARD_WITH_PIN = {"number": "5366139833864633", "expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}


async def dear_cards(db: Database, shop: Shop) -> None:
    rule = FeeRule("", basis_points=500, vat_basis_points=0)
    await merchants.set_fee_rule(
        db, shop.business_id, currency=Currency.NGN, method=Method.CARD, rule=rule, now=SystemClock().now()
    )


async def switched(
    db: Database, new_shop: MakeShop, new_checkout: MakeCheckout, **settings: Any
) -> tuple[Checkout, str]:
    """An account was asked for, then a dearer card was begun; the account is still open."""
    shop = await new_shop(rate_per_second=100_000, rate_burst=100_000, **settings)
    await dear_cards(db, shop)
    bearer = "customer" if settings else "business"
    checkout = await new_checkout(shop, amount=10_000, feeBearer=bearer)
    account = await checkout.account()
    charged = await checkout.charge({"type": "card", "card": CARD_WITH_PIN})
    assert charged.json()["data"]["action"] == {"type": "pin"}
    return checkout, account


async def test_money_is_priced_by_the_attempt_it_was_sent_for(
    db: Database, new_shop: MakeShop, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout, account = await switched(db, new_shop, new_checkout)
    await checkout.transfer(account, "10000")
    row = await admin.fetchrow("SELECT method, fee_minor, vat_minor, fee_rule_id FROM payment")
    assert tuple(row) == ("bank_transfer", 14_000, 1_050, "default-ngn-bank_transfer")


@pytest.mark.parametrize("policy", ["accept", "top_up", "return"])
async def test_exactly_what_the_account_asked_for_is_exact(
    db: Database, new_shop: MakeShop, new_checkout: MakeCheckout, policy: str
) -> None:
    checkout, account = await switched(db, new_shop, new_checkout, variance_policy=policy)
    await checkout.transfer(account, "10150.5")
    record = await checkout.record()
    assert (record["status"], record["varianceType"], record["amountExpected"]) == ("success", None, 10150.5)
    view = await checkout.view()
    assert view["attempt"]["action"] == {"type": "none"}, "a paid payment asks for nothing"


# The account of a transfer is handed out again while it is open.


async def given(checkout: Checkout) -> dict[str, Any]:
    answer = await checkout.charge({"type": "bank_transfer"})
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_a_repeated_transfer_gets_the_same_account_and_writes_nothing(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    first, before = await given(checkout), await checkout.view()
    await checkout.let_pass("5m")
    for _ in range(ATTEMPTS_MAX + 1):
        assert await given(checkout) == first
    assert await checkout.view() == before
    assert await admin.fetchval("SELECT count(*) FROM attempt") == 1
    page = await visit(checkout, "?method=bank_transfer")
    answer = await page.client.post(
        f"/pay/{checkout.pay_code}/charge",
        data={**page.form("/sent").fields, "type": "bank_transfer"},
        follow_redirects=True,
    )
    assert first["action"]["virtualAccount"]["accountNumber"] in answer.text
    assert await checkout.view() == before


async def test_a_closed_account_is_followed_by_a_new_one(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    first = await checkout.account()
    await checkout.let_pass("31m")
    assert await checkout.account() != first


@pytest.mark.parametrize("number", [CARD_WITH_PIN["number"], WITHOUT_MONEY], ids=["waits for its PIN", "declined"])
async def test_after_a_card_a_transfer_gets_the_account_of_before(new_checkout: MakeCheckout, number: str) -> None:
    checkout = await new_checkout()
    first, left = await given(checkout), (await checkout.view())["attemptsLeft"]
    for _ in range(2):
        await checkout.charge(card(number))
        assert await given(checkout) == first
    view = await checkout.view()
    assert (view["attempt"]["attemptId"], view["attemptsLeft"], view["status"]) == (first["attemptId"], left, "pending")
    await checkout.transfer(first["action"]["virtualAccount"]["accountNumber"], "100")
    assert (await checkout.record())["status"] == "success"


async def test_a_payment_does_not_fail_while_an_account_is_open(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(paymentMethods=["card", "bank_transfer"], settings={"session_minutes": 1_440})
    for _ in range(ATTEMPTS_MAX):
        account = await checkout.account()
        await checkout.charge(card(WITHOUT_MONEY))
        view = await checkout.view()
        assert (view["status"], view["openPaymentMethods"][-1]) == ("pending", "bank_transfer")
        await checkout.let_pass("31m")
    page = await visit(checkout)
    page = await page.send("/charge", {"type": "bank_transfer"})
    assert "Transfer exactly" in page.text
    assert await checkout.account() == account, "all attempts were used, so the last account was opened again"
    await checkout.transfer(account, "100")
    assert (await checkout.record())["status"] == "success"


async def test_of_many_who_go_back_to_the_account_at_once_each_gets_it_or_is_refused(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.charge(card(WITHOUT_MONEY))
    answers = await asyncio.gather(*(checkout.charge({"type": "bank_transfer"}) for _ in range(6)))
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert await checkout.account() == account
    assert await admin.fetchval("SELECT count(*) FROM attempt") == 2


async def test_a_part_sent_to_the_account_of_before_is_shown_and_the_rest_can_be_sent(
    new_checkout: MakeCheckout,
) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.charge(card(WITHOUT_MONEY))
    await checkout.transfer(account, "40")
    page = await visit(checkout)
    assert (page.status, "We received ₦40.00" in page.text) == (200, True)
    page = await page.send("/charge", {"type": "bank_transfer"})
    assert "₦60.00 still to come" in page.text
    await checkout.transfer(account, "60")
    assert (await checkout.record())["status"] == "success"


@pytest.mark.parametrize("suffix", ["0001", "0005"])
async def test_a_phone_approved_in_time_counts_though_notified_late(new_checkout: MakeCheckout, suffix: str) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge({"type": "mobile_money", "phone": MOBILE_MONEY[Currency.KES].test_numbers[suffix]})
    await checkout.let_pass("3h")
    assert (await checkout.record())["status"] == "success"


async def test_a_transfer_valued_in_time_counts_though_notified_late(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    body = {"accountNumber": account, "amount": 100, "currency": "NGN", "payer": {"name": "Ada"}}
    assert (await checkout.sandbox("transfers", body)).status_code == 201
    # Nobody carries the word of it until the account has closed; the session lasts.
    await checkout.let_pass("45m")
    assert (await checkout.record())["status"] == "success"


async def test_an_answer_that_its_own_notification_overtook_is_no_error(
    new_checkout: MakeCheckout, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = await new_checkout()
    rail: Any = runtime.rails["sandbox"]
    real_start = rail.start

    async def slow_start(order: Any, *, now: Any) -> Any:
        state = await real_start(order, now=now)
        await checkout.tick()  # The word of it arrives while the answer is still on its way.
        return state

    monkeypatch.setattr(rail, "start", slow_start)
    payer = pay.Payer(
        runtime.deps, checkout.shop.business_id, checkout.pay_code, "http://localhost", runtime.clock.now()
    )
    seen = await pay.view(runtime.db, payer.business_id, payer.pay_code)
    snapshot = await pay.charge(payer, seen, Method.CARD, Card("5319317801366660", 12, 2040, "123"), {})
    assert snapshot.payment.status == "success"


async def test_the_same_answer_recorded_many_times_at_once_is_no_error(
    new_checkout: MakeCheckout, runtime: Runtime
) -> None:
    checkout = await new_checkout()
    await checkout.charge({"type": "payAttitude", "bank": "058"})
    snapshot = await pay.view(runtime.db, checkout.shop.business_id, checkout.pay_code)
    assert snapshot.attempt is not None
    reference, now = snapshot.attempt.reference, runtime.clock.now()
    state = Succeeded("T-1", snapshot.payment.expected)
    recorded = await asyncio.gather(
        *(
            settle.record_state(runtime.deps, checkout.shop.business_id, reference, state, ref=None, now=now)
            for _ in range(8)
        )
    )
    assert {r.payment.status.value for r in recorded if r} == {"success"}


async def test_a_suspended_business_takes_no_money(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout()
    await merchants.change(db, checkout.shop.business_id, {"status": "suspended"}, now=SystemClock().now())
    answer = await checkout.charge({"type": "bank_transfer"})
    assert (answer.status_code, answer.json()["errorType"]) == (403, "ACCESS_DENIED")


async def test_a_part_payment_shows_everywhere(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    assert (await checkout.record())["amountReceived"] == 40
    assert (await checkout.view())["attempt"]["action"]["amountExpected"] == 60
