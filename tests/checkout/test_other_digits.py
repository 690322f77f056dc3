"""Digits of another keyboard are digits: on the page without script, and in the payer's API."""

from __future__ import annotations

from typing import Any

import pytest

from build import Checkout
from checkout.paying import SUCCEEDS, WANTS_PIN_AND_OTP, card, phone
from checkout.plain_browser import Sheet, open_page
from conftest import MakeCheckout

KEYBOARDS = {
    "arabic": "٠١٢٣٤٥٦٧٨٩",
    "persian": "۰۱۲۳۴۵۶۷۸۹",
    "devanagari": "०१२३४५६७८९",
    "full-width": "０１２３４５６７８９",
}
on_every_keyboard = pytest.mark.parametrize(
    "digits", [pytest.param(digits, id=name) for name, digits in KEYBOARDS.items()]
)


def typed(text: str, digits: str) -> str:
    return text.translate(str.maketrans("0123456789", digits))


async def visit(checkout: Checkout, query: str = "") -> Sheet:
    return await open_page(checkout.shop.client, f"/pay/{checkout.pay_code}{query}")


@on_every_keyboard
async def test_a_card_is_paid_on_the_page_with_the_digits_of_any_keyboard(
    new_checkout: MakeCheckout, digits: str
) -> None:
    checkout = await new_checkout()
    page = await visit(checkout, "?method=card")
    fields = {"number": WANTS_PIN_AND_OTP, "expiry": "12 / 40", "cvv": "123"}
    page = await page.send("/charge", {"type": "card"}, **{name: typed(text, digits) for name, text in fields.items()})
    assert "Enter your card PIN" in page.text
    page = await page.send("/authorize", pin=typed("1234", digits))
    assert "Enter the code from your bank" in page.text
    page = await page.send("/authorize", otp=typed("123 456", digits))
    await checkout.tick()
    assert "₦100.00 paid" in (await page.again()).text


@on_every_keyboard
async def test_every_field_of_a_card_has_the_digits_of_any_keyboard(new_checkout: MakeCheckout, digits: str) -> None:
    fields = {"number": SUCCEEDS, "expiryMonth": "12", "expiryYear": "2040", "cvv": "123"}
    given = {name: typed(text, digits) for name, text in fields.items()}
    assert (await (await new_checkout()).charge({"type": "card", "card": given})).status_code == 200


@on_every_keyboard
@pytest.mark.parametrize("number", ["0712340000", "00254712340000", "+254 712 340 000"])
async def test_a_phone_number_has_the_digits_of_any_keyboard(
    new_checkout: MakeCheckout, digits: str, number: str
) -> None:
    checkout = await new_checkout(currency="KES")
    page = await visit(checkout, "?method=mobile_money")
    page = await page.send("/charge", {"type": "mobile_money"}, phone=typed(number, digits))
    assert await _status(checkout) == "success", page.text


@on_every_keyboard
async def test_the_payers_api_takes_the_digits_of_any_keyboard(new_checkout: MakeCheckout, digits: str) -> None:
    checkout = await new_checkout()
    charged = await checkout.charge(card(typed(WANTS_PIN_AND_OTP, digits), cvv=typed("123", digits)))
    assert charged.is_success, charged.text
    for answer in ({"pin": typed("1234", digits)}, {"otp": typed("123456", digits)}):
        given = await checkout.authorize(answer)
        assert given.is_success, given.text
    assert await _status(checkout) == "success"
    kenyan = await new_checkout(currency="KES")
    charged = await kenyan.charge(phone(typed("00254712340000", digits)))
    assert charged.is_success, charged.text
    assert await _status(kenyan) == "success"


async def _status(checkout: Checkout) -> Any:
    await checkout.tick()
    return (await checkout.view())["status"]
