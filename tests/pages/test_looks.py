"""How the hosted page treats those who look at it: by keyboard, on paper, in another language, with their ears."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from playwright.async_api import Page, expect

from browser import DESK
from pages.layout import assert_well_laid_out
from pages.payer import Payer
from pages.scenes import HOSTED_PAGE
from pages.stage import NewPage, Stage

STOPS_MAX = 60
FOCUSED = """async () => {
    await new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)));
    const element = document.activeElement;
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
    const { top, bottom } = element.getBoundingClientRect();
    const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && outlineColor !== "rgba(0, 0, 0, 0)";
    return {
        isBody: element === document.body,
        text: element.outerHTML.slice(0, 100),
        isSeen: isSeen && top >= 0 && bottom <= innerHeight,
    };
}"""
MOVING = "() => document.getAnimations().filter((animation) => animation.playState === 'running').length"
SHEET_OF_PAPER = re.compile(rb"/Type\s*/Page\b")


@pytest.mark.parametrize(
    "name", ["transfer-account", "card-wrong", "mobile-form", "ussd-form", "paid-by-card", "receipt"]
)
async def test_whoever_uses_a_keyboard_sees_where_they_are(name: str, still_stage: Stage) -> None:
    page = await HOSTED_PAGE[name](still_stage)
    await page.evaluate("document.activeElement.blur()")
    stops: list[dict[str, Any]] = []
    for _ in range(STOPS_MAX):
        await page.keyboard.press("Tab")
        stop = await page.evaluate(FOCUSED)
        if stop["isBody"]:
            break
        stops.append(stop)
    assert len(stops) > 2
    assert [stop["text"] for stop in stops if not stop["isSeen"]] == []


async def test_nothing_moves_for_those_who_want_no_motion(still_stage: Stage) -> None:
    page = await HOSTED_PAGE["transfer-account"](still_stage)
    assert await page.evaluate(MOVING) == 0
    await page.emulate_media(reduced_motion="no-preference")
    assert await page.evaluate(MOVING) > 0


async def test_what_happens_is_announced(stage: Stage) -> None:
    payer = await Payer.arrives(stage, amount=10_000)
    news = payer.page.locator("#status")
    await expect(news).to_have_attribute("aria-live", "polite")
    await payer.begins_transfer()
    await expect(news).to_have_text("Transfer exactly ₦10,000.00")
    await payer.presses("I have sent the money")
    await expect(news).to_contain_text("We are looking out for it")
    await payer.is_sent(10_000)
    await expect(news).to_have_text("₦10,000.00 paid")


async def test_a_language_is_chosen_and_kept(stage: Stage) -> None:
    payer = await Payer.arrives(stage, window={"locale": "fr"})
    await expect(payer.page.locator("html")).to_have_attribute("lang", "fr")
    await payer.page.get_by_label("Langue").select_option("ar")
    await expect(payer.page.locator("html")).to_have_attribute("dir", "rtl")
    await payer.page.goto(payer.checkout.link)
    await expect(payer.page.locator("html")).to_have_attribute("lang", "ar")


async def test_there_is_room_for_the_details_on_a_desk(stage: Stage) -> None:
    payer = await Payer.arrives(stage, feeBearer="customer")
    total = payer.page.get_by_text("You pay").first
    await expect(total).not_to_be_visible()
    await payer.page.get_by_text("View details").first.click()
    await expect(total).to_be_visible()
    payer = await Payer.arrives(stage, window={"width": DESK}, feeBearer="customer")
    await expect(payer.page.get_by_text("You pay").first).to_be_visible()


GROUPS_OF_DIGITS = """() => {
    const text = document.querySelector("#main .large bdi").firstChild;
    const lines = (from, to) => {
        const range = document.createRange();
        range.setStart(text, from);
        range.setEnd(text, to);
        return range.getClientRects().length;
    };
    return [...text.data.matchAll(/[0-9]+/g)].map(({ 0: digits, index }) => lines(index, index + digits.length));
}"""


async def test_an_account_number_keeps_its_groups_together_at_twice_the_size(still_stage: Stage) -> None:
    page = await HOSTED_PAGE["transfer-account"](still_stage)
    await page.set_viewport_size({"width": 195, "height": 422})
    assert await page.evaluate(GROUPS_OF_DIGITS) == [1, 1, 1]
    height = await page.locator("#main .large").evaluate(
        "e => e.offsetHeight / parseFloat(getComputedStyle(e).lineHeight)"
    )
    assert height < 1.5


# On paper.


async def receipt_on_paper(still_stage: Stage) -> Page:
    page = await HOSTED_PAGE["receipt-with-return"](still_stage)
    await page.emulate_media(media="print", color_scheme="dark")
    return page


@pytest.mark.usefixtures("slow_payouts")
async def test_a_printed_receipt_has_only_what_belongs_on_it(still_stage: Stage) -> None:
    page = await receipt_on_paper(still_stage)
    for text in ("Lekki Coffee Roasters", "₦10,150.50 paid", "LCR-20418", "is on its way back to you"):
        await expect(page.get_by_text(text).first).to_be_visible()
    for text in ("Test mode", "Save as PDF", "Print", "Back to the payment", "Secured by", "English"):
        await expect(page.get_by_text(text).first).not_to_be_visible()


async def test_a_printed_receipt_is_one_sheet_of_dark_ink_on_white(still_stage: Stage) -> None:
    page = await receipt_on_paper(still_stage)
    assert len(SHEET_OF_PAPER.findall(await page.pdf(format="A4"))) == 1
    colours = await page.evaluate(
        "[document.body, document.querySelector('h1')].map(e => getComputedStyle(e))"
        ".map((style, index) => index ? style.color : style.backgroundColor)"
    )
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]


@pytest.mark.parametrize(
    ("zone", "named"),
    [("Africa/Lagos", "WAT"), ("UTC", "UTC"), ("Asia/Kolkata", r"GMT\+5:30")],
    ids=["the payment's", "another", "half an hour off"],
)
async def test_a_time_on_a_receipt_names_its_zone_whatever_the_device_is_set_to(
    still_stage: Stage, zone: str, named: str
) -> None:
    stage = replace(still_stage, new_page=partial(still_stage.new_page, zone=zone))
    page = await HOSTED_PAGE["receipt"](stage)
    await expect(page.locator("time")).to_have_text(re.compile(rf"\d\d:\d\d {named}$"))


# The measuring itself.

PLANTED = """<!doctype html><html lang="en"><title>Planted</title><style>body {{ margin: 0 }} {style}</style>
<body><main><h1>Heading</h1>{body}</main></body></html>"""


@pytest.mark.parametrize(
    ("words", "style", "body"),
    [
        ("scrolls sideways", "p { width: 900px }", "<p>Wide</p>"),
        ("text does not fit", "button { width: 40px; white-space: nowrap }", "<button>Much longer</button>"),
        ("text is cut off", "button { width: 90px; height: 20px; overflow: hidden }", "<button>Far more text</button>"),
        ("text is too small", "p { font-size: 11px }", "<p>Small</p>"),
        ("id twice: one", "", "<p id=one>1</p><p id=one>2</p>"),
        ("2 × h1", "", "<h1>Another</h1>"),
        ("a heading of level 3", "", "<h3>Below nothing</h3>"),
        ("rtl in the language", "html { direction: rtl }", ""),
    ],
)  # fmt: skip
async def test_a_fault_of_layout_is_found(new_page: NewPage, words: str, style: str, body: str) -> None:
    page = await new_page()
    await page.set_content(PLANTED.format(style="", body="<p>Fine</p>"))
    await assert_well_laid_out(page)
    await page.set_content(PLANTED.format(style=style, body=body))
    with pytest.raises(AssertionError, match=words):
        await assert_well_laid_out(page)
