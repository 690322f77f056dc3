"""The TypeScript client as a script of a page: what a payer may do, it does without a key."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser, Route

from clients import node
from conftest import MakeCheckout

PROGRAM = """async (payCode) => {
  const { ConfigurationError, Tidegate } = await import("/client/index.js");
  const client = new Tidegate({ baseUrl: location.origin });
  const refused = (work) => { try { work(); } catch (error) { return error instanceof ConfigurationError; } };
  const { amount } = await client.checkouts.get(payCode);
  let sent;
  const noting = (url, options) => { sent = Object.keys(options.headers); return fetch(url, options); };
  await new Tidegate({ baseUrl: location.origin, fetch: noting }).checkouts.get(payCode);
  return [amount, await client.checkouts.get("nothing").catch((error) => error.name),
    refused(() => new Tidegate({ baseUrl: location.origin, secretKey: "sk_test_x" })), sent];
}"""


async def test_a_page_reads_a_payment(browser: Browser, new_checkout: MakeCheckout, base_url: str) -> None:
    checkout = await new_checkout(amount=2500)

    async def answer(route: Route) -> None:
        name = Path(route.request.url).name
        if name.endswith(".js"):
            await route.fulfill(path=node.CLIENT / "src" / name, content_type="text/javascript")
        elif name == "page":
            await route.fulfill(body="<!doctype html><title>Shop</title>", content_type="text/html")
        else:
            await route.continue_()

    page = await browser.new_page()
    await page.route("**/*", answer)
    await page.goto(f"{base_url}/page")
    # With another header, a page of another origin would first ask whether it may be sent.
    assert await page.evaluate(PROGRAM, checkout.pay_code) == [2500, "NotFound", True, ["accept"]]
