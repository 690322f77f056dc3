"""The card form under a payer's fingers; and the card, which stays nowhere."""

from __future__ import annotations

import json
import logging
import re
from base64 import b64decode

import pytest
from playwright.async_api import Page, expect

from checkout.paying import WANTS_3DS, WANTS_ADDRESS, WANTS_PIN_AND_OTP
from pages.payer import REFUSED_INPUT, Payer, hearing
from pages.stage import Stage
from tidegate.checkout.page.form_data import REMEMBERED

CODE = "739"
PIN = "1234"


@pytest.fixture
async def form(stage: Stage) -> Payer:
    payer = await Payer.arrives(stage)
    await payer.chooses("Card")
    return payer


async def paste(page: Page, text: str) -> None:
    """Over what is selected, as from the clipboard."""
    await page.keyboard.insert_text(text)


# The number.


NUMBERS = [
    ("4084080000000409", "4084 0800 0000 0409", "Visa"),
    ("5319-3178 0136 6660", "5319 3178 0136 6660", "Mastercard"),
    ("506099580000000000", "5060 9958 0000 0000 00", "Verve"),
    ("378282246310005", "3782 8224 6310 005", ""),
    ("９４８", "948", ""),
    ("٤٠٨٤٠٨٠٠٠٠٠٠٠٤٠٩", "4084 0800 0000 0409", "Visa"),
    ("۴۰۸۴۰۸۰۰۰۰۰۰۰۴۰۹", "4084 0800 0000 0409", "Visa"),
    ("४०८४०८०००००००४०९", "4084 0800 0000 0409", "Visa"),
    ("41a1", "411", "Visa"),
]


async def test_a_number_is_grouped_while_it_is_typed(form: Payer) -> None:
    for keys, shown, brand in NUMBERS:
        await form.fills(number="")
        await form.field("number").press_sequentially(keys)
        await expect(form.field("number")).to_have_value(shown)
        await expect(form.page.locator("[data-brand]")).to_have_text(brand)


async def test_a_number_can_be_pasted_changed_and_deleted(form: Payer) -> None:
    number, keyboard = form.field("number"), form.page.keyboard
    await number.focus()
    await paste(form.page, " 4084-0800 00000409 ")
    await expect(number).to_have_value("4084 0800 0000 0409")
    # In the middle: what is typed goes where the caret is, and the caret stays behind it.
    await number.evaluate("field => field.setSelectionRange(7, 7)")
    await keyboard.type("99")
    await expect(number).to_have_value("4084 0899 0000 0004 09")
    assert await number.evaluate("field => field.selectionStart") == 9
    await keyboard.press("Backspace")
    await keyboard.press("Backspace")
    await expect(number).to_have_value("4084 0800 0000 0409")
    assert await number.evaluate("field => field.selectionStart") == 7
    # From between the groups, either key takes a digit with its second stroke at the latest.
    await number.evaluate("field => field.setSelectionRange(4, 4)")
    await keyboard.press("Delete")
    await keyboard.press("Delete")
    await expect(number).to_have_value("4084 8000 0000 409")
    await number.evaluate("field => field.setSelectionRange(5, 5)")
    await keyboard.press("Backspace")
    await keyboard.press("Backspace")
    await expect(number).to_have_value("4088 0000 0004 09")
    await number.evaluate("field => field.select()")
    await keyboard.press("Backspace")
    await expect(number).to_have_value("")
    await expect(form.page.locator("[data-brand]")).to_have_text("")


# The expiry.


EXPIRIES = [
    ("1240", "12 / 40"),
    ("12/40", "12 / 40"),
    ("12 / 40", "12 / 40"),
    ("12/2040", "12 / 40"),
    ("12 / 2040", "12 / 40"),
    ("12-40", "12 / 40"),
    ("1/40", "01 / 40"),
    ("940", "09 / 40"),
    ("9/2040", "09 / 40"),
    ("2/20", "02 / 20"),
    ("１２/４０", "12 / 40"),
    ("١٢/٤٠", "12 / 40"),
    ("۹/۴۰", "09 / 40"),
    ("१२४०", "12 / 40"),
]


async def test_an_expiry_is_read_however_it_is_typed_or_pasted(form: Payer) -> None:
    expiry = form.field("expiry")
    for keys, shown in EXPIRIES:
        await expiry.fill("")
        await expiry.press_sequentially(keys)
        await expect(expiry).to_have_value(shown)
        await expiry.fill("")
        await paste(form.page, keys)
        await expect(expiry).to_have_value(shown)


async def test_an_expiry_can_be_deleted_over_its_slash(form: Payer) -> None:
    expiry, keyboard = form.field("expiry"), form.page.keyboard
    await expiry.press_sequentially("1240")
    for _ in range(6):
        await keyboard.press("Backspace")
    await expect(expiry).to_have_value("1")
    await keyboard.type("141")
    await expect(expiry).to_have_value("11 / 41")


async def test_the_cards_that_are_taken_are_shown_until_one_is_typed(form: Payer) -> None:
    marks = form.page.locator("[data-marks]")
    await expect(marks).to_have_text("VISAMastercardVerve")
    await form.fills(number="5319")
    await expect(marks).to_be_hidden()
    await expect(form.page.locator("[data-brand]")).to_have_text("Mastercard")
    await form.fills(number="3782")
    await expect(marks).to_be_visible()
    await expect(form.page.locator("[data-brand]")).to_have_text("")
    await form.fills(number="")
    await expect(marks).to_be_visible()


async def test_a_state_is_asked_for_where_the_country_has_one(form: Payer) -> None:
    await form.pays_by_card(WANTS_ADDRESS)
    await expect(form.field("country")).to_have_value("NG")
    await expect(form.field("state")).to_be_visible()
    await form.field("country").select_option("FR")
    await expect(form.field("state")).to_be_hidden()
    await form.field("country").select_option("US")
    await expect(form.field("state")).to_be_visible()


# Digits of other keyboards.


async def test_every_field_of_digits_shows_what_an_arabic_keyboard_typed_as_the_card_has_it(form: Payer) -> None:
    await form.fills(number=WANTS_PIN_AND_OTP, expiry="1240")
    await form.field("cvv").press_sequentially("١٢٣")
    await expect(form.field("cvv")).to_have_value("123")
    await form.presses("Pay ")
    await form.field("pin").press_sequentially("۱۲۳۴")
    await expect(form.field("pin")).to_have_value("1234")
    await form.presses("Continue")
    await form.sees_heading("Enter the code from your bank")
    await form.field("otp").press_sequentially("१२३४५६")
    await expect(form.field("otp")).to_have_value("123456")
    await form.presses("Continue")
    await form.sees_paid("₦100.00")


# What a browser may fill in, and what is kept.


async def test_browsers_know_what_goes_into_each_field(form: Payer) -> None:
    async def completions(payer: Payer) -> dict[str, str]:
        fields = await payer.page.locator("#main input:visible").all()
        return {
            await field.get_attribute("name") or "": await field.get_attribute("autocomplete") or "" for field in fields
        }

    assert await completions(form) == {
        "number": "cc-number",
        "expiry": "cc-exp",
        "cvv": "cc-csc",
        "holder": "cc-name",
    }
    await form.pays_by_card(WANTS_PIN_AND_OTP)
    assert await completions(form) == {"pin": "off"}
    await expect(form.field("pin")).to_have_attribute("type", "password")
    await form.answers(pin=PIN)
    assert await completions(form) == {"otp": "one-time-code"}
    await form.follows("Back: use another card or way to pay")
    await form.pays_by_card(WANTS_3DS)
    await form.follows("Go to my bank")
    await form.sees_heading("Tidegate Test Bank")
    assert await completions(form) == {"otp": "one-time-code"}
    await form.follows("Cancel")
    await form.pays_by_card(WANTS_ADDRESS)
    assert await completions(form) == {
        "line": "billing address-line1",
        "city": "billing address-level2",
        "state": "billing address-level1",
        "postalCode": "billing postal-code",
    }


KEPT = """async () => JSON.stringify({
    address: location.href,
    history: history.state,
    cookies: document.cookie,
    local: { ...localStorage },
    session: { ...sessionStorage },
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    page: document.documentElement.outerHTML,
})"""


async def test_a_card_stays_nowhere(
    stage: Stage, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    payer = await Payer.arrives(stage, window={"allowed": REFUSED_INPUT})
    addresses: list[str] = []
    with hearing(payer.page, "request", lambda request: addresses.append(request.url)):
        # Refused once, so that what comes back is looked at too.
        await payer.pays_by_card(WANTS_PIN_AND_OTP, cvv=CODE, expiry="1340")
        assert CODE not in await payer.page.locator("#main").inner_html()
        await payer.pays_by_card(WANTS_PIN_AND_OTP, cvv=CODE)
        await payer.sees_heading("Enter your card PIN")
        kept = [await payer.page.evaluate(KEPT)]
        await payer.answers(pin=PIN)
        await payer.answers(otp="123456")
        await payer.sees_paid("₦100.00")
    cookies = {cookie.get("name"): cookie.get("value", "") for cookie in await payer.page.context.cookies()}
    typed = b64decode(cookies["tidegate-typed"] + "===", altchars="-_").decode()
    kept += [await payer.page.evaluate(KEPT), json.dumps(cookies), typed]
    out, err = capfd.readouterr()
    assert "chargeOnPage" in out + err
    secrets = re.compile(rf"5333\D?0182\D?4843|(?<![\w.]){CODE}(?![\w.])")
    assert [place for place in (*addresses, *kept, out, err, caplog.text) if secrets.search(place)] == []
    # Only what is needed to tell whose form it is, and to fill in again what is no secret.
    assert set(cookies) == {"tidegate", "tidegate-typed"}
    assert set(json.loads(typed)["fields"]) <= set(REMEMBERED)
