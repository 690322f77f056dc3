"""Whatever a merchant or a customer is called, and whatever they write: it is text, and nothing of it runs."""

from __future__ import annotations

import asyncio
import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from playwright.async_api import Page, expect

from checkout.paying import card
from pages.hostile import PAYLOADS, REFERENCES
from pages.payer import Payer, hearing
from pages.stage import LinkedCheckout, Stage

BUSINESS_NAME_LENGTH_MAX = 200
CUSTOMER_NAME_LENGTH_MAX = 200
MESSAGE_LENGTH_MAX = 5_000
DESCRIPTION_LENGTH_MAX = 140
IN_ONE_ORDER_LENGTH_MAX = 160
_numbers = itertools.count(1)


def packed(texts: Sequence[str], length_max: int) -> Iterator[str]:
    """Several in one, as many as there is room for."""
    pack = ""
    for text in texts:
        if pack and len(pack) + 1 + len(text) > length_max:
            yield pack
            pack = ""
        pack = f"{pack} {text}" if pack else text
    yield pack


def in_one_line(text: str) -> str:
    """As names must be."""
    return "".join(" " if unicodedata.category(each) in ("Cc", "Zl", "Zp") else each for each in text)


def order(*, name: str, customer: str, message: str, description: str) -> dict[str, Any]:
    return {
        "settings": {"name": in_one_line(name)[:BUSINESS_NAME_LENGTH_MAX]},
        "customer": {"name": in_one_line(customer)[:CUSTOMER_NAME_LENGTH_MAX], "email": "ada@example.com"},
        "successMessage": message or None,
        "metadata": {"description": description[:DESCRIPTION_LENGTH_MAX], "more": message[:500]},
    }


# In a real page, with everything that could run it.


MESSAGES = list(packed(PAYLOADS, MESSAGE_LENGTH_MAX))
NAMES = list(packed(PAYLOADS, BUSINESS_NAME_LENGTH_MAX))


def test_the_corpus_is_large() -> None:
    assert len(PAYLOADS) >= 200


@pytest.mark.parametrize("number", range(len(MESSAGES)))
async def test_nothing_runs(stage: Stage, number: int) -> None:
    name, customer, description = (NAMES[(number * 3 + offset) % len(NAMES)] for offset in range(3))
    asked_aloud: list[str] = []
    fields = order(name=name, customer=customer, message=MESSAGES[number], description=description)
    payer = await Payer.arrives(stage, **fields, reference=f"{REFERENCES[number % len(REFERENCES)]}{number}")
    page = payer.page
    with hearing(page, "dialog", lambda dialog: asked_aloud.append(dialog.message)):
        await shows(page, ".shop-name", fields["settings"]["name"])
        await shows(page, ".what:visible", fields["metadata"]["description"])
        # Put in place by the script, and again when the page is loaded as a whole.
        await payer.pays_by_card()
        await shows(page, ".message", MESSAGES[number])
        await page.reload()
        await shows(page, ".message", MESSAGES[number])
        await shows(page, ".shop-name", fields["settings"]["name"])
        await expect(page.locator("#main dd").filter(has_text=payer.checkout.reference)).to_be_visible()
        await payer.follows("Receipt")
        await expect(page.locator("#main dd").nth(1)).to_have_text(in_spaces(fields["customer"]["name"]))
        assert await page.evaluate("window.hasRun") is None
    assert asked_aloud == []


async def shows(page: Page, selector: str, text: str) -> None:
    await expect(page.locator(selector)).to_have_text(in_spaces(text))


def in_spaces(text: str) -> str:
    """As Playwright compares: what is white is a space, and what has no width is not there."""
    return " ".join(text.replace("\u200b", "").replace("\u00ad", "").split())


# Every text in every field, as Chromium reads the page.


READ = """pages => pages.map(html => {
    const read = new DOMParser().parseFromString(html, "text/html");
    const elements = [...read.querySelectorAll("*")];
    const text = selector => read.querySelector(selector)?.textContent ?? null;
    return {
        scripts: read.scripts.length,
        strange: elements.filter(element => element.matches("iframe, object, embed, base, math, video, template"))
            .map(element => element.outerHTML.slice(0, 80)),
        handlers: elements.flatMap(element => element.getAttributeNames()).filter(name => name.startsWith("on")),
        links: elements.map(element => element.getAttribute("href") ?? element.getAttribute("action") ?? "")
            .filter(link => !/^(\\/pay\\/|mailto:|data:,$|#|$)/.test(link)),
        name: text(".shop-name bdi"),
        description: text(".what bdi"),
        values: [...read.querySelectorAll("#main dd")].map(value => value.textContent),
    };
})"""


async def pages_of(stage: Stage, fields: dict[str, Any], gate: asyncio.Semaphore) -> tuple[str, str]:
    """Before it is paid, and the receipt. Each payer comes from an address of its own."""
    async with gate:
        checkout: LinkedCheckout = await stage.new_payment(**fields)
        number = next(_numbers)
        headers = {"x-forwarded-for": f"10.9.{number // 250}.{number % 250 + 1}"}
        client = checkout.shop.client
        server, _, path = checkout.link.partition("/pay/")
        opened = await client.get(checkout.link, headers=headers)
        charge = f"{server}/checkout/payments/{path}/charge"
        assert (await client.post(charge, json=card(), headers=headers)).is_success
        receipt = await client.get(f"{checkout.link}/receipt", headers=headers)
        return opened.text, receipt.text


async def test_every_text_is_shown_as_it_is_in_every_field(stage: Stage) -> None:
    # The messages are all in the tests above.
    packs = list(packed(PAYLOADS, IN_ONE_ORDER_LENGTH_MAX))
    orders = [order(name=text, customer=text, message="", description=text) for text in packs]
    gate = asyncio.Semaphore(8)
    drawn = await asyncio.gather(*(pages_of(stage, fields, gate) for fields in orders))
    blank = await stage.new_page()
    read = await blank.evaluate(READ, list(itertools.chain.from_iterable(drawn)))
    for fields, opened, receipt in zip(orders, read[::2], read[1::2], strict=True):
        for page in (opened, receipt):
            assert (page["scripts"], page["strange"], page["handlers"], page["links"]) == (1, [], [], []), fields
        assert opened["name"] == receipt["name"] == fields["settings"]["name"]
        assert opened["description"] == fields["metadata"]["description"]
        assert fields["customer"]["name"] in receipt["values"]
