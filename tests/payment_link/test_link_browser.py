"""The pages of a payment link in a real browser, the payer's and the merchant's."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from browser import open_context
from build import Shop
from dashboard.people import SignedInPerson
from dashboard.test_browser import VIEWS, look_at

pytestmark = pytest.mark.usefixtures("unlimited")


async def made(shop: Shop, **changes: Any) -> dict[str, Any]:
    body = {"name": "Workshop ticket for the whole family", "currency": "NGN", "amount": 2500, **changes}
    answer = await shop.client.post("/checkout/payment-links", json=body, headers={"api-key": shop.secret_key})
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_every_page_of_a_link_in_both_themes_on_a_phone_and_a_desk(
    browser: Browser, owner: SignedInPerson, shop: Shop, base_url: str
) -> None:
    asked = {"askPhoneNumber": "required", "askNote": "optional", "noteLabel": "T-shirt size"}
    fixed = await made(shop, **asked, paymentMethods=["card", "bank_transfer"])
    chosen = await made(shop, amount=None, amountMin=100, **{**asked, "noteLabel": None})
    ended = await made(shop)
    await shop.client.post(f"/checkout/payment-links/{ended['id']}/end", headers={"api-key": shop.secret_key})
    paths = {
        "list": owner.path("/links"), "one": owner.path(f"/links/{fixed['id']}"), "payer": f"/link/{fixed['id']}",
        "payers-amount": f"/link/{chosen['id']}", "arabic": f"/link/{chosen['id']}?lang=ar",
        "closed": f"/link/{ended['id']}", "new": owner.path("/links/new"),
        "new-rest": owner.path("/links/new?step=2&name=Workshop+ticket&currency=NGN&amount=2500"),
        "new-wrong": owner.path("/links/new?step=2&name=Workshop+ticket&currency=NGN&amount=2.5&amountMin=x"),
    }  # fmt: skip
    context = await open_context(browser, base_url=base_url)
    session = owner.client.cookies["tidegate-session"]
    await context.add_cookies([{"name": "tidegate-session", "value": session, "url": base_url}])
    page = await context.new_page()
    problems: list[str] = []
    for name, path in paths.items():
        status = {"closed": 410, "new-wrong": 422}.get(name, 200)
        problems += await look_at(page, path, f"link-{name}", VIEWS[:4], status=status)
    assert problems == []


@pytest.mark.parametrize("has_script", [True, False])
async def test_a_payer_goes_from_the_link_to_the_checkout(
    browser: Browser, shop: Shop, base_url: str, has_script: bool
) -> None:
    link = await made(shop, amount=None, amountMin=100)
    context = await open_context(browser, base_url=base_url, java_script_enabled=has_script)
    page = await context.new_page()
    await page.goto(f"/link/{link['id']}")
    await page.get_by_label("Amount in NGN").fill("99")
    await page.get_by_label("Your name").fill("Bola Ade")
    await page.get_by_label("Your e-mail address").fill("bola@example.com")
    await page.get_by_role("button", name="Go on to pay").click()
    await expect(page.get_by_text("An amount from")).to_be_visible()
    assert await page.get_by_label("Your name").input_value() == "Bola Ade"
    await page.get_by_label("Amount in NGN").fill("150")
    await page.get_by_role("button", name="Go on to pay").click()
    await page.wait_for_url("**/pay/**")
    await expect(page.get_by_text("Workshop ticket for the whole family").first).to_be_visible()
    await context.close()


async def first_step(browser: Browser, owner: SignedInPerson, base_url: str, *, has_script: bool) -> Page:
    """Of a new link, filled in."""
    context = await open_context(browser, base_url=base_url, java_script_enabled=has_script)
    session = owner.client.cookies["tidegate-session"]
    await context.add_cookies([{"name": "tidegate-session", "value": session, "url": base_url}])
    page = await context.new_page()
    await page.goto(owner.path("/links"))
    await page.get_by_role("link", name="New payment link").click()
    await page.get_by_label("What is paid for").fill("Workshop ticket")
    await page.get_by_label("Once, by one customer").check()
    await page.get_by_label("Amount whole").fill("2500")
    return page


@pytest.mark.parametrize("has_script", [True, False])
async def test_a_merchant_makes_a_link_in_two_steps_and_goes_back_between(
    browser: Browser, owner: SignedInPerson, base_url: str, has_script: bool
) -> None:
    page = await first_step(browser, owner, base_url, has_script=has_script)
    await page.get_by_role("button", name="Next", exact=True).click()
    await page.get_by_label("Card").check()
    await page.get_by_label("A note").select_option("required")
    await page.get_by_label("What the note is called").fill("T-shirt size")
    await page.get_by_role("button", name="Back").click()
    await expect(page.get_by_text("Step 1 of 2")).to_be_visible()
    assert await page.get_by_label("Once, by one customer").is_checked()
    await page.get_by_label("Amount whole").fill("3000")
    await page.get_by_role("button", name="Next", exact=True).click()
    assert await page.get_by_label("What the note is called").input_value() == "T-shirt size"
    assert await page.get_by_label("Card").is_checked()
    await page.get_by_label("A note").select_option("")
    await page.get_by_role("button", name="Make the link").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("A note").select_option("required")
    await page.get_by_role("button", name="Make the link").click()
    await page.wait_for_url("**/links/pl_*")
    terms = page.get_by_label("Terms")
    for words in ("3,000.00", "Once", "Card", "T-shirt size (required)"):
        await expect(terms.get_by_text(words).first).to_be_visible()
    await page.context.close()


@pytest.mark.parametrize("has_script", [True, False])
async def test_back_of_the_browser_shows_the_first_step_as_it_was_filled_in(
    browser: Browser, owner: SignedInPerson, base_url: str, has_script: bool
) -> None:
    page = await first_step(browser, owner, base_url, has_script=has_script)
    await page.get_by_label("Currency").select_option("KES")
    await page.get_by_role("button", name="Next", exact=True).click()
    await expect(page.get_by_text("Step 2 of 2")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_text("Step 1 of 2")).to_be_visible()
    assert await page.get_by_label("What is paid for").input_value() == "Workshop ticket"
    assert await page.get_by_label("Once, by one customer").is_checked()
    assert await page.get_by_label("Amount whole").input_value() == "2500"
    assert await page.get_by_label("Currency").input_value() == "KES"
    await page.context.close()
