"""The hosted page in a dialog of a shop's page, which is of another site than ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import FrameLocator, Page, expect

from browser import ANOTHER_SITE, PATIENCE
from checkout.paying import SUCCEEDS, WANTS_3DS, WITHOUT_MONEY
from pages.stage import LinkedCheckout, Stage

# Its own host, and what Chromium says about a frame that is refused.
ALLOWED = (ANOTHER_SITE, "frame-ancestors", "status of 403", "status of 422", "ERR_BLOCKED_BY_RESPONSE", "autofocusing")
HTML = """<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>Shop</title>
<script nonce="n">{patience}</script><script src="{base}/checkout/v1.js"></script>
<a id="pay" href="{link}" data-return-url="">Pay</a>
<script nonce="n">
window.told = [];
document.getElementById("pay").addEventListener("click", (event) => {{
  event.preventDefault();
  window.opened = Tidegate.checkout(event.target.href, {{
    onReady: () => told.push("ready"), onSuccess: (it) => told.push(it), onFailure: (it) => told.push(it),
    onClose: (it) => told.push("closed " + it.status),
  }});
}});
</script>"""

OpenShop = Callable[..., Awaitable[Page]]


@dataclass
class ShopServer:
    """One page, of another site than ours."""

    origin: str = ""
    page: bytes = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(self.page)
            await writer.drain()
        writer.close()


@pytest.fixture
async def shop_server() -> AsyncIterator[ShopServer]:
    shop = ShopServer()
    server = await asyncio.start_server(shop.serve, "127.0.0.1", 0)
    shop.origin = f"http://{ANOTHER_SITE}:{server.sockets[0].getsockname()[1]}"
    yield shop
    server.close()


@pytest.fixture
def open_shop(stage: Stage, pages_url: str, shop_server: ShopServer) -> OpenShop:
    async def open_it(
        checkout: LinkedCheckout, *, lang: str = "en", link: str | None = None, is_patient: bool = True, **options: Any
    ) -> Page:
        page = await stage.new_page(allowed=ALLOWED, **options)
        policy = f"default-src 'none'; script-src {pages_url} 'nonce-n'; frame-src {pages_url}"
        patience = PATIENCE if is_patient else ""
        body = HTML.format(base=pages_url, link=link or checkout.link, lang=lang, patience=patience).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-security-policy: {policy}\r\n"
        shop_server.page = f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body
        await page.goto(f"{shop_server.origin}/basket")
        return page

    return open_it


@pytest.fixture
async def checkout(stage: Stage, shop_server: ShopServer) -> LinkedCheckout:
    return await new_payment(stage, shop_server.origin)


async def new_payment(stage: Stage, origin: str) -> LinkedCheckout:
    settings = {"checkout_origins": [origin]}
    return await stage.new_payment(settings=settings, redirectUrl="https://shop.example.com/thanks")


async def opened(page: Page) -> FrameLocator:
    await page.get_by_role("link", name="Pay", exact=True).click()
    frame = page.frame_locator("dialog iframe")
    await expect(frame.locator("#page")).to_be_visible()
    await page.wait_for_function("() => told.includes('ready')")
    await listens(page)
    return frame


async def listens(page: Page) -> None:
    """Just after it has been loaded, a press in the frame does nothing."""
    await page.frames[-1].wait_for_function("""() => {
        const loaded = performance.getEntriesByType("navigation")[0].loadEventEnd;
        return loaded > 0 && performance.now() - loaded > 600;
    }""")


async def pay_by_card(frame: FrameLocator, number: str = SUCCEEDS) -> None:
    tab = frame.get_by_role("tab", name="Card")
    if await tab.count():
        await tab.click()
    for name, text in {"number": number, "expiry": "1240", "cvv": "123", "holder": "Ada Obi"}.items():
        await frame.locator(f"#main [name={name}]").fill(text)
    await frame.locator("#main").get_by_role("button", name="Pay ").click()


# Below its last line is no more than a margin.
IS_FILLED = """() => {
    const dialog = document.querySelector("dialog");
    return Math.abs(dialog.lastChild.getBoundingClientRect().bottom - dialog.getBoundingClientRect().bottom) < 8;
}"""


@pytest.mark.parametrize("width", [390, 1280])
async def test_a_payment_in_the_dialog(checkout: LinkedCheckout, open_shop: OpenShop, width: int) -> None:
    page = await open_shop(checkout, width=width)
    frame = await opened(page)
    await page.wait_for_function(IS_FILLED)
    await pay_by_card(frame)
    await expect(frame.get_by_role("heading", name="paid")).to_be_visible()
    await page.wait_for_function("() => told.length > 1")
    assert await page.evaluate("told[1]") == {
        "status": "success", "reference": checkout.reference, "payCode": checkout.pay_code,
    }  # fmt: skip
    assert (await checkout.record())["status"] == "success"
    assert await page.context.cookies() == []
    # The frame goes nowhere by itself: the shop takes its customer on.
    await expect(frame.get_by_role("link", name="Back to")).to_have_count(0)
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator("dialog")).to_have_count(0)
    assert await page.evaluate("told.at(-1)") == "closed success"
    assert await page.evaluate("document.activeElement.id") == "pay"
    assert page.url.endswith("/basket")


async def test_a_declined_card_can_be_tried_again_in_the_dialog(checkout: LinkedCheckout, open_shop: OpenShop) -> None:
    frame = await opened(await open_shop(checkout))
    await pay_by_card(frame, WITHOUT_MONEY)
    await expect(frame.get_by_role("alert").first).to_be_visible()
    await pay_by_card(frame)
    await expect(frame.get_by_role("heading", name="paid")).to_be_visible()


async def test_an_origin_that_is_not_listed_is_sent_to_the_page_itself(stage: Stage, open_shop: OpenShop) -> None:
    checkout = await new_payment(stage, "https://other.example.com")
    page = await open_shop(checkout, is_patient=False)
    await page.get_by_role("link", name="Pay", exact=True).click()
    await page.wait_for_url(checkout.link)
    await expect(page.locator("#main")).to_be_visible()


async def test_the_banks_page_takes_the_whole_window(checkout: LinkedCheckout, open_shop: OpenShop) -> None:
    page = await open_shop(checkout)
    await pay_by_card(await opened(page), WANTS_3DS)
    await page.wait_for_url(f"{checkout.link}**")


async def test_the_language_stays_inside_the_frame(checkout: LinkedCheckout, open_shop: OpenShop) -> None:
    """And the dialog around it follows."""
    page = await open_shop(checkout, lang="fr-FR")
    frame = await opened(page)
    await expect(frame.locator("html")).to_have_attribute("lang", "fr")
    dialog = page.get_by_role("dialog", name="Paiement")
    await expect(dialog.get_by_role("button", name="Fermer")).to_be_visible()
    await frame.locator("#lang").select_option("ar")
    await expect(page.locator("dialog[dir=rtl]").get_by_role("link", name="فتح في صفحة كاملة")).to_be_visible()
    await frame.locator("#lang").select_option("sw")
    await expect(frame.locator("html")).to_have_attribute("lang", "sw")
    await listens(page)
    await frame.locator("[data-tab=bank_transfer]").click()
    await frame.locator("#main form[action$='/charge']:visible button").click()
    await expect(frame.locator("#main form[action$='/sent']")).to_be_visible()
    await expect(frame.locator("html")).to_have_attribute("lang", "sw")


async def test_giving_up_is_asked_about_inside_the_frame(checkout: LinkedCheckout, open_shop: OpenShop) -> None:
    page = await open_shop(checkout)
    frame = await opened(page)
    await frame.locator("form[action$='/cancel'] button").click()
    await frame.locator("input[name=sure] + button").click()
    await page.wait_for_function("() => told.length > 1")
    assert (await page.evaluate("told[1]"))["status"] == "failed"


async def test_forged_messages_are_not_heard(checkout: LinkedCheckout, open_shop: OpenShop) -> None:
    page = await open_shop(checkout)
    await opened(page)
    await page.evaluate("""() => {
        const id = document.querySelector("iframe").src.split("/embed/")[1].split(".")[0];
        postMessage({ source: "tidegate", v: 1, id, type: "end", status: "success" }, "*");
        postMessage({ source: "tidegate", v: 1, id, type: "leave", url: "https://evil.example" }, "*");
        return new Promise((done) => {
            addEventListener("message", () => setTimeout(done, 50));
            postMessage("last", "*");
        });
    }""")
    assert await page.evaluate("told") == ["ready"]


async def test_a_link_of_somebody_else_is_refused(checkout: LinkedCheckout, open_shop: OpenShop) -> None:
    page = await open_shop(checkout)
    for link in ("https://evil.example/pay/x", "/pay/x", "javascript:alert(1)"):
        said = await page.evaluate(
            "(link) => { try { Tidegate.checkout(link) } catch (error) { return error.name } }", link
        )
        assert said == "TypeError", link


async def test_a_link_that_the_script_does_not_take_is_a_plain_one(
    checkout: LinkedCheckout, open_shop: OpenShop
) -> None:
    page = await open_shop(checkout)
    link = f"{checkout.link}?lang=fr"
    await page.evaluate(
        """(href) => {
            const link = Object.assign(document.createElement("a"), { href, textContent: "Payer" });
            link.dataset.tidegate = "";
            document.body.append(link);
        }""",
        link,
    )
    await page.get_by_role("link", name="Payer").click()
    await page.wait_for_url(link)


async def test_escape_closes_it(checkout: LinkedCheckout, open_shop: OpenShop) -> None:
    page = await open_shop(checkout)
    await opened(page)
    await page.get_by_role("button", name="Close").focus()
    await page.keyboard.press("Escape")
    await expect(page.locator("dialog")).to_have_count(0)
    assert await page.evaluate("told.at(-1)") == "closed closed"
