"""Windows that serve one scene after the other: to open one costs as much as all that is looked at in it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, Page

from browser import HEIGHT_OF, PHONE, Visit, address_of_its_own, visiting

# Nothing moves, no seconds are counted, and nobody is sent away.
STAND_STILL = "window.setInterval = () => 0"


@dataclass
class Windows:
    browser: Browser
    base_url: str
    stack: AsyncExitStack
    opened: dict[frozenset[tuple[str, Any]], Visit] = field(default_factory=dict)
    in_use: list[Visit] = field(default_factory=list)

    async def open_page(self, *, allowed: Sequence[str] = (), **options: Any) -> Page:
        """With the options of `visiting`."""
        key = frozenset(options.items())
        if key not in self.opened:
            window = visiting(self.browser, self.base_url, reduced_motion=True, **options)
            self.opened[key] = await self.stack.enter_async_context(window)
            await self.opened[key].page.add_init_script(STAND_STILL)
        visit = self.opened[key]
        visit.allowed = allowed
        self.in_use.append(visit)
        return visit.page

    async def tidy_up(self) -> None:
        """As if nobody had used them. Fails when a page has done what it must not."""
        used, self.in_use = self.in_use, []
        faults = [fault for visit in used for fault in await self._tidied(visit)]
        assert not faults, "\n".join(["the page did what it must not:", *faults])

    @staticmethod
    async def _tidied(visit: Visit) -> list[str]:
        page, context = visit.page, visit.page.context
        await page.unroute_all(behavior="ignoreErrors")
        await context.set_offline(False)
        await page.goto("about:blank")
        await context.clear_cookies()
        await context.set_extra_http_headers(address_of_its_own())
        await page.set_viewport_size({"width": PHONE, "height": HEIGHT_OF[PHONE]})
        await page.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
        faults = visit.faults
        visit.noted.clear()
        return faults
