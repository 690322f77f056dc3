"""Tables with long words and large amounts, in a real browser: the words give way, the money is seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from browser import chromium
from build import Shop
from conftest import MakeCheckout
from dashboard.people import People
from dashboard.test_browser import visit
from tidegate.member.permission import Role

pytestmark = pytest.mark.usefixtures("unlimited")

PAGES = ("/payments", "/refunds", "/wallets/NGN")
# By how many pixels the table is wider than its card.
TOO_WIDE = "() => { const box = document.querySelector('main .flush'); return box.scrollWidth - box.clientWidth; }"


async def test_no_amount_is_cut_off_beside_long_words(people: People, shop: Shop, new_checkout: MakeCheckout) -> None:
    owner = await people.person(shop, Role.OWNER, name="Oluwaseun Adebayo-Ogunlesi Nwachukwu")
    references = [f"MARKETPLACE-INVOICE-2026-11-18-LAGOS-MAINLAND-{number:06}" for number in range(3)]
    email = "oluwaseun.adebayo-ogunlesi.nwachukwu@department-of-sales.example.com"
    customer = {"name": owner.member.name, "email": email}
    for reference, paid in zip(references, ("9876543.21", "7654321.09", "8765432.00"), strict=True):
        checkout = await new_checkout(shop, reference=reference, amount=8_765_432, customer=customer)
        await checkout.transfer(await checkout.account(), paid)
        at = f"/payments/{checkout.pay_code}"
        sent = await owner.send(f"{at}/refund", at=at, what="part", amount="1234567.89", reason="Too much")
        assert sent.status_code == 303
    async with chromium() as browser:
        page = await visit(browser, owner, people.base_url)
        for below in PAGES:
            await page.goto(owner.path(below))
            for width in (1280, 1440, 390):
                await page.set_viewport_size({"width": width, "height": 900})
                if folder := os.environ.get("TIDEGATE_SHOTS"):
                    name = below.strip("/").replace("/", "-")
                    for theme in ("light", "dark"):
                        await page.emulate_media(color_scheme=theme)
                        await page.screenshot(path=Path(folder) / f"wide-{name}-{theme}-{width}.png", full_page=True)
                assert await page.evaluate(TOO_WIDE) <= 0, (below, width)
        await page.goto(owner.path("/refunds"))
        shown = await page.inner_text("main table")
        assert [reference for reference in references if reference not in shown] == []
