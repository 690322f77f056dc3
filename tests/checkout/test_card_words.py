"""What the form says about a card and an address that are not right yet, without script."""

from __future__ import annotations

import re
from typing import Any

import pytest

from build import Checkout
from checkout.paying import SUCCEEDS, WANTS_ADDRESS, WANTS_PIN, WITHOUT_MONEY, card
from checkout.plain_browser import Sheet, open_page
from conftest import MakeCheckout
from tidegate.payment.transition import ATTEMPTS_MAX

CARD = {"number": SUCCEEDS, "expiry": "12 / 40", "cvv": "123", "holder": "Ada Obi"}
IS_CARD = {"type": "card"}
AMEX = "378282246310005"
BOXES = re.compile(r'<div class="alert"')


async def visit(checkout: Checkout, query: str = "?method=card") -> Sheet:
    return await open_page(checkout.shop.client, f"/pay/{checkout.pay_code}{query}")


async def sent(checkout: Checkout, **changes: str) -> Sheet:
    return await (await visit(checkout)).send("/charge", IS_CARD, **{**CARD, **changes})


# The number and the code.


@pytest.mark.parametrize(
    "number",
    [
        pytest.param("5319317801366661", id="wrong last digit"),
        pytest.param("5319 3178 0136 6606", id="two digits swapped"),
        pytest.param("4084080000000400", id="Visa"),
        pytest.param("٥٣١٩٣١٧٨٠١٣٦٦٦٦١", id="Arabic digits"),
        pytest.param("9999999999999999", id="of no issuer"),
    ],
)
async def test_a_number_with_a_wrong_digit_is_said_to_have_one(new_checkout: MakeCheckout, number: str) -> None:
    page = await sent(await new_checkout(), number=number)
    assert "Check the card number: one digit seems wrong" in page.text
    assert "13 to 19" not in page.text


@pytest.mark.parametrize("number", ["", "531931780136", "53193178013666600000", "letters"])
async def test_a_number_that_is_too_short_or_long_gets_the_length(new_checkout: MakeCheckout, number: str) -> None:
    assert "Check the card number: 13 to 19 digits" in (await sent(await new_checkout(), number=number)).text


async def test_the_payers_api_says_what_is_wrong_with_a_number(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    said = [(await checkout.charge(card(number))).json()["message"] for number in ("5319317801366661", "5319")]
    assert said == [
        "card.number must be a card number: its check digit is wrong",
        "card.number must be a card number of 13 to 19 digits",
    ]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(AMEX, id="American Express"),
        pytest.param("30569309025904", id="Diners Club"),
        pytest.param("6011111111111117", id="Discover"),
        pytest.param("3530111333300000", id="JCB"),
    ],
)
async def test_a_card_of_another_brand_is_refused_and_uses_no_attempt(new_checkout: MakeCheckout, number: str) -> None:
    checkout = await new_checkout()
    refused = await checkout.charge(card(number, cvv="1234"))
    assert (refused.status_code, refused.json()["errorType"]) == (422, "VALIDATION_FAILED")
    assert refused.json()["message"] == "card.number must be the number of a Mastercard, Visa or Verve card"
    page = await sent(checkout, number=number)
    assert "This card is not taken here: use Mastercard, Visa or Verve" in page.text
    view = await checkout.view()
    assert (view["status"], view["attemptsLeftByMethod"]["card"]) == ("initiated", ATTEMPTS_MAX)


async def test_a_wrong_code_is_said_to_be_on_the_back(new_checkout: MakeCheckout) -> None:
    assert "3 digits, on the back of the card" in (await sent(await new_checkout(), cvv="12")).text


# One box at a time.


async def test_one_fault_is_said_at_its_field_and_nowhere_else(new_checkout: MakeCheckout) -> None:
    page = await sent(await new_checkout(), cvv="12")
    assert len(BOXES.findall(page.answer.text)) == 0
    assert page.text.count("3 digits, on the back of the card") == 1


async def test_several_faults_are_listed_in_one_box(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    # The last attempt has left something to say, which is not said now.
    page = await sent(checkout, number=WITHOUT_MONEY)
    assert "There is not enough money" in page.text
    page = await page.send("/charge", IS_CARD, **{**CARD, "cvv": "12", "expiry": ""})
    assert len(BOXES.findall(page.answer.text)) == 1
    assert "Please check what you entered" in page.text
    assert "There is not enough money" not in page.text


async def test_an_answer_in_the_wrong_form_is_said_without_the_fault_before_it(new_checkout: MakeCheckout) -> None:
    page = await sent(await new_checkout(), number=WANTS_PIN)
    page = await page.send("/authorize", pin="9999")
    assert "That was not the right PIN." in page.text
    page = await page.send("/authorize", pin="1")
    assert "4 to 6 digits" in page.text
    assert len(BOXES.findall(page.answer.text)) == 0


# What must be filled in.


def required(page: Sheet) -> dict[str, bool]:
    fields = re.findall(r"<input id=\"(\w+)\"[^>]*>", page.answer.text)
    return {name: " required" in re.findall(rf'<input id="{name}"[^>]*>', page.answer.text)[0] for name in fields}


async def test_only_what_must_be_filled_in_is_required(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(paymentMethods=["card"])
    page = await visit(checkout)
    assert required(page) == {"number": True, "expiry": True, "cvv": True, "holder": False}
    page = await page.send("/charge", IS_CARD, **{**CARD, "number": WANTS_ADDRESS})
    assert required(page) == {"line": True, "city": True, "state": False, "postalCode": False}


# The billing address.


async def address_page(checkout: Checkout, language: str = "en") -> Sheet:
    await checkout.charge(card(WANTS_ADDRESS))
    return await visit(checkout, f"?lang={language}")


def countries(page: Sheet) -> list[tuple[str, str]]:
    select = re.findall(r'<select id="country".*?</select>', page.answer.text, re.DOTALL)[0]
    return re.findall(r'<option value="(\w\w)"[^>]*>([^<]+)</option>', select)


@pytest.mark.parametrize(
    ("language", "neighbours"),
    [
        ("en", ["Estonia", "Eswatini", "Ethiopia"]),
        ("fr", ["Estonie", "Eswatini", "État de la Cité du Vatican", "États-Unis", "Éthiopie"]),
        ("ar", ["أستراليا", "إستونيا"]),
    ],
)
async def test_every_country_is_on_the_list_in_the_order_of_the_language(
    new_checkout: MakeCheckout, language: str, neighbours: list[str]
) -> None:
    listed = countries(await address_page(await new_checkout(), language))
    codes, names = [code for code, _ in listed], [name for _, name in listed]
    assert len(codes) == len(set(codes)) == 250
    assert codes[0] == "NG"
    # Groups of countries, and codes that stand for none.
    assert not {"EU", "UN", "ZZ", "XA"} & set(codes)
    places = [names.index(name) for name in neighbours]
    assert places == sorted(places)
    assert language == "ar" or places == list(range(places[0], places[0] + len(places)))


async def test_an_address_has_a_state_where_there_is_one(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    page = await address_page(checkout)
    page = await page.send(
        "/authorize", line="1 Main St", city="Austin", state="Texas", country="US", postalCode="73301"
    )
    await checkout.tick()
    assert "₦100.00 paid" in (await page.again()).text


@pytest.mark.parametrize("state", ["x" * 101, 1])
async def test_a_state_is_a_short_text(new_checkout: MakeCheckout, state: Any) -> None:
    checkout = await new_checkout()
    await checkout.charge(card(WANTS_ADDRESS))
    address = {"line": "1 Marina", "city": "Lagos", "country": "NG", "state": state}
    answer = await checkout.authorize({"address": address})
    assert answer.status_code == 422
    assert answer.json()["message"].startswith("address.state must")
