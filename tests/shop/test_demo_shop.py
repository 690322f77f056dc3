"""The demo shop in a real browser, in front of a real sandbox: every button does what it says."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from examples.shop.cases import BY_NAME
from examples.shop.shop import HOOK_PATH
from playwright.async_api import Browser, FrameLocator, Page, expect

from browser import DESK, PATIENCE, PHONE, open_context
from browser_axe import assert_accessible
from process import free_port, status_of, stop, tidegate, wait_until_ready
from tidegate_client import Tidegate

ROOT = Path(__file__).parents[2]
STARTS_WITHIN_S = 120
TABS = 4


class Demo(NamedTuple):
    shop_url: str
    sandbox_url: str
    home: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    home = tmp_path_factory.mktemp("demo")
    port, shop_port = free_port(), free_port()
    # Two sites: the checkout is framed by a stranger, and its cookies are third-party ones.
    base_url, url = f"http://127.0.0.1:{port}", f"http://localhost:{shop_port}"
    sandbox = tidegate("dev", TIDEGATE_HOME=str(home), PORT=str(port), TIDEGATE_BASE_URL=base_url)
    try:
        wait_until_ready(base_url, sandbox)
        shop = shop_at(url, home, TIDEGATE_URL=base_url)
        try:
            wait_until_open(url, shop)
            yield Demo(url, base_url, home)
        finally:
            stop(shop)
    finally:
        stop(sandbox)


def shop_at(url: str, home: Path, **environment: str) -> subprocess.Popen[str]:
    """`make demo` without the installing."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TIDEGATE_POSTGRES_BIN") if name in os.environ}
    own = {
        "PYTHONPATH": str(ROOT / "clients" / "python" / "src"),
        "TIDEGATE_HOME": str(home),
        "SHOP_PORT": url.rpartition(":")[2],
        "SHOP_URL": url,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "examples.shop"],
        cwd=ROOT,
        env={**inherited, **own, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_until_open(url: str, process: subprocess.Popen[str]) -> None:
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


def test_a_shop_that_is_terminated_stops_the_sandbox_it_started(tmp_path: Path) -> None:
    url, sandbox_url = f"http://localhost:{free_port()}", f"http://localhost:{free_port()}"
    shop = shop_at(url, tmp_path, PORT=sandbox_url.rpartition(":")[2])
    try:
        wait_until_open(url, shop)
        assert (tmp_path / "shop.url").read_text() == url
        assert status_of(f"{sandbox_url}/readyz") == 200
    finally:
        code = stop(shop)
    assert code == 0
    assert not (tmp_path / "shop.url").exists()
    assert status_of(f"{sandbox_url}/readyz") is None


def test_a_shop_finds_the_running_sandbox_and_replaces_only_its_own_endpoint(demo: Demo, tmp_path: Path) -> None:
    shutil.copy(demo.home / "sandbox.json", tmp_path)
    keys = json.loads((tmp_path / "sandbox.json").read_text())
    url = f"http://localhost:{free_port()}"
    hook_url = f"{url}{HOOK_PATH}"
    own = (keys["secretKey"], keys["publicKey"], keys["businessId"])
    with Tidegate(*own, base_url=demo.sandbox_url) as client:
        endpoints = client.webhooks.endpoints
        readers = endpoints.create(url=hook_url, description="The reader's own")
        earlier = endpoints.create(url=hook_url, description="Demo shop")
        shop = shop_at(url, tmp_path)
        try:
            wait_until_open(url, shop)
            now = {each.id: each.description for each in endpoints.list() if each.url == hook_url}
        finally:
            stop(shop)
        for endpoint_id in now:
            endpoints.delete(endpoint_id)
    assert now.pop(readers.id) == "The reader's own"
    assert earlier.id not in now
    assert [*now.values()] == ["Demo shop"]


def test_a_shop_whose_port_is_taken_says_so_and_does_not_open(demo: Demo, tmp_path: Path) -> None:
    said, _ = (shop := shop_at(demo.shop_url, tmp_path)).communicate()
    assert shop.returncode == 1
    port = demo.shop_url.rpartition(":")[2]
    assert said == f"Port {port} cannot be used: Address already in use. SHOP_PORT chooses another.\n"


@pytest.fixture
async def page(browser: Browser, demo: Demo) -> AsyncIterator[Page]:
    context = await open_context(browser, base_url=demo.shop_url, viewport={"width": DESK, "height": 900})
    yield await context.new_page()
    await context.close()


async def test_the_front_page_of_the_sandbox_leads_to_the_shop(page: Page, demo: Demo) -> None:
    await page.goto(demo.sandbox_url)
    await page.get_by_role("link", name="Demo shop").click()
    await expect(page).to_have_url(f"{demo.shop_url}/")


# Buttons that a press on their middle does not reach.
COVERED = """buttons => buttons.filter(button => {
  button.scrollIntoView({block: 'center'});
  const {x, y, width, height} = button.getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2) !== button;
}).map(button => button.dataset.case)"""
# Where the state alone would be the same without the case: what the shop must have seen.
SEEN = {
    "card-five-times-declined": "A sixth card was refused",
    "customer-pays-twice": "Paying again was refused",
    "customer-opens-the-return-address-by-hand": "The return address was opened by hand: 200",
    "webhook-twice": "charge.successful arrived again, dropped by webhook-id",
    "webhook-forged-signature": "A webhook was refused: wrong_signature",
    "webhook-shop-answers-500": "charge.successful arrived, and the shop answered 500",
    "server-and-time-same-order-again": "Created again: 409, with the first link",
}
# By ten minutes, in which codes of other cases would lapse: it is played after them.
MOVES_THE_CLOCK = "webhook-late-10-min"


async def test_every_button_ends_as_expected(page: Page) -> None:
    """Pressed on a phone, within reach on a desktop. Orders are looked at afterwards: they are played side by side."""
    await page.goto("/")
    buttons = page.locator("[data-case]")
    assert await buttons.evaluate_all(COVERED) == []
    names = await buttons.evaluate_all("buttons => buttons.map(button => button.dataset.case)")
    assert names == list(BY_NAME)
    names.remove(MOVES_THE_CLOCK)
    tabs = [page, *[await page.context.new_page() for _ in range(TABS - 1)]]
    shares = [pressed(tab, names[share::TABS]) for share, tab in enumerate(tabs)]
    orders = [found for share in await asyncio.gather(*shares) for found in share]
    for name, order in [*orders, *await pressed(page, [MOVES_THE_CLOCK])]:
        await ends_as_expected(page, name, order)


async def ends_as_expected(page: Page, name: str, order: str) -> None:
    text = await as_expected(page, order)
    assert f'<span class="hidden" data-state>{BY_NAME[name].expected}<' in text
    assert "could not be played" not in text
    assert SEEN.get(name, "") in text, name


async def pressed(tab: Page, names: list[str]) -> list[tuple[str, str]]:
    """Each with the address of its order. Until it has ended an order loads itself again, also while another page is
    being opened, so the next waits for that."""
    await tab.set_viewport_size({"width": PHONE, "height": 844})
    orders = []
    for name in names:
        await tab.goto("/", wait_until="commit")
        await tab.locator(f"[data-case={name}]").click()
        await tab.wait_for_url("**/orders/*", wait_until="commit")
        await expect(tab.locator("[data-as-expected]")).to_be_visible(timeout=1_000 * STARTS_WITHIN_S)
        await expect(tab.locator(".pressed")).to_have_attribute("data-case", name)
        orders.append((name, tab.url))
    return orders


async def as_expected(page: Page, order: str) -> str:
    """The order's page, once it says so."""
    ends_at = time.monotonic() + STARTS_WITHIN_S
    while True:
        text = await (await page.request.get(order)).text()
        if "data-as-expected" in text:
            return text
        assert time.monotonic() < ends_at, text
        await asyncio.sleep(0.1)


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
    await page.add_init_script(PATIENCE)
    await page.set_viewport_size({"width": width, "height": 900})
    await begin(page)
    frame = page.frame_locator("dialog iframe")
    await expect(frame.get_by_role("tab", name="Card")).to_be_visible()
    await page.wait_for_timeout(600)  # Just after it has opened, a press does nothing.
    await pay(frame)
    await page.get_by_role("button", name="Close", exact=True).click()
    await is_delivered(page)


async def test_a_customer_buys_on_the_hosted_page(page: Page) -> None:
    """Where the script does not arrive, the link is a link, and the hosted page leads back."""
    await page.route("**/checkout/v1.js", lambda route: route.abort())
    await begin(page)
    await pay(page)
    await page.get_by_role("link", name="Back to").click()
    await is_delivered(page)


async def begin(page: Page) -> None:
    await page.goto("/")
    await page.get_by_role("button", name="Buy House blend").click()
    await page.get_by_role("link", name="Pay ₦8,500.00").click()


async def pay(checkout: Page | FrameLocator) -> None:
    await checkout.get_by_role("tab", name="Card").click()
    for name, text in {"number": "5319317801366660", "expiry": "1240", "cvv": "123", "holder": "Ada Obi"}.items():
        await checkout.locator(f"#main [name={name}]").fill(text)
    await checkout.locator("#main").get_by_role("button", name="Pay ").click()
    await expect(checkout.get_by_role("heading", name="paid")).to_be_visible()


async def is_delivered(page: Page) -> None:
    await expect(page.locator("[data-state]")).to_have_text("delivered")
    await expect(page.get_by_text("charge.successful arrived, its signature fits")).to_be_visible()
