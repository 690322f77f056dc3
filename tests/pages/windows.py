"""Windows that serve one test after the other: to open one costs as much as all that is looked at in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, CDPSession

from browser import HEIGHT_OF, PHONE, Visit, address_of_its_own, open_window

# Nothing moves, no seconds are counted, and nobody is sent away.
STAND_STILL = "window.setInterval = () => 0"
# Playwright's clock, once it is in a window, stays there.
HAS_ITS_OWN_CLOCK = "() => Function.prototype.toString.call(Date).includes('[native code]')"


@dataclass
class Window:
    visit: Visit
    devtools: CDPSession
    # What it was opened with.
    options: dict[str, Any]

    async def close(self) -> None:
        await self.visit.page.context.close()

    async def tidy_up(self, base_url: str) -> bool:
        """As if nobody had used it: nothing kept, nothing to go back to, another address. False when it cannot be."""
        page, context = self.visit.page, self.visit.page.context
        if page.is_closed():
            return False
        for other in context.pages:
            if other is not page:
                await other.close()
        await page.unroute_all(behavior="ignoreErrors")
        await context.unroute_all(behavior="ignoreErrors")
        await context.set_offline(False)
        await page.goto("about:blank")
        if not await page.evaluate(HAS_ITS_OWN_CLOCK):
            return False
        await context.clear_cookies()
        await context.clear_permissions()
        await context.set_extra_http_headers(address_of_its_own())
        await self.devtools.send("Storage.clearDataForOrigin", {"origin": base_url, "storageTypes": "all"})
        await self.devtools.send("Network.clearBrowserCache")
        await self.devtools.send("Page.resetNavigationHistory")
        await self._look_as_opened()
        return True

    async def _look_as_opened(self) -> None:
        width = self.options.get("width", PHONE)
        await self.visit.page.set_viewport_size({"width": width, "height": HEIGHT_OF.get(width, HEIGHT_OF[PHONE])})
        await self.visit.page.emulate_media(
            media="null",
            color_scheme="dark" if self.options.get("dark") else "light",
            reduced_motion="reduce" if self.options.get("reduced_motion") else "no-preference",
        )


@dataclass
class Windows:
    browser: Browser
    base_url: str
    _free: dict[frozenset[tuple[str, Any]], list[Window]] = field(default_factory=lambda: defaultdict(list))

    @asynccontextmanager
    async def visiting(self, *, allowed: Sequence[str] = (), **options: Any) -> AsyncIterator[Visit]:
        """With the options of `open_window`, or `still`.

        Fails at its end when the page has done what it must not, unless a part of the fault's text is allowed.
        """
        free = self._free[frozenset(options.items())]
        window = free.pop() if free else await self._open(**options)
        window.visit.allowed = allowed
        try:
            yield window.visit
        except BaseException:
            await window.close()
            raise
        if await window.tidy_up(self.base_url):
            free.append(window)
        else:
            await window.close()
        # The page has been left by now, so that everything it has done has been heard of.
        faults = window.visit.faults
        window.visit.noted.clear()
        assert not faults, "\n".join(["the page did what it must not:", *faults])

    async def _open(self, *, still: bool = False, **options: Any) -> Window:
        options |= {"reduced_motion": True} if still else {}
        visit = await open_window(self.browser, self.base_url, **options)
        if still:
            await visit.page.add_init_script(STAND_STILL)
        return Window(visit, await visit.page.context.new_cdp_session(visit.page), options)
