"""What scenes of the hosted page are made of: one shop, one order, and what is changed about them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Page

from browser import TIMEOUT_MS
from pages.payer import Payer
from pages.stage import LinkedCheckout, Stage

Scene = Callable[[Stage], Awaitable[Page]]

SHOP: dict[str, Any] = {"name": "Lekki Coffee Roasters", "support_email": "hello@lekkicoffee.example"}
ORDER: dict[str, Any] = {
    "amount": 10_000,
    "reference": "LCR-20418",
    "metadata": {"description": "2 × House blend, 1 kg"},
}
BACK = "https://lekkicoffee.example/thanks"
# One currency has each of the methods.
KENYAN: dict[str, Any] = {"currency": "KES", "amount": 3_500}
# An answer with an error is one that the page shows, and that Chromium complains of.
ANSWERED_WITH = "the server responded with a status of {}"


async def new_order(stage: Stage, *, shop: dict[str, Any] | None = None, **order: Any) -> LinkedCheckout:
    return await stage.new_payment(settings={**SHOP, **(shop or {})}, **{**ORDER, **order})


async def seen(stage: Stage, checkout: LinkedCheckout, query: str = "", **window: Any) -> Page:
    """The page as it stands for somebody who opens it now."""
    page = await stage.new_page(**window)
    await page.goto(checkout.link + query)
    return page


async def paying(
    stage: Stage, query: str = "", *, refused: int | None = None, window: dict[str, Any] | None = None, **order: Any
) -> Payer:
    """Somebody at the page of a new order, who is going to do something there."""
    checkout = await new_order(stage, **order)
    options = {"allowed": [ANSWERED_WITH.format(refused)]} if refused else {}
    return Payer(await seen(stage, checkout, query, **options, **(window or {})), checkout)


async def charged(stage: Stage, body: dict[str, Any], **order: Any) -> LinkedCheckout:
    checkout = await new_order(stage, **order)
    answer = await checkout.charge(body)
    assert answer.is_success, answer.text
    return checkout


async def transferred(stage: Stage, *amounts: int, **order: Any) -> LinkedCheckout:
    """To the account of a new order, one after the other."""
    checkout = await new_order(stage, **order)
    account = await checkout.account()
    for amount in amounts:
        await checkout.transfer(
            account,
            str(amount),
            currency=order.get("currency", "NGN"),
            payer={"name": "Ada Obi", "bankName": "Zenith Bank", "accountNumber": "2034564471"},
        )
    return checkout


async def taken_back(stage: Stage, **order: Any) -> LinkedCheckout:
    """Paid by transfer, which the bank takes back."""
    checkout = await new_order(stage, **order)
    transaction = f"BANK-{checkout.pay_code}"
    await checkout.transfer(await checkout.account(), "10000", reference=transaction)
    answer = await checkout.sandbox(f"transfers/{transaction}/reverse")
    assert answer.is_success, answer.text
    await checkout.tick()
    return checkout


async def later(stage: Stage, checkout: LinkedCheckout, duration: str, pattern: str, **window: Any) -> Page:
    """The page when time has passed and it says so: each server looks at the sandbox's clock in its own time."""
    await checkout.let_pass(duration)
    page = await seen(stage, checkout, **window)
    async with asyncio.timeout(TIMEOUT_MS / 1000):
        while not re.search(pattern, await page.inner_text("#main")):
            await page.reload()
    return page
