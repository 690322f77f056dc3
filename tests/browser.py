"""A real browser for tests of pages. What no page of ours may do is noted on every visit, and fails the test."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright, expect

from browser_install import require_browser

PHONE, DESK = 390, 1280
HEIGHT_OF = {PHONE: 844, DESK: 800}
TIMEOUT_MS = 120_000
# No other name or address leads anywhere, so that a page which loads something from elsewhere cannot succeed.
# But for a shop of another site than ours, which a test serves on this machine.
ANOTHER_SITE = "shop.test"
STAYS_HERE = (
    f"--host-resolver-rules=MAP {ANOTHER_SITE} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
)
# For a shop's page: checkout/v1.js goes to the hosted page when the frame is not there in six seconds, which a busy
# machine may need.
PATIENCE = "const soon = setTimeout; window.setTimeout = (then, ms) => soon(then, ms === 6000 ? 120000 : ms)"
# A page that is left or closed ends what it was still loading, such as a stream of events.
LEFT = "net::ERR_ABORTED"

_addresses = itertools.count()
expect.set_options(timeout=TIMEOUT_MS)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    # Playwright starts it without Chromium's own sandbox, which root could not have.
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=require_browser(), args=[STAYS_HERE]) as browser,
    ):
        yield browser


@dataclass
class Visit:
    """A page in a window of its own: no cookies, no cache, and an address that nobody else calls from."""

    page: Page
    own_host: str
    allowed: Sequence[str] = ()
    noted: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [fault for fault in self.noted if not any(part in fault for part in self.allowed)]

    def listen(self, context: BrowserContext) -> None:
        context.on("console", self._hear)
        context.on("weberror", lambda error: self.noted.append(f"uncaught in a script: {error.error}"))
        context.on("request", self._see_request)
        context.on("requestfailed", self._see_failure)

    def _hear(self, message: ConsoleMessage) -> None:
        """Chromium also says here what the content security policy has refused, and what was answered with an error.

        A stream of news that is refused while the machine is full is no fault: the page asks again.
        """
        is_put_off = "status of 503" in message.text and message.location["url"].endswith("/events")
        if message.type in ("error", "assert") and not is_put_off:
            self.noted.append(f"console: {message.text} ({message.location['url']})")

    def _see_request(self, request: Request) -> None:
        # Addresses that begin with data: or blob: have no host.
        if urlsplit(request.url).netloc not in ("", self.own_host):
            self.noted.append(f"request to another host: {request.url}")

    def _see_failure(self, request: Request) -> None:
        if request.failure != LEFT:
            self.noted.append(f"request failed: {request.url} ({request.failure})")


def address_of_its_own() -> dict[str, str]:
    """As headers, believed by a server that trusts one proxy."""
    number = next(_addresses)
    return {"x-forwarded-for": f"10.7.{number // 250}.{number % 250 + 1}"}


async def open_context(browser: Browser, **options: Any) -> BrowserContext:
    """With time enough for a busy machine."""
    context = await browser.new_context(**options)
    context.set_default_timeout(TIMEOUT_MS)
    return context


async def open_window(
    browser: Browser,
    base_url: str,
    *,
    width: int = PHONE,
    dark: bool = False,
    javascript: bool = True,
    locale: str = "en-GB",
    zone: str = "UTC",
    reduced_motion: bool = False,
) -> Visit:
    context = await open_context(
        browser,
        base_url=base_url,
        viewport={"width": width, "height": HEIGHT_OF.get(width, HEIGHT_OF[PHONE])},
        color_scheme="dark" if dark else "light",
        java_script_enabled=javascript,
        locale=locale,
        timezone_id=zone,
        reduced_motion="reduce" if reduced_motion else "no-preference",
        extra_http_headers=address_of_its_own(),
    )
    visit = Visit(await context.new_page(), urlsplit(base_url).netloc)
    visit.listen(context)
    return visit
