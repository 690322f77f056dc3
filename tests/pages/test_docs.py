"""The documentation in a browser: languages, search, dark and light; and without script."""

from __future__ import annotations

import asyncio
import re
from typing import Literal

import pytest
from playwright.async_api import Page, Route, ViewportSize, expect

from browser import PHONE
from browser_axe import assert_accessible
from pages.stage import Stage

DESK: ViewportSize = {"width": 1280, "height": 900}


async def opened(stage: Stage, path: str, **options: bool) -> Page:
    page = await stage.new_page(**options)
    await page.set_viewport_size(DESK)
    await page.goto(path)
    return page


# One of each template.
KINDS = (
    "/docs", "/docs/guides/receive-webhooks", "/docs/reference", "/docs/reference/create-payment",
    "/docs/reference/errors", "/docs/reference/events/charge.successful", "/docs/changelog", "/docs/search?q=refund",
)  # fmt: skip


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (DESK["width"], "dark")])
async def test_pages_are_accessible_fit_and_keep_their_own_policy(
    stage: Stage, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = await stage.new_page()
    await page.set_viewport_size({"width": width, "height": 900})
    await page.emulate_media(color_scheme=scheme)
    refused: list[str] = []
    page.on("console", lambda said: refused.append(said.text) if "Content Security Policy" in said.text else None)
    for path in KINDS:
        await page.goto(path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        await assert_accessible(page, has_many_alike=True)
    assert refused == []


async def test_the_chosen_language_is_kept_from_page_to_page(stage: Stage) -> None:
    page = await opened(stage, "/docs/guides/accept-a-payment")
    await expect(page.locator(".sample[data-lang=sh]").first).to_be_visible()
    await page.locator("main").get_by_text("Python", exact=True).first.click()
    await expect(page.locator(".sample[data-lang=python]").first).to_be_visible()
    await expect(page.locator(".sample[data-lang=sh]").first).to_be_hidden()
    await page.goto("/docs/reference/create-payment")
    await expect(page.locator(".sample[data-lang=python]")).to_be_visible()


async def test_languages_search_and_fields_work_without_script(stage: Stage) -> None:
    page = await opened(stage, "/docs/guides/accept-a-payment", javascript=False)
    await page.locator("main").get_by_text("Node", exact=True).first.click()
    await expect(page.locator(".sample[data-lang=js]").first).to_be_visible()
    await page.goto("/docs/reference/create-payment")
    await page.get_by_text(re.compile("^3 fields: name, email")).first.click()
    await expect(page.locator("#body-customer-email")).to_be_visible()
    await page.get_by_role("searchbox").fill("varianceType")
    await page.get_by_role("searchbox").press("Enter")
    await expect(page.get_by_role("heading", name="Search")).to_be_visible()
    await expect(page.locator(".index a").first).to_have_attribute(
        "href", "/docs/reference/verify-payment#answer-varianceType"
    )


async def test_search_finds_while_one_types(stage: Stage) -> None:
    page = await opened(stage, "/docs")
    await page.keyboard.press("/")
    await page.keyboard.type("duplicate_ref")
    first = page.locator(".results a").first
    await expect(first).to_contain_text("DUPLICATE_REFERENCE")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("/docs/reference/errors#duplicate-reference$"))


async def test_an_index_that_comes_late_is_searched_for_what_is_typed_by_then(stage: Stage) -> None:
    page = await opened(stage, "/docs")
    asked, may_come = [], asyncio.Event()

    async def late(route: Route) -> None:
        asked.append(route.request.url)
        await may_come.wait()
        await route.continue_()

    address = await page.evaluate("new URL(document.body.dataset.search, location.href).href")
    await page.route(address, late)
    await page.keyboard.press("/")
    await page.keyboard.type("duplicate")
    await page.keyboard.type("_ref")
    may_come.set()
    await expect(page.locator(".results a").first).to_contain_text("DUPLICATE_REFERENCE")
    assert len(asked) == 1


@pytest.mark.parametrize("query", ["overpaid refunds", "varianceType", "status", "rotateSecret", "refrence", "amuont"])
async def test_the_script_finds_what_the_server_finds(stage: Stage, query: str) -> None:
    page = await opened(stage, f"/docs/search?q={query}")
    by_server = await page.locator(".index a").evaluate_all("links => links.map(link => link.href)")
    await page.get_by_role("searchbox").fill(query)
    await expect(page.locator(".results a").first).to_be_visible()
    by_script = await page.locator(".results a").evaluate_all("links => links.map(link => link.href)")
    assert by_script
    assert by_script == by_server[: len(by_script)]


async def test_dark_is_kept(stage: Stage) -> None:
    page = await opened(stage, "/docs")
    light = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    await page.get_by_role("button", name="Light or dark").click()
    dark = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    await page.goto("/docs/guides/refund")
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


async def test_the_menu_of_a_phone_opens_without_script(stage: Stage) -> None:
    page = await stage.new_page(javascript=False)
    await page.goto("/docs/guides/refund")
    await expect(page.get_by_role("link", name="Go live")).to_be_hidden()
    await page.get_by_text("Menu", exact=True).click()
    await expect(page.get_by_role("link", name="Go live")).to_be_visible()
