"""The dashboard in a real browser: nothing for axe to find, nothing sideways, no report of our policy."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page

from browser import chromium
from browser_axe import OF_LOOKS, WCAG, violations_in
from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from inflow import CLOSE, Inflows, credit
from tidegate.member.permission import Role

View = tuple[int, Literal["dark", "light"]]
# Each page on a phone and on a desk, in one theme each; those with most to show in both, and at the widths between.
VIEWS: tuple[View, ...] = (
    (390, "dark"),
    (1280, "light"),
    (390, "light"),
    (1280, "dark"),
    (768, "light"),
    (1440, "dark"),
)
IN_EVERY_VIEW = ("", "/payments?currency=NGN", "/payments/{paid}")
PAGES = (
    "", "/payments?currency=NGN", "/payments/{paid}", "/payments/new", "/links", "/find?q=pay", "/webhooks/replay",
    "/takings?currency=NGN", "/refunds", "/refunds?tab=approve", "/wallets", "/wallets/NGN", "/wallets/NGN/locked",
    "/inflows", "/inflows/{inflow}", "/accounts/new", "/accounts/{account}?name=Ada+Obii",
    "/webhooks", "/keys", "/developers", "/team", "/audit", "/settings", "/branding", "/sandbox/people",
)  # fmt: skip
GATES = (
    "/dashboard/sign-in",
    "/dashboard/forgot",
    "/dashboard/security",
    "/dashboard/two-step",
    "/dashboard/confirm",
    "/mail",
)
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


async def visit(browser: Browser, person: SignedInPerson, base_url: str, **options: Any) -> Page:
    context = await browser.new_context(base_url=base_url, **options)
    await context.add_cookies(
        [{"name": "tidegate-session", "value": person.client.cookies["tidegate-session"], "url": base_url}]
    )
    return await context.new_page()


async def look_at(
    page: Page, path: str, name: str, views: Sequence[View] = VIEWS[:2], *, status: int = 200
) -> list[str]:
    """Loaded once. Of the second view on, only what a theme or a width can change is examined."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    problems: list[str] = []
    for number, (width, theme) in enumerate(views):
        await page.set_viewport_size({"width": width, "height": 900})
        await page.emulate_media(color_scheme=theme)
        if number == 0:
            answer = await page.goto(path)
            assert answer is not None
            assert answer.status == status, path
        seen = f"{name}-{theme}-{width}"
        if folder := os.environ.get("TIDEGATE_SHOTS"):
            await page.screenshot(path=Path(folder) / f"{seen}.png", full_page=True)
        found = await violations_in(page, OF_LOOKS if number else WCAG, has_many_alike=True)
        problems += [f"{seen}: {one['id']} {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found]
        if await page.evaluate(SIDEWAYS) > 0:
            problems.append(f"{seen}: scrolls sideways")
    # The browser says it too when a page itself has an error's status.
    return [*problems, *(f"{name}: {text}" for text in said if status == 200 or "status of" not in text)]


async def test_every_page_in_both_themes_on_a_phone_and_a_desk(
    browser: Browser, people: People, owner: SignedInPerson, new_checkout: MakeCheckout, inflows: Inflows
) -> None:
    shop = inflows.shop
    held = credit(await inflows.number(), payeeName=CLOSE)
    assert (await inflows.notify(held)).status_code == 200
    inflow = await inflows.inflow(held["transactionId"])
    account = await people.admin.fetchval("SELECT id FROM virtual_account")
    paid = await new_checkout(shop, amount=12_500, customer={"name": "Chidinma Eze", "email": "c.eze@example.com"})
    assert (await paid.charge(card())).status_code == 200
    over = await new_checkout(shop, amount=10_000)
    await over.transfer(await over.account(), "12000.00")
    await new_checkout(shop, currency="KES", amount=3_450)
    support = await people.person(shop, Role.SUPPORT, name="Zainab Musa")
    at = f"/payments/{over.pay_code}"
    assert (await support.send(f"{at}/refund", at=at, what="excess", note="too much")).status_code == 303
    problems: list[str] = []
    page = await visit(browser, owner, people.base_url)
    for below in PAGES:
        path = owner.path(below.format(paid=over.pay_code, inflow=inflow["reference"], account=account))
        name = below.strip("/").partition("/{")[0].replace("/", "-").replace("?", "-") or "home"
        views = VIEWS if below in IN_EVERY_VIEW else VIEWS[:2]
        problems += await look_at(page, path, f"{name}{'-one' if '{' in below else ''}", views)
    for path in GATES:
        problems += await look_at(page, path, f"gate-{path.rpartition('/')[2]}")
    assert problems == []


async def test_a_refund_by_keyboard_and_without_script(
    browser: Browser, people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    paid = await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    page = await visit(browser, owner, people.base_url, java_script_enabled=False)
    await page.goto(owner.path(f"/payments/{paid.pay_code}"))
    await page.get_by_role("radio", name="Another amount").check()
    await page.get_by_role("textbox", name="Amount in").fill("10")
    await page.get_by_label("Reason").fill("one item less")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/refunds/*")
    assert "₦10.00" in await page.content()
    assert await people.admin.fetchval("SELECT count(*) FROM refund") == 1
