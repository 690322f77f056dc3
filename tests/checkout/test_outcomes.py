"""Every card, phone, amount and policy of the sandbox gives its documented outcome, through the API alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from build import Checkout
from conftest import MakeCheckout
from tidegate.core.money import CHECKOUT_OFFERS, Currency
from tidegate.rail.mobile_money import MOBILE_MONEY

CARD = {"expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}


def card(number: str) -> dict[str, Any]:
    return {"type": "card", "card": {"number": number, **CARD}}


async def act(checkout: Checkout, body: dict[str, Any]) -> dict[str, Any]:
    answer = await checkout.charge(body)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def answer(checkout: Checkout, body: dict[str, Any]) -> dict[str, Any]:
    given = await checkout.authorize(body)
    assert given.status_code == 200, given.text
    data: dict[str, Any] = given.json()["data"]
    return data


async def events_of(admin: Any, checkout: Checkout) -> list[dict[str, Any]]:
    rows = await admin.fetch("SELECT payload FROM event WHERE business_id = $1", checkout.shop.business_id)
    return [json.loads(row["payload"]) for row in rows]


async def check_paid(checkout: Checkout, admin: Any, *, settled: str, received: str = "100") -> None:
    record = await checkout.record()
    assert record["status"] == "success"
    assert str(record["amountReceived"]) == received
    events = await events_of(admin, checkout)
    assert [str(event["data"]["amountToSettle"]) for event in events] == [settled]
    wallet = await admin.fetchval(
        "SELECT balance_minor FROM wallet WHERE business_id = $1 AND currency = $2",
        checkout.shop.business_id,
        record["currency"],
    )
    assert wallet == round(float(settled) * (1 if record["currency"] == "UGX" else 100))


async def test_a_card_without_a_step(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    charged = await act(checkout, card("5319 3178 0136 6660"))
    assert (charged["status"], charged["action"]) == ("success", {"type": "none"})
    await checkout.tick()  # The rail tells of it once more; nothing changes.
    await check_paid(checkout, admin, settled="98.49")


async def test_a_card_with_a_pin(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    assert (await act(checkout, card("5366139833864633")))["action"] == {"type": "pin"}
    assert (await checkout.view())["status"] == "pending"
    assert (await answer(checkout, {"pin": "1234"}))["status"] == "success"
    await check_paid(checkout, admin, settled="98.49")


async def test_a_card_with_a_pin_and_a_code(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await act(checkout, card("5333-0182-4843-9266"))
    assert (await answer(checkout, {"pin": "1234"}))["action"] == {"type": "otp"}
    assert (await answer(checkout, {"otp": "123456"}))["status"] == "success"
    await check_paid(checkout, admin, settled="98.49")


async def test_a_card_with_3d_secure(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    charged = await act(checkout, card("4084080000000409"))
    assert charged["action"]["type"] == "redirect"
    assert checkout.pay_code in charged["action"]["url"]
    assert (await answer(checkout, {"otp": "123456"}))["status"] == "success"
    await check_paid(checkout, admin, settled="98.49")


async def test_a_card_with_an_address(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    assert (await act(checkout, card("4960215093757593")))["action"] == {"type": "address"}
    address = {"line": "1 Marina", "city": "Lagos", "country": "NG"}
    assert (await answer(checkout, {"address": address}))["status"] == "success"
    await check_paid(checkout, admin, settled="98.49")


async def test_a_declined_card_leaves_the_payment_open(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    charged = await act(checkout, card("4084080000005408"))
    assert (charged["status"], charged["failure"]) == ("pending", "insufficient_funds")
    await act(checkout, card("5319317801366660"))
    await check_paid(checkout, admin, settled="98.49")


async def test_only_published_cards_are_accepted(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    assert (await act(checkout, card("4111111111111111")))["failure"] == "not_a_test_card"


async def test_five_attempts_are_all(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(paymentMethods=["card"])
    for left in (4, 3, 2, 1):
        await act(checkout, card("4084080000005408"))
        assert (await checkout.view())["attemptsLeft"] == left
    assert (await act(checkout, card("4084080000005408")))["status"] == "failed"
    assert (await checkout.view())["ending"] == "attempts_used_up"
    assert (await checkout.charge(card("5319317801366660"))).status_code == 409
    assert await events_of(admin, checkout) == []


@pytest.mark.parametrize("currency", [each for each in MOBILE_MONEY if each in CHECKOUT_OFFERS])
async def test_a_phone_that_approves_at_once(new_checkout: MakeCheckout, currency: Currency) -> None:
    checkout = await new_checkout(currency=currency.value)
    charged = await act(checkout, {"type": "mobile_money", "phone": MOBILE_MONEY[currency].test_numbers["0000"]})
    assert charged["status"] == "processing"
    await checkout.tick()
    assert (await checkout.record())["status"] == "success"


async def phone(new_checkout: MakeCheckout, suffix: str) -> Checkout:
    checkout = await new_checkout(currency="KES")
    await act(checkout, {"type": "mobile_money", "phone": MOBILE_MONEY[Currency.KES].test_numbers[suffix]})
    await checkout.tick()
    return checkout


async def test_a_phone_that_approves_after_five_seconds(new_checkout: MakeCheckout) -> None:
    checkout = await phone(new_checkout, "0001")
    assert (await checkout.view())["status"] == "processing"
    await checkout.let_pass("6s")
    assert (await checkout.view())["status"] == "success"


@pytest.mark.parametrize(
    ("suffix", "failure"),
    [("0002", "insufficient_funds"), ("0003", "not_approved"), ("0004", "no_such_wallet")],
)
async def test_a_phone_that_fails_says_why(new_checkout: MakeCheckout, suffix: str, failure: str) -> None:
    checkout = await phone(new_checkout, suffix)
    view = await checkout.view()
    assert (view["status"], view["attempt"]["failure"]) == ("pending", failure)


async def test_a_phone_that_never_answers_is_asked_for_and_never_called_failed(new_checkout: MakeCheckout) -> None:
    checkout = await phone(new_checkout, "0005")
    assert (await checkout.view())["status"] == "processing"
    again = await checkout.charge({"type": "mobile_money", "phone": MOBILE_MONEY[Currency.KES].test_numbers["0000"]})
    assert again.status_code == 409, "an unknown outcome is not replaced"
    assert (await checkout.cancel()).status_code == 409
    await checkout.let_pass("6s")
    assert (await checkout.view())["status"] == "processing"
    await checkout.let_pass("15s")
    assert (await checkout.view())["status"] == "success"


@pytest.mark.parametrize("body", [{"type": "payAttitude", "bank": "058"}, {"type": "PAYATTITUDE", "bank": "044"}])
async def test_ussd_shows_a_code_and_waits(new_checkout: MakeCheckout, body: dict[str, Any], admin: Any) -> None:
    checkout = await new_checkout()
    charged = await act(checkout, body)
    assert charged["action"]["type"] == "dial"
    assert charged["action"]["code"].startswith("*")
    assert (await checkout.sandbox(f"charges/{checkout.pay_code}/approve")).status_code == 200
    await checkout.tick()
    await check_paid(checkout, admin, settled="98.49")


async def test_a_declined_ussd_may_be_tried_again(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await act(checkout, {"type": "payAttitude", "bank": "058"})
    assert (await checkout.sandbox(f"charges/{checkout.pay_code}/decline")).status_code == 200
    await checkout.tick()
    view = await checkout.view()
    assert (view["status"], view["attempt"]["failure"]) == ("pending", "not_approved")
    assert (await act(checkout, {"type": "payAttitude", "bank": "058"}))["action"]["type"] == "dial"


async def test_an_exact_transfer_settles(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(feeBearer="customer")
    await checkout.transfer(await checkout.account(), "101.51")
    await check_paid(checkout, admin, settled="100", received="101.51")
    assert (await checkout.record())["varianceType"] is None


async def test_accept_settles_a_short_transfer_as_an_underpayment(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "40")
    await check_paid(checkout, admin, settled="39.4", received="40")
    record = await checkout.record()
    assert (record["varianceType"], record["message"]) == ("underpayment", "INCORRECT_AMOUNT")
    assert "refund" in record["actionRequired"]


async def test_accept_settles_a_long_transfer_as_an_overpayment(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "150")
    await check_paid(checkout, admin, settled="147.74", received="150")
    assert (await checkout.record())["varianceType"] == "overpayment"


async def test_top_up_waits_for_the_rest(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    view = await checkout.view()
    assert (view["status"], view["amountReceived"], view["amountRemaining"]) == ("pending", 40, 60)
    await checkout.transfer(account, "20.5")
    await checkout.transfer(account, "39.5")
    await check_paid(checkout, admin, settled="98.49")
    assert (await checkout.record())["varianceType"] is None


async def test_top_up_returns_the_excess_of_the_last_part(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    await checkout.transfer(account, "75")
    await check_paid(checkout, admin, settled="98.49")
    assert (await checkout.view())["amountReturned"] == 15


async def test_top_up_returns_the_parts_when_time_is_over(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    await checkout.transfer(account, "10")
    await checkout.let_pass("3h")
    view = await checkout.view()
    assert (view["status"], view["amountReturned"], view["amountReceived"]) == ("expired", 50, 0)
    await checkout.let_pass("5s")
    states = await admin.fetch("SELECT status FROM money_return WHERE business_id = $1", checkout.shop.business_id)
    assert [row["status"] for row in states] == ["confirmed", "confirmed"]


async def test_return_sends_a_short_transfer_back_and_stays_open(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    view = await checkout.view()
    assert (view["status"], view["amountReceived"], view["amountReturned"]) == ("pending", 0, 40)
    await checkout.transfer(account, "100")
    await check_paid(checkout, admin, settled="98.49")


async def test_return_sends_only_the_excess_of_a_long_transfer_back(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return"})
    await checkout.transfer(await checkout.account(), "130")
    await check_paid(checkout, admin, settled="98.49")
    assert (await checkout.view())["amountReturned"] == 30


@pytest.mark.parametrize("amount", ["99.5", "100.5"])
async def test_a_difference_within_the_tolerance_counts_as_exact(new_checkout: MakeCheckout, amount: str) -> None:
    checkout = await new_checkout(settings={"variance_policy": "return", "variance_tolerance_minor": 50})
    await checkout.transfer(await checkout.account(), amount)
    record = await checkout.record()
    assert (record["status"], record["varianceType"], str(record["amountReceived"])) == ("success", None, amount)


async def test_money_that_comes_after_the_end_goes_back(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.let_pass("3h")
    await checkout.transfer(account, "100")
    view = await checkout.view()
    assert (view["status"], view["amountReturned"]) == ("expired", 100)
    assert await events_of(admin, checkout) == []


async def test_money_at_a_closed_account_goes_back_and_the_payment_stays_open(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.let_pass("31m")
    await checkout.transfer(account, "100")
    view = await checkout.view()
    assert (view["status"], view["amountReturned"]) == ("pending", 100)
    assert await checkout.account() != account


async def test_more_time_keeps_the_account_open(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await checkout.let_pass("20m")
    assert (await checkout.extend()).status_code == 200
    await checkout.let_pass("20m")
    await checkout.transfer(account, "100")
    assert (await checkout.record())["status"] == "success"


async def test_a_second_receipt_for_one_checkout_goes_back(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await act(checkout, card("5319317801366660"))
    await checkout.transfer(account, "100")
    await check_paid(checkout, admin, settled="98.49")
    assert (await checkout.view())["amountReturned"] == 100


async def test_an_abandoned_payment_expires(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.let_pass("2h")
    assert (await checkout.record())["status"] == "expired"
    assert (await checkout.charge({"type": "bank_transfer"})).status_code == 409
    assert await events_of(admin, checkout) == []


async def test_a_payer_who_gives_up_fails_the_payment(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.account()
    assert (await checkout.cancel()).json()["data"]["ending"] == "cancelled"
    assert (await checkout.record())["status"] == "failed"
    assert (await checkout.cancel()).status_code == 409


async def test_the_fee_of_the_method_chosen_is_the_one_asked_for(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=350, feeBearer="customer")
    assert (await checkout.view())["amountExpected"] == 355.27
    await checkout.account()
    assert (await checkout.record())["amountExpected"] == 355.27


async def test_an_attempt_left_open_by_a_paid_payment_is_asked_for_less_and_less_and_then_no_more(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await act(checkout, {"type": "payAttitude", "bank": "058"})
    await checkout.transfer(account, "100")  # The first tab pays; the second still shows a code to dial.
    query = "SELECT status, polls, next_poll_at FROM attempt WHERE method = 'ussd' AND business_id = $1"
    before = await admin.fetchrow(query, checkout.shop.business_id)
    await checkout.let_pass("6m")
    after = await admin.fetchrow(query, checkout.shop.business_id)
    assert after["polls"] > before["polls"]
    await checkout.let_pass("2d")
    ended = await admin.fetchrow(query, checkout.shop.business_id)
    assert (ended["status"] in ("expired", "failed"), ended["next_poll_at"]) == (True, None)
    assert (await checkout.record())["status"] == "success"
