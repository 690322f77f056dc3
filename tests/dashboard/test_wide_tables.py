"""Tables with long words and large amounts, in a real browser: the words give way, the money is seen."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser

from build import Shop
from conftest import MakeCheckout
from dashboard.people import People, SignedInPerson
from dashboard.test_browser import visit
from inflow import CLOSE, DIFFERENT, Inflows, credit
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

PAGES = (
    "/payments", "/refunds", "/wallets/NGN", "", "/refunds?status=failed", "/inflows?days=returned", "/links",
    "/webhooks",
    "/audit", "/developers", "/find?q=MARKETPLACE", "/takings?currency=NGN", "/wallets",
    "/payments?q=reference:nothing&status=failed", "/payments?q=%3E6+%3C5", "/refunds?from=x&tab=y",
    "/inflows?status=x&status=y",
)  # fmt: skip
# By how many pixels the widest list, or the page, is wider than where it stands.
TOO_WIDE = """() => Math.max(...[...document.querySelectorAll('main .flush'), document.documentElement].map(
    (box) => box.scrollWidth - box.clientWidth))"""
# Of the fields of a form: one that is wider than its place covers the next one.
WIDER_THAN_ITS_PLACE = """() => [...document.querySelectorAll('.field > :is(input, select)')].filter(
    (one) => one.offsetWidth > one.parentElement.offsetWidth).map((one) => one.name)"""
LONG = "MARKETPLACE-INVOICE-2026-11-18-LAGOS-MAINLAND"


@pytest.fixture
async def long_words(people: People, shop: Shop, inflows: Inflows, new_checkout: MakeCheckout) -> SignedInPerson:
    """The owner of a business where everything has a long name."""
    admin = people.admin
    await admin.execute("UPDATE business SET name = $2 WHERE id = $1", shop.business_id, f"{LONG} Limited")
    owner = await people.person(shop, Role.OWNER, name="Oluwaseun Adebayo-Ogunlesi Nwachukwu")
    number = await inflows.number(holder="Wolfeschlegelsteinhausenbergerdorff Obi")
    payer = {"name": "Wolfeschlegelsteinhausenbergerdorffwelchevoralternwaren", "accountNumber": "1", "bankName": "B"}
    for name in (DIFFERENT, CLOSE):
        await inflows.notified(credit(number, 987_654_321, payeeName=name, payer={**payer, "bankCode": None}))
    made = await owner.make_link(name=f"{LONG}-TICKETS", amount="98765432")
    assert made.status_code == 303, made.text[-3000:]
    await owner.send(
        "/webhooks/endpoints", at="/webhooks", url=f"https://hooks.example.com/{LONG.lower()}/{LONG.lower()}"
    )
    await shop.create({"reference": f"{LONG}-WRONG", "amount": -1})
    return owner


async def test_no_amount_is_cut_off_beside_long_words(
    browser: Browser, new_checkout: MakeCheckout, long_words: SignedInPerson, inflows: Inflows
) -> None:
    owner = long_words
    references = [f"{LONG}-{number:018}" for number in range(3)]
    email = "oluwaseun.adebayo-ogunlesi.nwachukwu@department-of-sales.example.com"
    customer = {"name": owner.member.name, "email": email}
    for reference, paid in zip(references, ("9876543.21", "7654321.09", "8765432.00"), strict=True):
        checkout = await new_checkout(inflows.shop, reference=reference, amount=8_765_432, customer=customer)
        await checkout.transfer(await checkout.account(), paid)
        at = f"/payments/{checkout.pay_code}"
        sent = await owner.send(f"{at}/refund", at=at, what="part", amount="1234567.13", reason="Too much")
        assert sent.status_code == 303
    # Refunds that end in .13 are declined.
    await checkout.tick()
    await checkout.let_pass("5s")
    assert await inflows.deliver() > 0
    page = await visit(browser, owner, str(owner.client.base_url))
    wide: dict[tuple[str, int], int] = {}
    for below in PAGES:
        await page.goto(owner.path(below))
        for width in (1280, 1440, 390):
            await page.set_viewport_size({"width": width, "height": 900})
            if folder := os.environ.get("TIDEGATE_SHOTS"):
                name = re.sub(r"\W+", "-", below.strip("/")) or "home"
                for theme in ("light", "dark"):
                    await page.emulate_media(color_scheme=theme)
                    await page.screenshot(path=Path(folder) / f"wide-{name}-{theme}-{width}.png", full_page=True)
            if (pixels := await page.evaluate(TOO_WIDE)) > 0:
                wide[below, width] = pixels
        # The last width is a phone's. The name of the business leaves room for the menu.
        menu = await page.locator(".top summary").bounding_box()
        assert menu is not None
        assert menu["height"] <= 44
    assert wide == {}
    await page.goto(owner.path("/webhooks/replay"))
    assert await page.evaluate(WIDER_THAN_ITS_PLACE) == []
    await page.goto(owner.path("/refunds"))
    shown = await page.inner_text("main table")
    assert [reference for reference in references if reference not in shown] == []
