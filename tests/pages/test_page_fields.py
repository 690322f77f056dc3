"""What the script adds to the fields: copying, guessing, searching, filling in, another language."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from pages.payer import REFUSED_INPUT, Payer
from pages.stage import Stage

KENYAN = {"currency": "KES", "paymentMethods": ["mobile_money"]}


async def pasted(payer: Payer) -> str:
    """What a payer finds on the clipboard; the page itself may not look."""
    field = payer.page.get_by_label("Send a transfer of")
    await field.fill("")
    await field.press("ControlOrMeta+v")
    return await field.input_value()


async def test_copying_takes_the_raw_value_and_says_so(stage: Stage) -> None:
    payer = await Payer.arrives(stage, amount=10_150)
    await payer.page.context.grant_permissions(["clipboard-write"])
    await payer.stops_the_clock()
    await payer.begins_transfer()
    view = await payer.checkout.view()
    number = view["attempt"]["action"]["virtualAccount"]["accountNumber"]
    shown = await payer.page.locator("#main .large").inner_text()
    assert shown != number == shown.replace(" ", "")
    button = payer.page.get_by_role("button", name="Copy Account number")
    copied = payer.page.get_by_role("button", name="Copied Account number")
    await button.click()
    await expect(copied).to_be_visible()
    await payer.page.clock.run_for(100)
    await expect(payer.page.locator("#status")).to_have_text("Copied")
    assert await pasted(payer) == number
    # Twice, and the label comes back all the same.
    await copied.click()
    await expect(payer.page.locator("#status")).to_have_text("")
    await payer.page.clock.run_for(4_000)
    await expect(button).to_be_visible()
    await payer.presses("Copy Amount")
    await expect(payer.page.get_by_role("button", name="Copied Amount")).to_be_visible()
    assert await pasted(payer) == "10150.00"


async def test_without_script_there_is_nothing_that_does_nothing(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"javascript": False})
    await payer.begins_transfer()
    assert await payer.page.locator("button[type=button]:visible").count() == 0
    await payer.chooses("USSD")
    await expect(payer.page.locator("#bank-search")).to_be_hidden()


async def test_the_operator_is_guessed_and_can_be_changed(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": REFUSED_INPUT}, **KENYAN)
    mpesa, airtel = (payer.page.get_by_role("radio", name=name) for name in ("M-PESA", "Airtel Money"))
    for typed, guessed in [("0712", mpesa), ("0733", airtel), ("+254 712", mpesa), ("733", airtel), ("712", mpesa)]:
        await payer.fills(phone=typed)
        await expect(guessed).to_be_checked()
    # A guess is not a choice, also when the form comes back.
    await payer.presses("Pay ")
    await payer.sees("This number is too short")
    await expect(mpesa).to_be_checked()
    await payer.fills(phone="0733 123 456")
    await expect(airtel).to_be_checked()
    # A choice is, whatever is typed afterwards.
    await mpesa.check()
    await payer.fills(phone="0733 123 45")
    await expect(mpesa).to_be_checked()
    await payer.presses("Pay ")
    await payer.fills(phone="0733 123 456")
    await expect(mpesa).to_be_checked()
    await payer.presses("Pay ")
    await payer.sees_heading("Check your phone")
    assert (await payer.checkout.view())["attempt"]["details"]["operator"] == "mpesa"


async def test_the_banks_can_be_searched(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.chooses("USSD")
    search, banks = payer.page.get_by_label("Search for your bank"), payer.page.locator("#bank label:visible")
    everyone = await banks.count()
    await search.fill("  GUARANTY ")
    await expect(banks).to_have_text(["Guaranty Trust Bank (GTBank)"])
    await search.fill("no such bank")
    await expect(banks).to_have_count(0)
    await payer.sees("No bank of that name is on the list.")
    await search.fill("")
    await expect(banks).to_have_count(everyone)
    await expect(payer.page.get_by_text("No bank of that name")).to_be_hidden()


KNOWN_AS = {
    "gtb": "Guaranty Trust Bank (GTBank)",
    "GT Bank": "Guaranty Trust Bank (GTBank)",
    "guarantee trust": "Guaranty Trust Bank (GTBank)",
    "737": "Guaranty Trust Bank (GTBank)",
    "*737#": "Guaranty Trust Bank (GTBank)",
    "uba": "United Bank for Africa (UBA)",
    "fcmb": "First City Monument Bank (FCMB)",
    "FirstBank": "First Bank of Nigeria (FirstBank)",
    "fbn": "First Bank of Nigeria (FirstBank)",
    "diamond": "Access Bank",
    "skye": "Polaris Bank",
    "alat": "Wema Bank (ALAT)",
    "zénith": "Zenith Bank",
}


async def test_a_bank_is_found_by_every_name_that_people_use(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.chooses("USSD")
    search, banks = payer.page.get_by_label("Search for your bank"), payer.page.locator("#bank label:visible")
    for typed, name in KNOWN_AS.items():
        await search.fill(typed)
        await expect(banks).to_have_text([name])
    await search.fill("first bank")
    await search.press("Enter")
    await payer.presses("Get the code")
    await payer.sees("First Bank of Nigeria")


async def test_a_payment_in_shillings_opens_on_mobile_money(stage: Stage) -> None:
    payer = await Payer.arrives(stage, currency="KES")
    await payer.sees_heading("Pay with mobile money")
    await payer.merchant_is_told(defaultPaymentMethod="mobile_money", paymentMethods=["mobile_money", "bank_transfer"])
    payer = await Payer.arrives(stage, currency="KES", paymentMethods=["bank_transfer", "mobile_money"])
    await payer.sees_heading("Pay by bank transfer")


async def test_the_simulator_fills_in_its_test_values(stage: Stage) -> None:
    payer = await Payer.arrives(stage, currency="ZMW")
    await payer.chooses("Card")
    await payer.simulates("declined: no money")
    await payer.presses("Pay ")
    await payer.sees("There is not enough money for this payment.")
    await payer.chooses("Mobile money")
    await payer.simulates("approves at once")
    await expect(payer.field("phone")).to_be_focused()
    await payer.presses("Pay ")
    await payer.sees_paid("K100.00")


@pytest.mark.parametrize("javascript", [True, False])
async def test_a_language_is_chosen_and_remembered(stage: Stage, javascript: bool) -> None:
    payer = await Payer.arrives(stage, window={"javascript": javascript})
    await payer.chooses("Card")
    await payer.page.locator("#lang").select_option("fr")
    if not javascript:
        await payer.presses("Change")
    root = payer.page.locator("html")
    await expect(root).to_have_attribute("lang", "fr")
    # What was chosen before stays chosen.
    await expect(payer.page.locator("#tab-card")).to_have_attribute("aria-selected", "true")
    await payer.page.goto(payer.checkout.link)
    await expect(root).to_have_attribute("lang", "fr")
    await expect(root).to_have_attribute("dir", "ltr")
    await payer.page.locator("#lang").select_option("ar")
    if not javascript:
        await payer.presses("Changer")
    await expect(root).to_have_attribute("dir", "rtl")


async def test_a_language_is_chosen_on_the_receipt_and_on_a_wrong_link(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": ["status of 404"]})
    await payer.pays_by_card()
    await payer.follows("Receipt")
    await payer.page.locator("#lang").select_option("pt")
    await expect(payer.page.locator("html")).to_have_attribute("lang", "pt")
    assert payer.page.url.partition("?")[0].endswith("/receipt")
    await payer.page.goto("/pay/nothing-here")
    await expect(payer.page.locator("html")).to_have_attribute("lang", "pt")
    await payer.page.locator("#lang").select_option("sw")
    await expect(payer.page.locator("html")).to_have_attribute("lang", "sw")
