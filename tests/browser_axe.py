"""axe-core, the accessibility checker, in a page whose security policy lets no foreign script in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from playwright.async_api import JSHandle, Page

# The package is only the carrier of this file. Playwright's own way of adding scripts is refused by our policy;
# what is evaluated through the DevTools protocol is not.
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa")
# What may change when the same page is seen in another theme or in a window of another size.
OF_LOOKS = ("color-contrast", "target-size")
CONTRAST = "color-contrast"
# All that it found in order takes longer to carry over than to find.
RUN_AXE = "async ([context, options]) => (await axe.run(context ?? document, options)).violations"
# What is written, once for all that stand in the same place and have the same classes and attributes, and so the same
# colours: on a long page of many alike, axe takes longer for the colours than for everything else.
ONE_OF_EACH = """() => {
    const kinds = new Map();
    const first = new Map();
    const dress = (element) => [
        element.matches(":first-child"),
        element.tagName,
        ...[...element.attributes].map(({ name, value }) => (name === "class" ? value : name)),
    ].join(" ");
    const isWritten = (element) => element.matches("input, select, textarea, button")
        || [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    for (const element of document.querySelectorAll("body, body *")) {
        const kind = `${kinds.get(element.parentElement)} > ${dress(element)}`;
        kinds.set(element, kind);
        if (!first.has(kind) && isWritten(element) && element.checkVisibility()) first.set(kind, element);
    }
    return { include: [...first.values()] };
}"""
AXE_TIMEOUT_S = 60
GRAVE = ("serious", "critical")
HAS_NO_SCRIPTS = "matchMedia('(scripting: none)').matches"
# Colours in the middle of a transition have a contrast that nobody reads by.
FINISH_ANIMATIONS = """() => document.getAnimations()
    .filter(animation => Number.isFinite(animation.effect?.getComputedTiming().endTime))
    .forEach(animation => animation.finish())"""


async def assert_accessible(
    page: Page, *, only: Collection[str] = WCAG, but_for: Collection[str] = (), has_many_alike: bool = False
) -> None:
    """Nothing serious or critical against the rules of WCAG 2.0 to 2.2, levels A and AA, in the page as it stands.

    `only` are axe's names of rules, or of groups of them; `but_for` are rules that are broken on purpose. Of many that
    are alike, the colours of one are looked at.
    """
    found = [found for found in await violations_in(page, only, has_many_alike) if found["id"] not in but_for]
    grave = [violation for violation in found if violation["impact"] in GRAVE]
    assert not grave, "\n".join([f"{page.url} is not accessible:", *map(_in_words, grave)])


async def violations_in(page: Page, only: Collection[str] = WCAG, has_many_alike: bool = False) -> list[dict[str, Any]]:
    # Playwright sets no limit to what it evaluates.
    async with asyncio.timeout(AXE_TIMEOUT_S), _able_to_run_scripts(page):
        await page.evaluate(FINISH_ANIMATIONS)
        # Half a megabyte, once for every page.
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(AXE)
        if not has_many_alike:
            return await _run(page, only)
        but_for_colours = {CONTRAST: {"enabled": False}}
        colours = await _run(page, [CONTRAST], context=await page.evaluate_handle(ONE_OF_EACH))
        return colours + await _run(page, [rule for rule in only if rule != CONTRAST], rules=but_for_colours)


async def _run(
    page: Page, only: Collection[str], *, context: JSHandle | None = None, **more: Any
) -> list[dict[str, Any]]:
    options = {"runOnly": list(only), "resultTypes": ["violations"], **more}
    violations: list[dict[str, Any]] = await page.evaluate(RUN_AXE, [context, options])
    return violations


@asynccontextmanager
async def _able_to_run_scripts(page: Page) -> AsyncIterator[None]:
    """axe waits on timers, which a page without JavaScript does not have. The page's own scripts do not come alive."""
    if not await page.evaluate(HAS_NO_SCRIPTS):
        yield
        return
    devtools = await page.context.new_cdp_session(page)
    # It remembers what this session has said, and ignores a change to what it believes to be so already.
    for is_disabled in (True, False):
        await devtools.send("Emulation.setScriptExecutionDisabled", {"value": is_disabled})
    try:
        yield
    finally:
        # The session stays: its end would undo this too.
        await devtools.send("Emulation.setScriptExecutionDisabled", {"value": True})


def _in_words(violation: dict[str, Any]) -> str:
    lines = [f"  {violation['impact']}: {violation['help']} ({violation['id']}, {violation['helpUrl']})"]
    for node in violation["nodes"]:
        lines.append(f"    {node['html']}")
        messages = [check["message"] for kind in ("any", "all", "none") for check in node[kind]]
        lines += [f"      {message}" for message in messages]
    return "\n".join(lines)
