"""The dashboard in a real browser: nothing for axe to find, nothing sideways, no report of our policy."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Error, Page, expect

from browser import open_context
from browser_axe import OF_LOOKS, WCAG, violations_in
from build import Shop
from checkout.paying import card
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from dashboard.test_roles import table_of
from inflow import CLOSE, Inflows, credit
from tidegate.member.permission import Role
from tidegate.runtime import Runtime

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
# With all of them on every page: a few minutes, and `make shots` does it.
IS_THOROUGH = os.environ.get("TIDEGATE_SCENES") == "all"
THEMES: tuple[Literal["dark", "light"], ...] = ("light", "dark")
THOROUGH = tuple((width, theme) for width in (390, 768, 1280, 1440) for theme in THEMES)
PAGES = (
    "", "/payments?currency=NGN", "/payments/{paid}", "/payments/new", "/links", "/find?q=pay", "/webhooks/replay",
    "/takings?currency=NGN", "/refunds", "/refunds?tab=approve", "/wallets", "/wallets/{currency}",
    "/wallets/{currency}/{figure}", "/wallets/proof",
    "/inflows", "/inflows/{inflow}", "/inflows/{credited}", "/accounts/new", "/accounts/{account}?name=Ada+Obii",
    "/webhooks", "/webhooks/deliveries/{delivery}",
    "/keys", "/developers", "/team", "/audit", "/settings", "/branding", "/sandbox/people",
    "/links/new", "/links/{link}", "/refunds/{refund}", "/ledger/{journal}", "/find", "/waiting",
)  # fmt: skip
# Files, the preview that is the payer's page, and what leads elsewhere.
NO_PAGES = {"/payments.csv", "/audit.csv", "/branding/preview"}
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


async def visit(browser: Browser, person: SignedInPerson, base_url: str, **options: Any) -> Page:
    context = await open_context(browser, base_url=base_url, **options)
    await context.add_cookies(
        [{"name": "tidegate-session", "value": person.client.cookies["tidegate-session"], "url": base_url}]
    )
    return await context.new_page()


async def look_at(
    page: Page, path: str, name: str, views: Sequence[View] = VIEWS[:2], *, status: int = 200, unfolds: bool = False
) -> list[str]:
    """Loaded once, `unfolds` with all that can be unfolded. Of the second view on, only what a theme or a width can
    change is examined.
    """
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
            if unfolds:
                await page.evaluate(
                    "() => document.querySelectorAll('main details').forEach(one => { one.open = true; })"
                )
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
    credited = await inflows.notified(credit(await inflows.number()))
    at = f"/inflows/{credited['reference']}"
    assert (await owner.send(f"{at}/refund", at=at, what="part", amount="20", reason="Too much")).status_code == 303
    account = await people.admin.fetchval("SELECT id FROM virtual_account")
    paid = await new_checkout(shop, amount=12_500, customer={"name": "Chidinma Eze", "email": "c.eze@example.com"})
    assert (await paid.charge(card())).status_code == 200
    over = await new_checkout(shop, amount=10_000)
    await over.transfer(await over.account(), "12000.00")
    await new_checkout(shop, currency="KES", amount=3_450)
    support = await people.person(shop, Role.SUPPORT, name="Zainab Musa")
    at = f"/payments/{over.pay_code}"
    assert (await support.send(f"{at}/refund", at=at, what="excess", note="too much")).status_code == 303
    await owner.send("/webhooks/endpoints", at="/webhooks", url="https://a.example/")
    endpoint = await people.admin.fetchval("SELECT id FROM webhook_endpoint")
    tested = await owner.send(f"/webhooks/endpoints/{endpoint}/test", at="/webhooks")
    ids = {
        "link": (await owner.make_link()).headers["location"].rpartition("/")[2],
        "refund": await people.admin.fetchval("SELECT reference FROM refund"),
        "journal": await people.admin.fetchval("SELECT max(id) FROM journal"),
        "currency": "NGN",
        "figure": "locked",
        "paid": over.pay_code, "inflow": inflow["reference"], "credited": credited["reference"], "account": account,
        "delivery": tested.headers["location"].rpartition("/")[2],
    }  # fmt: skip
    problems: list[str] = []
    page = await visit(browser, owner, people.base_url)
    for below in PAGES:
        path = owner.path(below.format(**ids))
        name = below.strip("/").replace("/{", "-").replace("}", "").replace("/", "-").replace("?", "-") or "home"
        views = THOROUGH if IS_THOROUGH else VIEWS if below in IN_EVERY_VIEW else VIEWS[:2]
        problems += await look_at(page, path, name, views)
    for path in GATES:
        problems += await look_at(page, path, f"gate-{path.rpartition('/')[2]}", THOROUGH if IS_THOROUGH else VIEWS[:2])
    assert problems == []


async def test_what_the_script_reads_of_other_pages_has_no_report_of_our_policy(
    browser: Browser, people: People, owner: SignedInPerson, inflows: Inflows, new_checkout: MakeCheckout
) -> None:
    held = credit(await inflows.number(), payeeName=CLOSE)
    assert (await inflows.notify(held)).status_code == 200
    payment = await new_checkout(inflows.shop)
    page = await visit(browser, owner, people.base_url)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    await page.goto(owner.path("/payments"))
    inflows_link = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Inflows & accounts")
    await expect(inflows_link).to_have_text("Inflows & accounts 1")
    await page.get_by_role("searchbox", name="Find a payment").press_sequentially(payment.reference)
    await expect(page.locator("#found").get_by_role("link", name=payment.reference)).to_be_visible()
    assert said == []


def test_every_page_is_looked_at(runtime: Runtime) -> None:
    def shape(path: str) -> str:
        return re.sub(r"\{\w+\}", "{}", path.partition("?")[0])

    rows = [row.path for row in table_of(runtime) if row.method == "GET" and row.path not in NO_PAGES]
    files = (".csv", ".pdf", ".svg", ".png")
    missing = {shape(path) for path in rows if not path.endswith(files)} - {shape(path) for path in PAGES}
    assert missing == set()


# As WCAG 1.4.12 has it.
SPACED = """() => { for (const one of document.querySelectorAll("body *")) Object.assign(one.style, {
  lineHeight: "1.5", letterSpacing: ".12em", wordSpacing: ".16em" }); }"""
# Texts that their box cuts off; what is meant to be cut ends in dots, and is told in full elsewhere.
CUT_OFF = """() => [...document.querySelectorAll("main :is(button, a, dd, h1, h2, .state)")].filter((one) =>
  one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "hidden"
  && !one.closest(".cut, .unseen")).map((one) => one.textContent)"""


async def test_twice_the_size_wider_letters_and_a_script_of_a_stranger(
    browser: Browser, people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    hostile = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
    paid = await new_checkout(shop, amount=12_500, customer={"name": hostile, "email": "c.eze@example.com"})
    assert (await paid.charge(card())).status_code == 200
    # 1280 pixels at 200 %.
    page = await visit(browser, owner, people.base_url, viewport={"width": 640, "height": 450})
    for below in IN_EVERY_VIEW:
        await page.goto(owner.path(below.format(paid=paid.pay_code)))
        assert await page.title() != "run"
        assert await page.evaluate(SIDEWAYS) <= 0, below
        await page.evaluate(SPACED)
        assert await page.evaluate(SIDEWAYS) <= 0, below
        assert await page.evaluate(CUT_OFF) == [], below
    with pytest.raises(Error, match="TrustedScript"):
        await page.evaluate("() => { document.createElement('script').text = 'document.title = 1' }")


async def test_a_refund_by_keyboard_and_without_script(
    browser: Browser, people: People, owner: SignedInPerson, shop: Shop, new_checkout: MakeCheckout
) -> None:
    # The wallet has the whole of one, also without its fee.
    for _ in range(2):
        paid = await new_checkout(shop)
        assert (await paid.charge(card())).status_code == 200
    page = await visit(browser, owner, people.base_url, java_script_enabled=False)
    await page.goto(owner.path(f"/payments/{paid.pay_code}"))
    await expect(page.get_by_role("button", name="Refund ₦100.00", exact=True)).to_be_visible()
    await page.get_by_role("radio", name="Another amount").check()
    await expect(page.get_by_role("button", name="Refund", exact=True)).to_be_visible()
    await page.get_by_role("textbox", name="Amount in").fill("10")
    await page.get_by_label("Reason").fill("one item less")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/refunds/*")
    assert "₦10.00" in await page.content()
    assert await people.admin.fetchval("SELECT count(*) FROM refund") == 1
