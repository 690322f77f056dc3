"""The frame around every page: colours, language, and whom to ask."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from tidegate.checkout.language.catalog import Catalog
from tidegate.checkout.page.model import PageModel
from tidegate.checkout.page.state import RESULTS
from tidegate.core.colour import DARK, LIGHT, Palette, palette_for
from tidegate.merchant.model import Business

_COLOURS_CACHED_MAX = 4_096


class Contact(msgspec.Struct, frozen=True):
    """The best way to reach the shop."""

    address: str
    href: str
    is_website: bool = False


class Colours(msgspec.Struct, frozen=True):
    """CSS of the merchant's accent, for both themes."""

    light: str
    dark: str


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    words: Catalog
    title: str
    is_test: bool
    # Where another language is asked for; empty for the address that the browser is at.
    here: str
    colours: Colours
    contact: Contact | None = None
    # For browsers without script: `seconds`, or `seconds;url=address`.
    refresh: str | None = None
    # Kept when the language changes.
    method: str | None = None
    has_script: bool = True


def layout_of(page: PageModel, *, refresh: str | None = None, receipt: bool = False) -> Layout:
    words, shop = page.words, page.shop_name
    is_result = receipt or page.state in RESULTS
    return Layout(
        words=words,
        title=words("layout.title_ended", shop=shop)
        if is_result
        else words("layout.title", amount=page.money(page.payment.expected), shop=shop),
        is_test=page.is_test,
        here=f"{page.here}/receipt" if receipt else page.here,
        colours=colours_of(page.business.brand.accent),
        contact=contact_of(page.business),
        refresh=refresh,
        method=page.names.in_record(page.asked) if page.asked else None,
        has_script=not page.is_preview,
    )


def contact_of(business: Business) -> Contact | None:
    support = business.support
    if support.url:
        return Contact(support.url, support.url, is_website=True)
    if support.email:
        return Contact(support.email, f"mailto:{support.email}")
    return Contact(support.phone, f"tel:{support.phone}") if support.phone else None


@lru_cache(maxsize=_COLOURS_CACHED_MAX)
def colours_of(accent: str | None) -> Colours:
    return Colours(_css(palette_for(accent, LIGHT)), _css(palette_for(accent, DARK)))


def _css(palette: Palette) -> str:
    return (
        f"--accent:{palette.accent};--on-accent:{palette.on_accent};--accent-edge:{palette.accent_edge};"
        f"--accent-text:{palette.accent_text};--accent-soft:{palette.accent_soft};--on-soft:{palette.on_soft}"
    )
