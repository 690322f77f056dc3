"""Everything by keyboard alone, with the focus always in sight and where the payer needs it next."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from checkout.paying import WANTS_PIN_AND_OTP, WITHOUT_MONEY
from pages.payer import REFUSED_INPUT, Payer
from pages.stage import Stage

TABS_MAX = 40
OUTLINE = """() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    return outlineStyle === 'none' ? 0 : parseFloat(outlineWidth);
}"""
# What a payer hears about: the name of the element that has the focus.
FOCUSED = """() => {
    const focused = document.activeElement;
    return (focused.labels?.[0] ?? focused).textContent.trim();
}"""


async def tab_to(page: Page, name: str) -> None:
    """Each stop on the way can be seen."""
    for _ in range(TABS_MAX):
        await page.keyboard.press("Tab")
        assert await page.evaluate(OUTLINE) >= 2, f"the focus on {await page.evaluate(FOCUSED)} cannot be seen"
        if (await page.evaluate(FOCUSED)).startswith(name):
            return
    raise AssertionError(f"{name} is not reached with the Tab key")


async def test_a_card_is_paid_by_keyboard_alone(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    keyboard = payer.page.keyboard
    await tab_to(payer.page, "Bank transfer")
    await keyboard.press("ArrowRight")
    for label, typed in {
        "Card number": WANTS_PIN_AND_OTP,
        "Expiry date": "1240",
        "Security code": "123",
        "Name on card": "Ada Obi",
    }.items():
        await tab_to(payer.page, label)
        await keyboard.type(typed)
    await tab_to(payer.page, "Pay ₦100.00")
    await keyboard.press("Enter")
    await expect(payer.page.get_by_label("Card PIN")).to_be_focused()
    await keyboard.type("1234")
    await keyboard.press("Enter")
    await expect(payer.page.get_by_label("One-time code")).to_be_focused()
    await keyboard.type("123456")
    await keyboard.press("Enter")
    await expect(payer.heading("₦100.00 paid")).to_be_focused()
    await payer.merchant_is_told(status="success", amountReceived=100)


@pytest.mark.parametrize(
    ("locale", "forward", "backward"),
    [
        pytest.param("en-GB", "ArrowRight", "ArrowLeft", id="left-to-right"),
        pytest.param("ar", "ArrowLeft", "ArrowRight", id="right-to-left"),
    ],
)
async def test_the_tabs_follow_the_arrows(stage: Stage, locale: str, forward: str, backward: str) -> None:
    payer = await Payer.arrives(stage, window={"locale": locale})
    first, second, last = (payer.page.get_by_role("tab").nth(index) for index in range(3))
    await first.focus()
    steps = [(forward, second), (forward, last), (forward, first), (backward, last), ("Home", first), ("End", last)]
    for key, tab in steps:
        await payer.page.keyboard.press(key)
        await expect(tab).to_be_focused()
        await expect(tab).to_have_attribute("aria-selected", "true")
        await expect(payer.page.get_by_role("tab", selected=True)).to_have_count(1)
        panel = payer.page.locator(f"#{await tab.get_attribute('aria-controls')}")
        await expect(panel).to_be_visible()
        await expect(payer.page.get_by_role("tabpanel")).to_have_count(1)
    # One stop of the Tab key for all of them.
    assert await payer.page.locator("[role=tab][tabindex='-1']").count() == 2


async def test_the_focus_goes_to_the_first_field_that_is_wrong(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": REFUSED_INPUT})
    await payer.pays_by_card(expiry="1340", cvv="12")
    await expect(payer.field("expiry")).to_be_focused()
    await expect(payer.field("expiry")).to_have_accessible_description(
        "Month and year as on the card, for example 09 / 28"
    )
    await expect(payer.field("expiry")).to_have_value("13 / 40")
    await expect(payer.field("cvv")).to_have_value("")
    await expect(payer.field("number")).not_to_have_attribute("aria-invalid", "true")
    await payer.page.get_by_role("link", name="3 digits, on the back of the card").press("Enter")
    await expect(payer.field("cvv")).to_be_focused()


async def test_a_choice_that_is_missing_gets_the_focus(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"allowed": REFUSED_INPUT})
    await payer.pays_by_card(WITHOUT_MONEY)
    await expect(payer.page.get_by_role("alert").filter(has_text="That did not work")).to_be_focused()
    # The failure of the card stays behind its tab, and must not take the focus there.
    await payer.chooses("USSD")
    await payer.presses("Get the code")
    await expect(payer.page.get_by_role("radio").first).to_be_focused()
    await payer.sees("Choose your bank")


async def test_the_way_back_puts_the_focus_on_the_heading_that_is_seen(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.pays_by_card(WANTS_PIN_AND_OTP)
    await payer.follows("Back: use another card or way to pay")
    await expect(payer.heading("Pay with your card")).to_be_focused()
    await expect(payer.page.locator("#status")).to_have_text("Pay with your card")


async def test_a_bank_is_found_and_chosen_by_keyboard(stage: Stage) -> None:
    payer = await Payer.arrives(stage)
    await payer.chooses("USSD")
    await payer.page.get_by_label("Search for your bank").focus()
    await payer.page.keyboard.type("zenith")
    await payer.page.keyboard.press("Enter")
    await expect(payer.page.get_by_role("radio", name="Zenith Bank")).to_be_checked()
    await payer.presses("Get the code")
    await payer.sees("Dial it on the phone number that Zenith Bank knows")
