"""The demo shop in a real browser, in front of a real sandbox: every button does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest
from examples.shop.cases import BY_NAME, CASES
from playwright.async_api import Browser, Page, expect

from browser import DESK, PHONE, chromium
from browser_axe import assert_accessible
from process import free_port, stop, tidegate, wait_until_ready

ROOT = Path(__file__).parents[2]
STARTS_WITHIN_S = 120


@pytest.fixture(scope="module")
def shop_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("demo")
    port, shop_port = free_port(), free_port()
    base_url, url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{shop_port}"
    sandbox = tidegate("dev", TIDEGATE_HOME=str(home), PORT=str(port), TIDEGATE_BASE_URL=base_url)
    try:
        wait_until_ready(base_url, sandbox)
        shop = subprocess.Popen(
            [sys.executable, "-m", "examples.shop"],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT / "clients" / "python" / "src"),
                "TIDEGATE_HOME": str(home),
                "TIDEGATE_URL": base_url,
                "SHOP_PORT": str(shop_port),
                "SHOP_URL": url,
            },
        )
        try:
            wait_until_open(url, shop)
            yield url
        finally:
            shop.terminate()
            shop.wait()
    finally:
        stop(sandbox)


def wait_until_open(url: str, process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < ends_at:
        assert process.poll() is None, "the shop has ended"
        try:
            urllib.request.urlopen(url)
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the shop did not open")


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as opened:
        yield opened


@pytest.fixture
async def page(browser: Browser, shop_url: str) -> AsyncIterator[Page]:
    context = await browser.new_context(base_url=shop_url, viewport={"width": DESK, "height": 900})
    yield await context.new_page()
    await context.close()


async def test_every_button_ends_as_expected(page: Page) -> None:
    """All forms are sent first, and the orders looked at afterwards: they are played side by side."""
    await page.goto("/")
    buttons = page.locator("[data-case]")
    assert await buttons.count() == len(CASES)
    forms = await buttons.evaluate_all("buttons => buttons.map(button => button.form.action)")
    orders = [(await page.request.post(form, max_redirects=0)).headers["location"] for form in forms]
    for url in orders:
        await page.goto(url)
        await expect(page.locator("[data-as-expected]")).to_be_visible()
        await expect(page.get_by_text("could not be played")).to_have_count(0)


async def test_buttons_are_pressed_as_a_person_does(page: Page) -> None:
    """One after the other, on a phone: each press leads to its order, which says what comes of it."""
    await page.set_viewport_size({"width": PHONE, "height": 844})
    await page.goto("/")
    for name in ("transfer-too-little", "card-pin-and-otp", "customer-cancels"):
        await page.locator(f"[data-case={name}]").click()
        await expect(page.locator("[data-as-expected]")).to_be_visible()
        await expect(page.locator("[data-state]")).to_have_text(BY_NAME[name].expected)
        await expect(page.locator(f"[data-case={name}].pressed")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "light"), (DESK, "dark")])
async def test_pages_are_accessible_and_fit(page: Page, width: int, scheme: Literal["light", "dark"]) -> None:
    await page.set_viewport_size({"width": width, "height": 900})
    await page.emulate_media(color_scheme=scheme)
    await page.goto("/")
    await page.get_by_role("button", name="Buy House blend").click()
    for path in (page.url, "/", "/orders", "/log"):
        await page.goto(path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await assert_accessible(page, has_many_alike=True)


@pytest.mark.parametrize("width", [PHONE, DESK])
async def test_a_customer_buys_in_the_dialog(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 900})
    await page.goto("/")
    await page.get_by_role("button", name="Buy House blend").click()
    await page.get_by_role("link", name="Pay ₦8,500.00").click()
    frame = page.frame_locator("dialog iframe")
    await frame.get_by_role("tab", name="Card").click()
    await page.wait_for_timeout(600)  # Just after it has opened, a press does nothing.
    for name, text in {"number": "5319317801366660", "expiry": "1240", "cvv": "123", "holder": "Ada Obi"}.items():
        await frame.locator(f"#main [name={name}]").fill(text)
    await frame.locator("#main").get_by_role("button", name="Pay ").click()
    await expect(frame.get_by_role("heading", name="paid")).to_be_visible()
    await page.get_by_role("button", name="Close", exact=True).click()
    await expect(page.locator("[data-state]")).to_have_text("delivered")
    await expect(page.get_by_text("charge.successful arrived, its signature fits")).to_be_visible()
