"""A link that its merchant has disabled: nothing new begins, what was begun may be finished."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from build import Checkout, Shop, order
from checkout.paying import SUCCEEDS, WANTS_PIN, card, phone
from conftest import MakeCheckout, MakeShop
from payment.refusal import assert_refused, without_request_id
from tidegate.core.money import Currency
from tidegate.rail.mobile_money import MOBILE_MONEY

TRANSFER = {"type": "bank_transfer"}
ON_THE_PHONE = {"type": "payAttitude", "bank": "058"}


async def switch(shop: Shop, reference: str, word: str, **headers: str) -> httpx.Response:
    path = f"/checkout/payments/merchant-reference/{reference}/{word}"
    return await shop.client.post(path, headers={**shop.verify_headers, **headers})


async def switched(checkout: Checkout, word: str) -> dict[str, Any]:
    answer = await switch(checkout.shop, checkout.reference, word)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"status", "message", "data"}
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_disabling_shows_in_the_record_and_to_the_payer(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    before, version = await checkout.record(), (await checkout.view())["version"]
    record = await switched(checkout, "disable")
    assert record == await checkout.record()
    assert {name for name in record if record[name] != before[name]} == {"isDisabled", "updatedAt"}
    view = await checkout.view()
    assert (record["isDisabled"], view["isDisabled"]) == (True, True)
    assert (view["status"], view["version"]) == ("initiated", version + 1)
    record = await switched(checkout, "enable")
    view = await checkout.view()
    assert (record["isDisabled"], view["isDisabled"], view["version"]) == (False, False, version + 2)


@pytest.mark.parametrize("word", ["disable", "enable"])
async def test_asking_twice_changes_nothing_the_second_time(new_checkout: MakeCheckout, word: str) -> None:
    checkout = await new_checkout()
    first = await switched(checkout, word)
    version = (await checkout.view())["version"]
    assert await switched(checkout, word) == first
    assert (await checkout.view())["version"] == version


async def test_a_disabled_link_takes_no_new_attempt_until_it_is_enabled(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await switched(checkout, "disable")
    for body in (TRANSFER, ON_THE_PHONE, card()):
        answer = await assert_refused(admin, checkout.charge(body), 409, "CONFLICT")
        assert "disabled" in answer.json()["message"]
    await switched(checkout, "enable")
    assert (await checkout.charge(card())).json()["data"]["status"] == "success"


async def test_an_attempt_that_waits_is_not_replaced_on_a_disabled_link(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.account()
    await switched(checkout, "disable")
    await assert_refused(admin, checkout.charge(card()), 409, "CONFLICT")
    assert (await checkout.view())["attempt"]["status"] == "waiting"


# What was begun before may be finished.


@pytest.mark.parametrize("amount", ["100", "40"])
async def test_a_transfer_to_the_open_account_of_a_disabled_link_counts_as_ever(
    new_checkout: MakeCheckout, amount: str
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await switched(checkout, "disable")
    await checkout.transfer(account, amount)
    record = await checkout.record()
    assert (record["status"], str(record["amountReceived"]), record["isDisabled"]) == ("success", amount, True)


async def test_a_transfer_after_the_account_of_a_disabled_link_has_closed_goes_back(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await switched(checkout, "disable")
    await checkout.let_pass("31m")
    await assert_refused(admin, checkout.extend(), 409, "CONFLICT")
    await checkout.transfer(account, "100")
    view = await checkout.view()
    assert (view["status"], view["amountReturned"]) == ("pending", 100)


async def test_the_rest_of_a_part_payment_may_still_be_sent_to_a_disabled_link(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    account = await checkout.account()
    await checkout.transfer(account, "40")
    await switched(checkout, "disable")
    await checkout.let_pass("31m")
    assert (await checkout.extend()).status_code == 200
    await checkout.transfer(account, "60")
    assert (await checkout.record())["status"] == "success"


async def test_more_time_may_be_asked_for_while_the_account_of_a_disabled_link_is_open(
    new_checkout: MakeCheckout,
) -> None:
    checkout = await new_checkout()
    account = await checkout.account()
    await switched(checkout, "disable")
    await checkout.let_pass("20m")
    assert (await checkout.extend()).status_code == 200
    await checkout.let_pass("20m")
    await checkout.transfer(account, "100")
    assert (await checkout.record())["status"] == "success"


async def test_a_card_begun_before_may_have_its_pin(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.charge(card(WANTS_PIN))
    await switched(checkout, "disable")
    assert (await checkout.authorize({"pin": "1234"})).json()["data"]["status"] == "success"


async def test_a_phone_asked_before_may_approve(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.charge(ON_THE_PHONE)
    await switched(checkout, "disable")
    assert (await checkout.sandbox(f"charges/{checkout.pay_code}/approve")).status_code == 200
    await checkout.tick()
    assert (await checkout.record())["status"] == "success"


async def test_an_unknown_outcome_is_still_asked_for(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(currency="KES")
    await checkout.charge(phone(MOBILE_MONEY[Currency.KES].test_numbers["0005"]))
    await switched(checkout, "disable")
    assert (await checkout.view())["status"] == "processing"
    await checkout.let_pass("15s")
    assert (await checkout.record())["status"] == "success"


async def test_a_failed_attempt_on_a_disabled_link_leaves_it_to_expire(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.charge(ON_THE_PHONE)
    await switched(checkout, "disable")
    await checkout.sandbox(f"charges/{checkout.pay_code}/decline")
    await checkout.tick()
    assert (await checkout.charge(ON_THE_PHONE)).status_code == 409
    await checkout.let_pass("2h")
    assert (await checkout.record())["status"] == "expired"


async def test_the_payer_of_a_disabled_link_may_give_up(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.account()
    await switched(checkout, "disable")
    assert (await checkout.cancel()).json()["data"]["ending"] == "cancelled"


# Who may, and when.


async def paid(checkout: Checkout) -> None:
    assert (await checkout.charge(card(SUCCEEDS))).json()["data"]["status"] == "success"


async def given_up(checkout: Checkout) -> None:
    await checkout.cancel()


async def forgotten(checkout: Checkout) -> None:
    await checkout.let_pass("2h")


@pytest.mark.parametrize("word", ["disable", "enable"])
@pytest.mark.parametrize(("end", "status"), [(paid, "success"), (given_up, "failed"), (forgotten, "expired")])
async def test_a_payment_that_has_ended_stays_as_it_is_and_the_refusal_says_so(
    new_checkout: MakeCheckout, admin: Any, end: Any, status: str, word: str
) -> None:
    checkout = await new_checkout()
    await end(checkout)
    before = await checkout.view()
    answer = await assert_refused(admin, switch(checkout.shop, checkout.reference, word), 409, "CONFLICT")
    assert status in answer.json()["message"]
    assert await checkout.view() == before


@pytest.mark.parametrize("word", ["disable", "enable"])
async def test_a_link_is_switched_with_the_keys_of_its_own_business_only(
    new_checkout: MakeCheckout, new_shop: MakeShop, admin: Any, word: str
) -> None:
    checkout, other = await new_checkout(), await new_shop()
    mine = checkout.shop
    for headers in ({"api-key": ""}, {"api-key": mine.public_key}, {"x-business-id": ""}):
        await assert_refused(admin, switch(mine, checkout.reference, word, **headers), 401, "UNAUTHENTICATED")
    foreign = switch(mine, checkout.reference, word, **{"x-business-id": other.business_id})
    await assert_refused(admin, foreign, 403, "ACCESS_DENIED")
    theirs = await assert_refused(admin, switch(other, checkout.reference, word), 404, "RESOURCE_NOT_FOUND")
    for reference in ("UNKNOWN", "a%00b", "x" * 200, checkout.pay_code):
        nobody = await assert_refused(admin, switch(other, reference, word), 404, "RESOURCE_NOT_FOUND")
        assert without_request_id(theirs) == without_request_id(nobody)
    assert (await checkout.view())["isDisabled"] is False


@pytest.mark.parametrize("reference", [..., "ORD-9"])
async def test_a_payment_is_disabled_by_its_pay_code(shop: Shop, reference: Any) -> None:
    created = (await shop.create(order(reference=reference))).json()["data"]
    answer = await switch(shop, created["payCode"], "disable")
    assert answer.json()["data"]["isDisabled"] is True
