"""From the desk to the phone: a code to scan beside the payment."""

from __future__ import annotations

import re

import httpx
import pytest
import segno
from playwright.async_api import expect

from browser import DESK, PHONE
from pages.payer import Payer, hearing
from pages.stage import Stage

PATH = re.compile(r' d="([^"]+)"')


async def test_on_a_desk_a_code_to_scan_leads_to_the_same_payment(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"width": DESK})
    code = payer.page.get_by_role("img", name="QR code with the link of this payment")
    await expect(code).to_be_visible()
    await expect(payer.page.get_by_text("Scan to go on with your phone")).to_be_visible()
    assert await code.evaluate("image => image.decode().then(() => image.naturalWidth > 0)")
    await payer.page.emulate_media(media="print")
    await expect(code).to_be_hidden()


async def test_the_code_holds_the_link_that_the_merchant_was_given(stage: Stage) -> None:
    checkout = await stage.new_payment()
    answer = await checkout.shop.client.get(f"{checkout.link}/qr.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "script-src" in answer.headers["content-security-policy"]
    wanted = segno.make(checkout.link, error="m", micro=False).svg_inline(border=4)
    assert PATH.findall(answer.text)[-1] == PATH.findall(wanted)[-1]


async def test_a_phone_does_not_load_the_code(stage: Stage) -> None:
    page = await stage.new_page(width=PHONE)
    loaded: list[str] = []
    with hearing(page, "request", lambda request: loaded.append(request.url)):
        await page.goto((await stage.new_payment()).link, wait_until="networkidle")
    assert any(url.endswith(".js") for url in loaded)
    assert [url for url in loaded if "qr.svg" in url] == []
    await expect(page.locator(".scan")).to_be_hidden()


async def test_a_payment_that_has_ended_has_no_code(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"width": DESK})
    await expect(payer.page.locator(".scan")).to_be_visible()
    await payer.gives_up()
    await payer.sees("You cancelled this payment")
    await expect(payer.page.locator(".scan")).to_have_count(0)


@pytest.mark.parametrize("pay_code", ["tg_abc", "x" * 3_000, "%3Csvg%3E"])
async def test_there_is_a_code_of_pay_codes_alone(payer_client: httpx.AsyncClient, pay_code: str) -> None:
    assert (await payer_client.get(f"/pay/{pay_code}/qr.svg")).status_code == 404
