"""The pages of a payment link in a real browser, the payer's and the merchant's."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from browser import chromium
from browser_axe import violations_in
from build import Shop
from dashboard.people import SignedInPerson

WIDTHS, THEMES = (390, 1280), ("light", "dark")
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


async def made(shop: Shop, **changes: Any) -> dict[str, Any]:
    body = {"name": "Workshop ticket for the whole family", "currency": "NGN", "amount": 2500, **changes}
    answer = await shop.client.post("/checkout/payment-links", json=body, headers={"api-key": shop.secret_key})
    data: dict[str, Any] = answer.json()["data"]
    return data


async def faults(page: Page, path: str, name: str) -> list[str]:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if "Content Security" in message.text else None)
    await page.goto(path)
    if folder := os.environ.get("TIDEGATE_SHOTS"):
        await page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
    violations = await violations_in(page)
    found = [f"{name}: {one['id']} {[node['html'][:100] for node in one['nodes']]}" for one in violations]
    if await page.evaluate(SIDEWAYS) > 0:
        found.append(f"{name}: scrolls sideways")
    return found + said


async def test_every_page_of_a_link_in_both_themes_on_a_phone_and_a_desk(
    browser: Browser, owner: SignedInPerson, shop: Shop, base_url: str
) -> None:
    fixed = await made(shop)
    chosen = await made(shop, amount=None, amountMin=100)
    ended = await made(shop)
    await shop.client.post(f"/checkout/payment-links/{ended['id']}/end", headers={"api-key": shop.secret_key})
    paths = {
        "list": owner.path("/links"), "one": owner.path(f"/links/{fixed['id']}"), "payer": f"/link/{fixed['id']}",
        "payers-amount": f"/link/{chosen['id']}", "arabic": f"/link/{chosen['id']}?lang=ar",
        "closed": f"/link/{ended['id']}",
    }  # fmt: skip
    wrong: list[str] = []
    for width in WIDTHS:
        for theme in THEMES:
            context = await browser.new_context(
                base_url=base_url, viewport={"width": width, "height": 900},
                color_scheme="dark" if theme == "dark" else "light",
            )  # fmt: skip
            session = owner.client.cookies["tidegate-session"]
            await context.add_cookies([{"name": "tidegate-session", "value": session, "url": base_url}])
            page = await context.new_page()
            for name, path in paths.items():
                wrong += await faults(page, path, f"link-{name}-{theme}-{width}")
            await context.close()
    assert wrong == []


@pytest.mark.parametrize("has_script", [True, False])
async def test_a_payer_goes_from_the_link_to_the_checkout(
    browser: Browser, shop: Shop, base_url: str, has_script: bool
) -> None:
    link = await made(shop, amount=None, amountMin=100)
    context = await browser.new_context(base_url=base_url, java_script_enabled=has_script)
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
