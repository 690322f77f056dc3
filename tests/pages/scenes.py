"""Every state of every page: how to get there. Pictures are taken of them, and each must be accessible."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from playwright.async_api import Page

from browser import DESK, HEIGHT_OF, PHONE
from pages import scenes_dressed, scenes_ended, scenes_paying
from pages.scenery import Scene
from pages.stage import Stage


class Look(NamedTuple):
    width: int
    dark: bool

    def __str__(self) -> str:
        return f"{self.width}-{'dark' if self.dark else 'light'}"


LOOKS = tuple(Look(width, dark) for width in (PHONE, DESK) for dark in (False, True))


async def looks_of(page: Page, looks: tuple[Look, ...] = LOOKS) -> AsyncIterator[Look]:
    """Gives the page one look after the other; getting to a state once is enough for all of them."""
    for look in looks:
        await page.set_viewport_size({"width": look.width, "height": HEIGHT_OF[look.width]})
        await page.emulate_media(color_scheme="dark" if look.dark else "light")
        yield look


def docs_page(path: str) -> Scene:
    async def show(stage: Stage) -> Page:
        page = await stage.new_page()
        await page.goto(path)
        return page

    return show


HOSTED_PAGE: dict[str, Scene] = {**scenes_paying.SCENES, **scenes_ended.SCENES, **scenes_dressed.SCENES}
# One of each kind.
DOCS: dict[str, Scene] = {
    "docs": docs_page("/docs"),
    "docs-guide": docs_page("/docs/guides/accept-a-payment"),
    "docs-webhooks": docs_page("/docs/guides/receive-webhooks"),
    "docs-reference": docs_page("/docs/reference"),
    "docs-operation": docs_page("/docs/reference/create-payment"),
    "docs-event": docs_page("/docs/reference/events/charge.successful"),
    "docs-errors": docs_page("/docs/reference/errors"),
    "docs-search": docs_page("/docs/search?q=refund"),
    "docs-changelog": docs_page("/docs/changelog"),
}
SCENES = {**HOSTED_PAGE, **DOCS}
