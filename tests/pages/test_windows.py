"""Reload, Back, two windows, two clicks: one payment, one charge, and the page knows how it stands."""

from __future__ import annotations

from playwright.async_api import expect

from checkout.paying import SUCCEEDS, WANTS_3DS, WANTS_PIN
from pages.payer import Payer
from pages.stage import Stage

CHANGED = "This payment changed in another window. This is how it stands now."


async def test_a_reload_keeps_the_method_and_the_account(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.chooses("Card")
    await payer.page.reload()
    await payer.sees_heading("Pay with your card")
    await payer.begins_transfer()
    number = await payer.page.locator(".values .large").inner_text()
    await payer.page.reload()
    await expect(payer.page.locator(".values .large")).to_have_text(number)
    # Also for whoever comes back by the link itself.
    await payer.page.goto(payer.checkout.link)
    await expect(payer.page.locator(".values .large")).to_have_text(number)
    assert await payer.attempts_made() == 1


async def test_a_reload_keeps_the_question_of_the_bank(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_PIN)
    await payer.page.reload()
    await payer.answers(pin="1234")
    await payer.sees_paid("₦100.00", amountReceived=100)
    await payer.page.reload()
    await payer.sees_paid("₦100.00", amountReceived=100)
    assert await payer.attempts_made() == 1


async def test_back_from_the_bank_shows_how_it_stands(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_3DS)
    await payer.follows("Go to my bank")
    await payer.sees_heading("Tidegate Test Bank")
    await payer.page.go_back()
    await payer.sees_heading("Confirm with your bank")
    await payer.page.go_forward()
    await payer.confirms("123456")
    await payer.sees_paid("₦100.00")
    await payer.page.go_back()
    await payer.sees_paid("₦100.00", amountReceived=100)
    assert await payer.attempts_made() == 1


async def test_what_one_window_pays_the_other_shows_by_itself(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    other = await payer.opens_another_window()
    await payer.begins_transfer()
    async with other.watching():
        await other.sees_heading("Transfer exactly ₦100.00")
        await payer.pays_by_card()
        await other.sees_paid("₦100.00")


async def test_a_window_that_missed_the_news_does_not_charge_again(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    other = await payer.opens_another_window()
    # Whoever is typing is not disturbed, and with its clock stopped the window does not look again afterwards.
    await other.stops_the_clock()
    await other.fills_in_card()
    await payer.pays_by_card(WANTS_PIN)
    await payer.sees_heading("Enter your card PIN")
    await other.presses("Pay ")
    await other.sees_heading("Enter your card PIN")
    await other.sees(CHANGED)
    # Said once.
    await other.page.reload()
    await other.sees_heading("Enter your card PIN")
    await expect(other.page.get_by_text(CHANGED)).to_have_count(0)
    assert await payer.attempts_made() == 1
    await other.answers(pin="1234")
    await payer.sees_paid("₦100.00", amountReceived=100)


async def test_a_form_kept_open_after_the_end_shows_the_end(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    other = await payer.opens_another_window()
    await other.stops_the_clock()
    await other.fills_in_card()
    await payer.gives_up()
    await payer.sees_heading("You cancelled this payment")
    await other.presses("Pay ")
    await other.sees_heading("You cancelled this payment")
    await other.merchant_is_told(status="failed", amountReceived=0)
    assert await payer.attempts_made() == 0


async def test_two_clicks_are_one_attempt(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.fills_in_card(SUCCEEDS)
    await payer.pay_button.dblclick()
    await payer.sees_paid("₦100.00", amountReceived=100)
    assert await payer.attempts_made() == 1


async def test_without_script_two_clicks_are_one_attempt(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"javascript": False})
    await payer.fills_in_card(WANTS_PIN)
    await payer.pay_button.dblclick()
    await payer.sees_heading("Enter your card PIN")
    assert await payer.attempts_made() == 1


async def test_what_is_typed_stays_while_another_tab_waits_for_money(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.begins_transfer()
    await payer.fills_in_card()
    # Somebody looks up a number in another app, and comes back.
    await payer.page.evaluate("document.activeElement.blur()")
    async with payer.page.expect_response("**/pay/*"):
        await payer.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(payer.field("number")).to_have_value("5319 3178 0136 6660")
    await expect(payer.field("cvv")).to_have_value("123")
    await payer.presses("Pay ")
    await payer.sees_paid("₦100.00", amountReceived=100)
