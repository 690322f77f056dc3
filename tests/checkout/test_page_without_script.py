"""The hosted page in a browser without script: every step is a form, and the page tells the truth."""

from __future__ import annotations

from typing import Any

import pytest

from build import Checkout
from checkout.paying import SUCCEEDS, WANTS_3DS, WANTS_ADDRESS, WANTS_PIN, WANTS_PIN_AND_OTP, WITHOUT_MONEY
from checkout.plain_browser import Sheet, open_page
from conftest import MakeCheckout

CARD = {"expiry": "12 / 40", "cvv": "123", "holder": "Ada Obi"}
IS_CARD = {"type": "card"}


async def visit(checkout: Checkout, query: str = "") -> Sheet:
    return await open_page(checkout.shop.client, f"/pay/{checkout.pay_code}{query}")


async def pay_by_card(checkout: Checkout, number: str, **changes: Any) -> Sheet:
    page = await visit(checkout, "?method=card")
    return await page.send("/charge", IS_CARD, number=number, **{**CARD, **changes})


async def send_money(checkout: Checkout, amount: int) -> None:
    account = (await checkout.view())["attempt"]["action"]["virtualAccount"]["accountNumber"]
    await checkout.transfer(account, str(amount))


async def test_a_transfer_is_paid_and_verified(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=10_000, successMessage="Your beans are on their way.")
    page = await visit(checkout)
    assert page.status == 200
    assert "Pay by bank transfer" in page.text
    page = await page.send("/charge", {"type": "bank_transfer"})
    assert "Transfer exactly ₦10,000.00" in page.text
    assert page.refresh == "10"
    await send_money(checkout, 10_000)
    page = await page.again()
    assert "₦10,000.00 paid" in page.text
    assert "Your beans are on their way." in page.text
    assert page.refresh is None
    assert (await checkout.record())["status"] == "success"


@pytest.mark.parametrize(
    ("number", "answers"),
    [
        pytest.param(SUCCEEDS, [], id="no-step"),
        pytest.param(WANTS_PIN, [{"pin": "1234"}], id="pin"),
        pytest.param(WANTS_PIN_AND_OTP, [{"pin": "1234"}, {"otp": "123456"}], id="pin-and-otp"),
        pytest.param(WANTS_ADDRESS, [{"line": "1 Marina", "city": "Lagos"}], id="address"),
    ],
)
async def test_a_card_is_paid_with_what_its_bank_asks_for(
    new_checkout: MakeCheckout, number: str, answers: list[dict[str, Any]]
) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, number)
    for answer in answers:
        page = await page.send("/authorize", **answer)
    await checkout.tick()
    page = await page.again()
    assert "₦100.00 paid" in page.text, page.text
    assert f"card ending in {number[-4:]}" in page.text
    assert (await checkout.record())["status"] == "success"


async def test_a_card_is_confirmed_on_the_banks_own_page(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, WANTS_3DS)
    assert "Confirm with your bank" in page.text
    bank = await open_page(page.client, next(link for link in page.links if link.endswith("/3ds")))
    page = await bank.send("/authorize", otp="123456")
    await checkout.tick()
    assert "₦100.00 paid" in (await page.again()).text


async def test_a_wrong_pin_is_asked_for_again_with_the_reason(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, WANTS_PIN)
    page = await page.send("/authorize", pin="9999")
    assert "That was not the right PIN." in page.text
    page = await page.send("/authorize", pin="1234")
    await checkout.tick()
    assert "₦100.00 paid" in (await page.again()).text


async def test_a_decline_says_what_to_do_and_keeps_the_payment(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, WITHOUT_MONEY)
    assert "There is not enough money for this payment. Nothing was taken." in page.text
    page = await page.send("/charge", IS_CARD, number=SUCCEEDS, **CARD)
    await checkout.tick()
    assert "₦100.00 paid" in (await page.again()).text


async def test_values_are_kept_on_error_except_the_security_code(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, SUCCEEDS, cvv="12", expiry="13 / 40")
    assert page.status == 422
    kept = page.form("/charge", type="card").fields
    assert (kept["number"], kept["expiry"], kept["holder"]) == (SUCCEEDS, "13 / 40", "Ada Obi")
    assert kept["cvv"] == ""
    assert "3 digits, on the back of the card" in page.text
    assert "Month and year as on the card" in page.text
    assert (await checkout.record())["status"] == "initiated"


async def test_mobile_money_waits_for_the_phone(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(currency="KES", paymentMethods=["mobile_money"])
    page = await visit(checkout)
    page = await page.send("/charge", phone="0712 345 678")
    assert "Check your phone" in page.text
    assert "+254\u00a0…\u00a05678" in page.answer.text
    assert "712345678" not in page.answer.text
    page = await page.send("/simulate", action="approve")
    await checkout.tick()
    assert "KSh\u00a0100.00 paid" in (await page.again()).answer.text


async def test_ussd_gives_a_code_to_dial(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(paymentMethods=["payAttitude"])
    page = await (await visit(checkout)).send("/charge", bank="058")
    assert "Dial this code" in page.text
    assert next(link for link in page.links if link.startswith("tel:*737*"))[-3:] == "%23"
    page = await page.send("/simulate", action="approve")
    await checkout.tick()
    assert "₦100.00 paid" in (await page.again()).text


async def test_too_little_is_topped_up(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=10_000, settings={"variance_policy": "top_up"})
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    await send_money(checkout, 4_000)
    page = await page.again()
    assert "₦6,000.00 still to come" in page.text
    assert "We received ₦4,000.00" in page.text
    await send_money(checkout, 6_000)
    assert "₦10,000.00 paid" in (await page.again()).text


async def test_cancelling_after_a_part_payment_says_that_it_is_returned(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=10_000, settings={"variance_policy": "top_up"})
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    await send_money(checkout, 4_000)
    page = await (await page.again()).send("/cancel")
    page = await page.send("/cancel")
    assert "The ₦4,000.00 that arrived goes back to the account it came from." in page.text


async def test_money_that_goes_back_is_said_with_its_reason(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(amount=10_000, settings={"variance_policy": "return"})
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    await send_money(checkout, 12_000)
    page = await page.again()
    assert "₦10,000.00 paid" in page.text
    assert "₦2,000.00" in page.text
    assert "it was more than the amount asked for" in page.text


async def test_more_time_is_given(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    before = (await checkout.view())["attempt"]["action"]["virtualAccount"]["expiresAt"]
    await checkout.let_pass("10m")
    await page.send("/extend")
    assert (await checkout.view())["attempt"]["action"]["virtualAccount"]["expiresAt"] > before


async def test_a_closed_account_can_be_opened_again(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await (await visit(checkout)).send("/charge", {"type": "bank_transfer"})
    await checkout.let_pass("31m")
    page = await page.again()
    assert "This account has closed" in page.text
    page = await page.send("/extend")
    assert "Transfer exactly" in page.text


async def test_giving_up_leads_back_to_the_shop(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(redirectUrl="https://shop.example/back?a=1#top", reference="ORD=1")
    page = await (await visit(checkout)).send("/cancel")
    page = await page.send("/cancel")
    assert "You cancelled this payment" in page.text
    back = "https://shop.example/back?a=1&reference=ORD%3D1#top"
    assert back in page.links
    assert page.refresh == f"5;url={back}"
    assert (await checkout.record())["status"] == "failed"


async def test_without_a_redirect_url_there_is_no_redirect(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, SUCCEEDS)
    assert "₦100.00 paid" in page.text
    assert "You can close this page now." in page.text
    assert page.refresh is None


async def test_a_link_opened_later_is_a_status_page(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(redirectUrl="https://shop.example/back")
    page = await pay_by_card(checkout, SUCCEEDS)
    assert page.refresh is not None
    await checkout.let_pass("1h")
    page = await page.again()
    assert page.refresh is None
    assert f"https://shop.example/back?reference={checkout.reference}" in page.links


async def test_staying_here_ends_the_redirect(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(redirectUrl="https://shop.example/back")
    await pay_by_card(checkout, SUCCEEDS)
    assert (await visit(checkout, "?stay=1")).refresh is None


async def test_an_expired_payment_says_so(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await visit(checkout)
    page = await page.send("/simulate", action="expire")
    await checkout.tick()
    page = await page.again()
    assert "This payment link has expired" in page.text
    assert not [form for form in page.forms if form.action.endswith("/charge")]


async def test_the_receipt_can_be_printed(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await pay_by_card(checkout, SUCCEEDS)
    receipt = await open_page(page.client, next(link for link in page.links if link.endswith("/receipt")))
    assert "Ada Obi" in receipt.text
    assert checkout.reference in receipt.text


async def test_an_unpaid_payment_has_no_receipt(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    answer = await checkout.shop.client.get(f"/pay/{checkout.pay_code}/receipt")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pay/{checkout.pay_code}")


@pytest.mark.parametrize(
    ("bearer", "shown"),
    [pytest.param("customer", "You pay₦355.27", id="customer"), pytest.param("business", "You pay₦350.00", id="shop")],
)
async def test_the_details_say_what_the_payer_pays(new_checkout: MakeCheckout, bearer: str, shown: str) -> None:
    page = await visit(await new_checkout(amount=350, feeBearer=bearer))
    assert shown in page.text


async def test_a_description_in_the_metadata_is_shown(new_checkout: MakeCheckout) -> None:
    page = await visit(await new_checkout(metadata={"description": "2 × House blend"}))
    assert "2 × House blend" in page.text
