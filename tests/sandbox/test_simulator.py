"""What the simulator does to one payment, from the page or over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from build import Checkout, Shop
from checkout.paying import SUCCEEDS, WANTS_PIN, card, phone
from checkout.test_page_without_script import visit
from conftest import MakeCheckout
from payment.refusal import assert_refused, without_request_id
from tidegate.core.errors import Conflict, NotFound
from tidegate.core.money import Currency, Money
from tidegate.rail.mobile_money import MOBILE_MONEY
from tidegate.rail.state import Party
from tidegate.runtime import Runtime
from tidegate.sandbox.simulator import Simulator

ADA = Party(name="Ada Obi", bank_name="Sample Bank")
ON_THE_PHONE = {"type": "payAttitude", "bank": "058"}


@pytest.fixture
def simulator(runtime: Runtime) -> Simulator:
    return Simulator(runtime.deps)


def key(checkout: Checkout) -> tuple[str, str]:
    return checkout.shop.business_id, checkout.pay_code


async def expire(checkout: Checkout) -> None:
    answer = await checkout.sandbox(f"charges/{checkout.pay_code}/expire")
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"]["payCode"] == checkout.pay_code


# As the page calls it.


async def test_a_transfer_goes_to_the_account_on_the_page(
    new_checkout: MakeCheckout, simulator: Simulator, runtime: Runtime
) -> None:
    checkout = await new_checkout()
    await checkout.account()
    money = Money.of_major(100, Currency.NGN)
    assert await simulator.send_transfer(*key(checkout), money, payer=ADA, now=runtime.clock.now())
    await checkout.tick()
    assert (await checkout.record())["status"] == "success"
    await simulator.send_transfer(*key(checkout), money, payer=ADA, now=runtime.clock.now())
    await checkout.tick()
    assert (await checkout.view())["amountReturned"] == 100, "also when it is too late"


@pytest.mark.parametrize("body", [None, ON_THE_PHONE])
async def test_a_transfer_needs_an_account(
    new_checkout: MakeCheckout, simulator: Simulator, runtime: Runtime, body: Any
) -> None:
    checkout = await new_checkout()
    if body:
        await checkout.charge(body)
    with pytest.raises(Conflict):
        await simulator.send_transfer(
            *key(checkout), Money.of_major(1, Currency.NGN), payer=ADA, now=runtime.clock.now()
        )


async def test_the_phone_is_answered_for_the_newest_attempt(
    new_checkout: MakeCheckout, simulator: Simulator, runtime: Runtime
) -> None:
    checkout = await new_checkout()
    await checkout.charge(ON_THE_PHONE)
    declined = await simulator.decline(*key(checkout), "insufficient_funds", now=runtime.clock.now())
    await checkout.tick()
    attempt = (await checkout.view())["attempt"]
    assert (attempt["attemptId"], attempt["failure"]) == (declined, "insufficient_funds")
    await checkout.charge(ON_THE_PHONE)
    assert await simulator.approve(*key(checkout), now=runtime.clock.now()) != declined
    await checkout.tick()
    assert (await checkout.record())["status"] == "success"


async def test_a_pay_code_of_another_business_is_unknown(
    new_checkout: MakeCheckout, shop: Shop, simulator: Simulator, runtime: Runtime
) -> None:
    checkout = await new_checkout()
    for pay_code in (checkout.pay_code, "x"):
        with pytest.raises(NotFound):
            await simulator.expire(shop.business_id, pay_code, now=runtime.clock.now())


# Expire now.


async def test_an_untouched_payment_expires_at_once(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    before = await checkout.view()
    await expire(checkout)
    after = await checkout.view()
    assert after["expiresAt"] < before["expiresAt"]
    assert after["version"] == before["version"] + 1, "pages that watch it notice"
    assert (await checkout.charge(card())).status_code == 409, "even before a worker has come by"
    await checkout.tick()
    assert (await checkout.record())["status"] == "expired"


async def test_a_payment_whose_time_is_over_is_not_offered_to_expire(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    assert "Expire now" in (await visit(checkout)).text
    await expire(checkout)
    assert "Expire now" not in (await visit(checkout)).text, "even before a worker has come by"
    await checkout.tick()
    assert "Expire now" not in (await visit(checkout)).text


async def test_the_account_closes_with_the_payment_and_money_goes_back(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await expire(checkout)
    view = await checkout.view()
    assert view["attempt"]["action"]["virtualAccount"]["expiresAt"] == view["expiresAt"]
    await checkout.transfer(account, "100")
    view = await checkout.view()
    assert (view["status"], view["amountReturned"], view["attempt"]["status"]) == ("expired", 100, "expired")


async def test_the_account_of_an_earlier_attempt_closes_too(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.charge(card(WANTS_PIN))
    await expire(checkout)
    await checkout.transfer(account, "100")
    view = await checkout.view()
    assert (view["status"], view["amountReturned"]) == ("expired", 100)


async def test_part_payments_go_back_when_the_payment_is_expired(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    await checkout.transfer(await checkout.account(), "40")
    await expire(checkout)
    await checkout.tick()
    view = await checkout.view()
    assert (view["status"], view["amountReceived"], view["amountReturned"]) == ("expired", 0, 40)


async def test_an_unknown_outcome_is_waited_for_and_counts(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge(phone(MOBILE_MONEY[Currency.KES].test_numbers["0005"]))
    await expire(checkout)
    await checkout.tick()
    assert (await checkout.view())["status"] == "processing"
    await checkout.let_pass("15s")
    assert (await checkout.record())["status"] == "success"


async def test_expiring_twice_before_the_worker_runs_is_expiring_once(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await expire(checkout)
    ended_at = (await checkout.view())["expiresAt"]
    await expire(checkout)
    assert (await checkout.view())["expiresAt"] == ended_at


async def paid(checkout: Checkout) -> None:
    await checkout.charge(card(SUCCEEDS))


async def given_up(checkout: Checkout) -> None:
    await checkout.cancel()


async def forgotten(checkout: Checkout) -> None:
    await checkout.let_pass("2h")


@pytest.mark.parametrize(("end", "status"), [(paid, "success"), (given_up, "failed"), (forgotten, "expired")])
async def test_what_has_ended_cannot_expire(new_checkout: MakeCheckout, admin: Any, end: Any, status: str) -> None:
    checkout = await new_checkout()
    await end(checkout)
    before = await checkout.view()
    answer = await assert_refused(admin, checkout.sandbox(f"charges/{checkout.pay_code}/expire"), 409, "CONFLICT")
    assert status in answer.json()["message"]
    assert await checkout.view() == before


async def test_expiring_a_payment_of_another_business_is_as_unknown_as_none(
    new_checkout: MakeCheckout, shop: Shop, admin: Any
) -> None:
    checkout = await new_checkout()
    headers = {"api-key": shop.secret_key}
    answers = [
        await assert_refused(
            admin, shop.client.post(f"/sandbox/charges/{code}/expire", headers=headers), 404, "RESOURCE_NOT_FOUND"
        )
        for code in (checkout.pay_code, "tg_00000_" + "0" * 22, "x")
    ]
    assert len({without_request_id(answer) for answer in answers}) == 1
    await checkout.tick()
    assert (await checkout.view())["status"] == "initiated"
