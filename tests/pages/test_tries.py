"""Trying again in a real browser: pauses that are counted down, fields that are filled again, where the focus is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playwright.async_api import Browser, expect

from checkout.paying import WANTS_PIN, WANTS_PIN_AND_OTP, WITHOUT_MONEY, card, phone
from pages.payer import Payer
from pages.stage import NewPayment, Stage
from pages.windows import Windows
from serving import serving
from tidegate.payment.attempt import RESEND_PAUSE
from tidegate.payment.transition import ATTEMPTS_MAX
from tidegate.settings import Settings

KENYAN: dict[str, Any] = {"currency": "KES", "paymentMethods": ["mobile_money", "bank_transfer"]}
PAUSE_S = int(RESEND_PAUSE.total_seconds()) + 2


async def test_a_prompt_is_asked_for_again_when_the_countdown_is_over(stage: Stage) -> None:
    payer = await Payer.arrives(stage, **KENYAN)
    await payer.pays_by_phone("712345678")
    await payer.takes_the_clock()
    again = payer.page.get_by_role("button", name="Send the prompt again")
    await expect(again).to_be_disabled()
    await payer.sees("You can ask again in 0:")
    await payer.lets_pass(f"{PAUSE_S}s")
    await payer.page.clock.fast_forward(PAUSE_S * 1000)
    await expect(again).to_be_enabled()
    await expect(payer.page.get_by_text("You can ask again in")).to_be_hidden()
    await again.click()
    await expect(again).to_be_disabled()
    assert await payer.attempts_made() == 1


async def test_the_focus_is_in_the_field_that_the_bank_asks_for(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_PIN_AND_OTP)
    await expect(payer.field("pin")).to_be_focused()
    await payer.answers(pin="9999")
    await payer.sees("That was not the right PIN.")
    await expect(payer.field("pin")).to_be_focused()
    await payer.answers(pin="1234")
    await expect(payer.field("otp")).to_be_focused()
    await payer.page.reload()
    await expect(payer.field("otp")).to_be_focused()


async def test_a_one_time_code_is_sent_again(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_PIN_AND_OTP)
    await payer.answers(pin="1234")
    await payer.lets_pass(f"{PAUSE_S}s")
    await payer.page.reload()
    await payer.presses("Send the code again")
    await payer.sees("You can ask again in 0:")
    await payer.answers(otp="123456")
    await payer.sees_paid("₦100.00")


async def test_when_cards_are_used_up_a_transfer_is_made(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    for _ in range(ATTEMPTS_MAX - 1):
        await payer.checkout.charge(card(WITHOUT_MONEY))
    await payer.page.reload()
    await payer.sees("This is the last try with this way to pay.")
    await payer.pays_by_card(WITHOUT_MONEY)
    await payer.sees_heading("Card: no tries left")
    await payer.follows("Bank transfer")
    await payer.begins_transfer()
    await payer.is_sent(100)
    await payer.sees_paid("₦100.00")


async def test_who_is_slowed_keeps_what_was_typed_and_sees_when_to_go_on(
    browser: Browser, new_payment: NewPayment, database_url: str
) -> None:
    async with (
        serving(Settings(database_url=database_url, address_declines_per_hour=1)) as (url, _),
        Windows(browser, url).visiting(allowed=["status of 429"]) as visit,
    ):
        checkout = await new_payment()
        payer = Payer(visit.page, replace(checkout, link=f"{url}/pay/{checkout.pay_code}"))
        await payer.page.goto(payer.checkout.link)
        await payer.pays_by_card(WITHOUT_MONEY)
        await payer.sees("There is not enough money")
        await payer.takes_the_clock()
        await payer.pays_by_card()
        await payer.sees("You can go on in ")
        await expect(payer.field("number")).to_have_value("5319 3178 0136 6660")
        await expect(payer.pay_button).to_be_enabled()
        await payer.page.clock.fast_forward(3_700_000)
        await expect(payer.page.locator("#main .notice")).to_be_hidden()
        await payer.begins_transfer()
        await payer.sees_heading("Transfer exactly ₦100.00")


async def test_after_a_failure_the_phone_is_still_there(stage: Stage) -> None:
    payer = await Payer.arrives(stage, **KENYAN)
    await payer.fills(phone="712340004")
    await payer.page.get_by_label("Airtel Money").check()
    await payer.presses("Pay ")
    await payer.sees("This number has no mobile money wallet.")
    await expect(payer.field("phone")).to_have_value("712340004")
    await expect(payer.page.get_by_label("Airtel Money")).to_be_checked()


async def test_the_customers_phone_is_filled_in_with_its_operator(stage: Stage) -> None:
    customer = {"name": "Ada Obi", "email": "ada@example.com", "phoneNumber": "+254712345678"}
    payer = await Payer.arrives(stage, customer=customer, **KENYAN)
    await expect(payer.field("phone")).to_have_value("0712 345678")
    await expect(payer.page.get_by_label("M-PESA")).to_be_checked()


async def test_having_sent_the_money_is_remembered_and_more_time_is_said(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.begins_transfer()
    await payer.presses("I have sent the money")
    await payer.sees("We are looking out for it")
    await payer.page.reload()
    await payer.sees("We are looking out for it")
    await payer.presses("I need more time")
    await payer.sees("The account now stays open until")
    await payer.sees("We are looking out for it")


async def test_late_money_is_shown_as_soon_as_it_comes(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    account = await payer.checkout.account()
    await payer.checkout.sandbox(f"charges/{payer.checkout.pay_code}/expire")
    await payer.checkout.tick()
    # Then nothing but a push can tell the page.
    await payer.stops_the_clock()
    await payer.sees("Have you just sent money?")
    async with payer.watching():
        await payer.checkout.transfer(account, "100")
        await payer.sees("it arrived after the payment had ended")


async def test_without_script_giving_up_is_asked_first(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"javascript": False})
    await payer.presses("Cancel and go back")
    await payer.sees_heading("Give up this payment?")
    await payer.follows("No, go on paying")
    await payer.presses("Cancel and go back")
    await payer.presses("Yes, stop this payment")
    await payer.sees_heading("You cancelled this payment")


async def test_a_wrong_pin_has_its_tries_said(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_PIN)
    await payer.sees("Tries left: 3")
    await payer.answers(pin="9999")
    await payer.answers(pin="9998")
    await payer.sees("This is your last try.")


async def test_money_of_a_prompt_approved_after_giving_up_is_shown_by_itself(stage: Stage) -> None:
    payer = await Payer.arrives(stage, currency="KES", paymentMethods=["mobile_money"])
    await payer.checkout.charge(phone("0712 345 678"))
    await payer.page.reload()
    await payer.gives_up()
    await payer.sees("Did you approve it on your phone after all?")
    async with payer.watching():
        assert (await payer.checkout.sandbox(f"charges/{payer.checkout.pay_code}/approve")).status_code == 200
        await payer.checkout.tick()
        await payer.sees("back to you")
