"""How a business looks to its payers: set, taken away, seen by everybody at once, kept over a reset."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

import pictures
from build import Checkout
from conftest import MakeCheckout
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Invalid, NotFound
from tidegate.core.ids import Mode, new_business_id
from tidegate.infra.db import Database, constraint_of
from tidegate.ledger.model import PLATFORM_BUSINESS_ID
from tidegate.merchant import commands, store
from tidegate.merchant.key_cache import KeyCache
from tidegate.merchant.logo import BYTES_MAX, logo_from
from tidegate.merchant.model import Brand, Business, Support

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
SETTINGS = {
    "accent": "#7c3aed",
    "support_email": "help@shop.example.com",
    "support_phone": "+2348012345678",
    "support_url": "https://shop.example.com/help",
}
CHOSEN = Brand(
    accent="#7c3aed",
    support=Support(email="help@shop.example.com", phone="+2348012345678", url="https://shop.example.com/help"),
)


@pytest.fixture
async def business(db: Database) -> Business:
    new = await commands.create(db, name="Shop", email="shop@example.com", mode=Mode.SANDBOX, now=NOW)
    return new.business


async def logos_of(db: Database, business_id: str, *bodies: bytes) -> list[bytes | None]:
    """What is served under the address of each picture."""
    async with db.connection() as tx:
        found = [await store.find_logo(tx, business_id, logo_from(body).hash) for body in bodies]
    return [logo.body if logo else None for logo in found]


# Settings.


async def test_a_new_business_has_chosen_nothing(business: Business) -> None:
    assert business.brand == Brand()


async def test_what_is_set_stays_when_something_else_changes(db: Database, business: Business) -> None:
    assert (await commands.change(db, business.id, SETTINGS, now=NOW)).brand == CHOSEN
    assert (await commands.change(db, business.id, {"name": "New"}, now=NOW)).brand == CHOSEN


@pytest.mark.parametrize("name", SETTINGS)
async def test_an_empty_text_takes_one_setting_away_and_no_other(db: Database, business: Business, name: str) -> None:
    await commands.change(db, business.id, SETTINGS, now=NOW)
    brand = (await commands.change(db, business.id, {name: ""}, now=NOW)).brand
    support = brand.support
    left = dict(zip(SETTINGS, (brand.accent, support.email, support.phone, support.url), strict=True))
    assert left == {**SETTINGS, name: None}


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("accent", "#7C3AED", "business_accent_is_a_colour"),
        ("accent", "red", "business_accent_is_a_colour"),
        ("support_email", "nobody", "business_support_email_is_an_address"),
        ("support_phone", "08012345678", "business_support_phone_is_international"),
        ("support_url", "javascript:alert(1)", "business_support_url_is_a_web_address"),
        ("support_url", "https://example.com/" + "x" * 2_048, "business_support_url_is_a_web_address"),
    ],
)
async def test_the_database_itself_refuses_what_no_page_could_show(
    db: Database, business: Business, name: str, value: str, rule: str
) -> None:
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        await commands.change(db, business.id, {name: value}, now=NOW)
    assert constraint_of(refused.value) == rule


async def test_every_process_sees_a_new_look_within_a_second(db: Database, business: Business) -> None:
    key_cache = KeyCache(db, SystemClock(), Mode.SANDBOX)
    await key_cache.refresh()
    changes: tuple[Callable[[], Awaitable[Business]], ...] = (
        lambda: commands.change(db, business.id, SETTINGS, now=NOW),
        lambda: commands.set_logo(db, business.id, pictures.JPEG, now=NOW),
        lambda: commands.remove_logo(db, business.id, now=NOW),
    )
    for change in changes:
        before = await key_cache.business_by_code(business.code)
        changed = await change()
        await key_cache.refresh()
        assert before != changed == await key_cache.business_by_code(business.code)


# The logo.


async def test_a_logo_is_found_by_its_hash_and_only_by_its_own_business(db: Database, business: Business) -> None:
    changed = await commands.set_logo(db, business.id, pictures.JPEG, now=NOW)
    logo = logo_from(pictures.JPEG)
    assert changed.brand == Brand(logo_hash=logo.hash)
    async with db.connection() as tx:
        assert await store.find_logo(tx, business.id, logo.hash) == logo
        assert await store.find_logo(tx, new_business_id(), logo.hash) is None
        assert await store.find_logo(tx, business.id, "0" * 64) is None


async def test_a_new_logo_takes_the_place_of_the_old_one(db: Database, business: Business) -> None:
    await commands.set_logo(db, business.id, pictures.JPEG, now=NOW)
    changed = await commands.set_logo(db, business.id, pictures.WEBP, now=NOW)
    assert changed.brand.logo_hash == logo_from(pictures.WEBP).hash
    assert await logos_of(db, business.id, pictures.JPEG, pictures.WEBP) == [None, logo_from(pictures.WEBP).body]


async def test_a_logo_is_taken_away(db: Database, business: Business) -> None:
    await commands.change(db, business.id, SETTINGS, now=NOW)
    await commands.set_logo(db, business.id, pictures.JPEG, now=NOW)
    for _ in range(2):
        assert (await commands.remove_logo(db, business.id, now=NOW)).brand == CHOSEN
    assert await logos_of(db, business.id, pictures.JPEG) == [None]


async def test_a_refused_logo_leaves_the_one_that_is_there(db: Database, business: Business) -> None:
    before = await commands.set_logo(db, business.id, pictures.JPEG, now=NOW)
    with pytest.raises(Invalid):
        await commands.set_logo(db, business.id, b"<script>" + pictures.WEBP, now=NOW)
    async with db.connection() as tx:
        assert await store.find_business(tx, business.id) == before
    assert await logos_of(db, business.id, pictures.JPEG) == [logo_from(pictures.JPEG).body]


@pytest.mark.parametrize("business_id", [new_business_id(), PLATFORM_BUSINESS_ID], ids=["unknown", "platform"])
async def test_what_is_no_merchant_has_no_logo(db: Database, business_id: str) -> None:
    with pytest.raises(NotFound):
        await commands.set_logo(db, business_id, pictures.JPEG, now=NOW)
    with pytest.raises(NotFound):
        await commands.remove_logo(db, business_id, now=NOW)
    assert await logos_of(db, business_id, pictures.JPEG) == [None]


TOO_MUCH = f"decode(repeat('00', {BYTES_MAX + 1}), 'hex')"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (f"body = {TOO_MUCH}, hash = encode(sha256({TOO_MUCH}), 'hex')", "business_logo_is_at_most_100_kb"),
        ("media_type = 'image/svg+xml'", "business_logo_media_type_is_known"),
        ("width = 1025", "business_logo_is_32_to_1024_px"),
        ("hash = repeat('0', 64)", "business_logo_hash_is_of_its_body"),
    ],
)
async def test_the_database_itself_refuses_what_is_no_logo(
    db: Database, business: Business, admin: Any, change: str, rule: str
) -> None:
    await commands.set_logo(db, business.id, pictures.JPEG, now=NOW)
    with pytest.raises(asyncpg.CheckViolationError, match=rule):
        await admin.execute(f"UPDATE business_logo SET {change}, updated_at = now()")


# What a payer sees.


async def business_of(checkout: Checkout) -> Any:
    return (await checkout.view())["business"]


async def test_a_payer_sees_what_the_business_has_chosen(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout(settings=SETTINGS)
    business_id = checkout.shop.business_id
    await commands.set_logo(db, business_id, pictures.JPEG, now=NOW)
    seen = await business_of(checkout)
    assert seen.pop("logoUrl").endswith(f"/{logo_from(pictures.JPEG).hash}")
    assert seen == {
        "name": "Test Shop",
        "accentColour": "#7c3aed",
        "support": {"email": SETTINGS["support_email"], "phone": "+2348012345678", "url": SETTINGS["support_url"]},
    }


async def test_a_payer_can_always_reach_the_business(new_checkout: MakeCheckout) -> None:
    nothing = await new_checkout()
    assert await business_of(nothing) == {
        "name": "Test Shop",
        "logoUrl": None,
        "accentColour": None,
        "support": {"email": "shop@example.com", "phone": None, "url": None},
    }


@pytest.mark.parametrize("name", ["support_email", "support_phone", "support_url"])
async def test_the_business_s_own_e_mail_is_not_shown_beside_any_other_way(
    new_checkout: MakeCheckout, name: str
) -> None:
    checkout = await new_checkout(settings={name: SETTINGS[name]})
    support = (await business_of(checkout))["support"]
    assert [value for value in support.values() if value] == [SETTINGS[name]]


async def test_a_reset_keeps_the_look(new_checkout: MakeCheckout, db: Database) -> None:
    checkout = await new_checkout(settings=SETTINGS)
    business_id = checkout.shop.business_id
    before = await commands.set_logo(db, business_id, pictures.JPEG, now=NOW)
    answer = await checkout.sandbox("reset")
    assert answer.status_code == 200, answer.text
    async with db.connection() as tx:
        after = await store.find_business(tx, business_id)
    assert after is not None
    assert after.brand == before.brand
    assert await logos_of(db, business_id, pictures.JPEG) == [logo_from(pictures.JPEG).body]
