from __future__ import annotations

import os

import pytest
from playwright.async_api import Page

from browser import DESK, HEIGHT_OF, PHONE
from browser_axe import OF_LOOKS, assert_accessible, violations_in
from pages.layout import NARROW, assert_well_laid_out
from pages.scenes import DOCS, HOSTED_PAGE, Look, looks_of
from pages.stage import Stage

# Contrast is a matter of the theme and room a matter of the width, so each of both once is enough.
OTHER_LOOK = (Look(DESK, dark=True),)
# Without script, nothing but loading the page again can tell that the money has come.
BROKEN_ON_PURPOSE = {"without-script-account": ("meta-refresh",)}

# axe's names of what it has nothing worse against than "best practice".
LANDMARKS = ("region", "landmark-one-main", "landmark-unique", "landmark-no-duplicate-banner", "bypass")

# Each of these has a template or a rule of its own. `make shots` examines all the others as well.
FOR_EVERY_BUILD = (
    "transfer-account", "transfer-short", "card-wrong", "card-wrong-pin", "card-test-bank", "mobile-wrong",
    "mobile-prompt", "ussd-dial", "paid-too-little", "cancelled-with-money", "receipt", "ar-paid", "accent-yellow",
)  # fmt: skip
IS_THOROUGH = os.environ.get("TIDEGATE_SCENES") == "all"
EXAMINED = tuple(HOSTED_PAGE) if IS_THOROUGH else FOR_EVERY_BUILD


@pytest.mark.parametrize("name", EXAMINED)
async def test_every_state_of_the_hosted_page_is_accessible_and_fits(name: str, still_stage: Stage) -> None:
    page = await HOSTED_PAGE[name](still_stage)
    await assert_accessible(page, but_for=BROKEN_ON_PURPOSE.get(name, ()))
    await assert_well_laid_out(page)
    async for _ in looks_of(page, OTHER_LOOK):
        await assert_accessible(page, only=OF_LOOKS)
        await assert_well_laid_out(page)
    for width in NARROW:
        await page.set_viewport_size({"width": width, "height": HEIGHT_OF[PHONE]})
        await assert_well_laid_out(page)


@pytest.mark.parametrize("name", ["transfer-account", "card-form", "paid-by-card"])
async def test_everything_on_a_page_is_inside_a_landmark(name: str, still_stage: Stage) -> None:
    page = await HOSTED_PAGE[name](still_stage)
    assert [found["nodes"] for found in await violations_in(page, LANDMARKS)] == []


@pytest.mark.parametrize("name", DOCS)
async def test_every_kind_of_page_of_the_documentation_is_accessible_and_fits(name: str, still_stage: Stage) -> None:
    page = await DOCS[name](still_stage)
    await assert_accessible(page, has_many_alike=not IS_THOROUGH)
    assert [found["nodes"] for found in await violations_in(page, LANDMARKS)] == []
    assert await overflow_of(page) == 0
    async for _ in looks_of(page, OTHER_LOOK):
        await assert_accessible(page, only=OF_LOOKS, has_many_alike=not IS_THOROUGH)
        assert await overflow_of(page) == 0


async def overflow_of(page: Page) -> int:
    """How far the page can be scrolled sideways."""
    width: int = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width
