"""What is wrong with a page's layout, found by measuring, which axe does not do."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page

# A phone whose text is twice as large, and the narrowest phone.
NARROW = (195, 320)
TEXT_PX_MIN = 12

_FAULTS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


async def assert_well_laid_out(page: Page) -> None:
    found: list[str] = await page.evaluate(_FAULTS, TEXT_PX_MIN)
    assert not found, "\n".join([f"{page.url} in {page.viewport_size}:", *found])
