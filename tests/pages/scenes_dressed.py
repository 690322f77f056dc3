"""The hosted page in other languages, in the clothes of other shops, and with the longest that can stand on it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from playwright.async_api import Page

import pictures
from pages import scenes_ended, scenes_paying
from pages.scenery import BACK, Scene, charged, new_order, seen, taken_back, transferred
from pages.stage import Stage
from tidegate.core.clock import SystemClock
from tidegate.core.money import CHECKOUT_OFFERS, Currency
from tidegate.merchant import commands as merchants

ENGLISH = "en-GB"
TRANSFER = {"type": "bank_transfer"}
LONG_NAME = "The Incorporated Trustees of the Lekki Peninsula Cooperative Coffee Roasters and Importers"
UNBROKEN_NAME = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk"
LONG_DESCRIPTION = "Annual subscription to the roasters’ club, from January to December, " * 2
LONG_REFERENCE = "INV" + "-2026:00418" * 8 + "=LEKKI.NG"


def form(language: str, **order: Any) -> Scene:
    async def show(stage: Stage) -> Page:
        return await seen(stage, await new_order(stage, **order), "?method=card", locale=language)

    return show


def account(language: str, **order: Any) -> Scene:
    async def show(stage: Stage) -> Page:
        return await seen(stage, await charged(stage, TRANSFER, **order), locale=language)

    return show


def paid(language: str, **order: Any) -> Scene:
    async def show(stage: Stage) -> Page:
        return await seen(stage, await transferred(stage, 10_000, **order), locale=language)

    return show


def reversed_in(language: str) -> Scene:
    async def show(stage: Stage) -> Page:
        return await seen(stage, await taken_back(stage), locale=language)

    return show


def largest(currency: Currency) -> Scene:
    async def show(stage: Stage) -> Page:
        order: dict[str, Any] = {
            "amount": CHECKOUT_OFFERS[currency].max_major,
            "currency": currency.value,
            "feeBearer": "customer",
        }
        return await seen(stage, await new_order(stage, **order))

    return show


def branded(accent: str, *, logo: bytes | None = None) -> Scene:
    async def show(stage: Stage) -> Page:
        checkout = await new_order(stage, shop={"accent": accent})
        if logo:
            await merchants.set_logo(stage.db, checkout.shop.business_id, logo, now=SystemClock().now())
        assert (await checkout.charge(TRANSFER)).is_success
        return await seen(stage, checkout)

    return show


def in_arabic(scene: Scene) -> Scene:
    async def show(stage: Stage) -> Page:
        return await scene(replace(stage, new_page=partial(stage.new_page, locale="ar")))

    return show


# States that need no words of the page to get there.
ALSO_IN_ARABIC = (
    "transfer-short", "card-declined", "card-last-try", "card-no-more", "card-pin", "card-wrong-pin", "card-otp",
    "card-address", "card-issuer", "mobile-form", "mobile-prompt", "mobile-prompt-no-more", "mobile-working",
    "ussd-form", "ussd-dial", "paid-by-card", "paid-too-little", "excess-going-back", "used-up", "cancelled",
    "expired", "expired-with-account", "expired-with-late-money", "receipt", "receipt-with-return", "receipt-refunded",
)  # fmt: skip

LONG: dict[str, Any] = {
    "shop": {"name": LONG_NAME},
    "metadata": {"description": LONG_DESCRIPTION},
    "reference": LONG_REFERENCE,
}

SCENES: dict[str, Scene] = {
    **{f"{language}-form": form(language) for language in ("fr", "sw", "pt", "ar")},
    **{f"{language}-account": account(language) for language in ("fr", "ar")},
    "ar-paid": paid("ar"),
    **{f"ar-{name}": in_arabic({**scenes_paying.SCENES, **scenes_ended.SCENES}[name]) for name in ALSO_IN_ARABIC},
    "ar-reversed": reversed_in("ar"),
    "long-form": form(ENGLISH, **LONG),
    "long-account": account(ENGLISH, **LONG),
    "long-paid": paid(ENGLISH, **LONG, redirectUrl=BACK),
    "long-unbroken-name": account("pt", shop={"name": UNBROKEN_NAME}),
    **{f"largest-{currency}": largest(currency) for currency in CHECKOUT_OFFERS},
    "accent-yellow": branded("#ffd400"),
    "accent-near-white": branded("#f6f3ee"),
    "accent-dark": branded("#1b0b3a"),
    "logo-wide": branded("#b4261e", logo=pictures.png(480, 120)),
    "logo-tall": branded("#1d4ed8", logo=pictures.png(120, 480)),
}
