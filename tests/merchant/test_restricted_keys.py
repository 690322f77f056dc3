"""Restricted keys: what each may do, from where and until when; how it is rolled, and when it was last used."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from build import Checkout, Shop, roll_secret_key
from conftest import MakeCheckout
from payment.refusal import assert_refused
from settable_clock import SettableClock
from tidegate.app import operations_of
from tidegate.audit.model import OPERATOR
from tidegate.core.clock import SystemClock
from tidegate.core.errors import Conflict, Invalid, NotFound
from tidegate.core.ids import Mode
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Database
from tidegate.merchant import commands, key_use
from tidegate.merchant.key_cache import KeyCache
from tidegate.merchant.key_terms import KeyRequest, terms_of
from tidegate.merchant.key_use import KeyUses
from tidegate.merchant.model import KeyKind, KeyScope
from tidegate.runtime import Runtime

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
REQUEST: dict[str, Any] = {"name": "Till", "scopes": ["read"]}


async def make(db: Database, business_id: str, now: datetime = NOW, **changes: Any) -> commands.NewKey:
    terms = terms_of(KeyRequest(**{**REQUEST, **changes}), now=now)
    async with db.transaction() as tx:
        return await commands.make_key(tx, business_id, terms, mode=Mode.SANDBOX, by=OPERATOR, now=now)


async def roll(db: Database, business_id: str, key_id: int, overlap: timedelta) -> commands.NewKey:
    async with db.transaction() as tx:
        return await commands.roll_key(
            tx, business_id, key_id, overlap=overlap, mode=Mode.SANDBOX, by=OPERATOR, now=NOW
        )


async def with_key(db: Database, shop: Shop, **changes: Any) -> Shop:
    made = await make(db, shop.business_id, **changes)
    return replace(shop, secret_key=made.secret)


async def refund(shop: Shop, reference: str, **fields: Any) -> httpx.Response:
    body = {"transReference": reference, **fields}
    return await shop.client.post("/collections/refund", json=body, headers={"api-key": shop.secret_key})


CALLS = {
    KeyScope.READ: ("GET", "/checkout/payments"),
    KeyScope.CREATE: ("POST", "/checkout/payment-links"),
    KeyScope.REFUND: ("POST", "/collections/refund"),
    KeyScope.WEBHOOKS: ("GET", "/webhooks/endpoints"),
}


@pytest.mark.parametrize("scope", KeyScope)
async def test_a_key_may_do_what_its_scope_says_and_nothing_else(
    db: Database, shop: Shop, admin: Any, scope: KeyScope
) -> None:
    restricted = await with_key(db, shop, scopes=[scope.value])
    for needed, (method, path) in CALLS.items():
        sending = shop.client.request(
            method, path, json={} if method == "POST" else None, headers={"api-key": restricted.secret_key}
        )
        if needed is scope:
            assert (await sending).status_code in (200, 422)
        else:
            answer = await assert_refused(admin, sending, 403, "ACCESS_DENIED")
            assert f"use a key with the scope {needed.value}" in answer.json()["message"]


async def test_create_with_a_restricted_key(db: Database, shop: Shop, admin: Any) -> None:
    assert (await (await with_key(db, shop, scopes=["create"])).create()).status_code == 201
    reading = await with_key(db, shop, scopes=["read"])
    await assert_refused(admin, reading.create(), 403, "ACCESS_DENIED")


def test_every_operation_needs_a_scope_that_exists(runtime: Runtime) -> None:
    needed = {operation.name: operation.right_needed for operation in operations_of(runtime)}
    assert set(needed.values()) == set(KeyScope)
    assert {name for name, right in needed.items() if right == "refund"} == {"createRefund"}
    assert all(right == "webhooks" for name, right in needed.items() if "Webhook" in name or "Endpoint" in name)


async def test_a_key_works_only_from_its_addresses(db: Database, shop: Shop, admin: Any) -> None:
    inside = await with_key(db, shop, addresses=["127.0.0.0/8", "2001:db8::/32"])
    assert (await inside.client.get("/wallets", headers={"api-key": inside.secret_key})).status_code == 200
    outside = await with_key(db, shop, addresses=["203.0.113.7"])
    sending = outside.client.get("/wallets", headers={"api-key": outside.secret_key})
    answer = await assert_refused(admin, sending, 403, "ACCESS_DENIED")
    assert "from your address" in answer.json()["message"]


async def test_a_key_made_for_a_time_ends_then(db: Database, shop: Shop) -> None:
    made = await make(db, shop.business_id, expires_at=NOW + timedelta(days=1))
    clock = SettableClock(NOW)
    cache = KeyCache(db, clock, Mode.SANDBOX)
    assert await cache.caller_of(made.secret, KeyKind.SECRET) is not None
    clock.advance(timedelta(days=1))
    assert await cache.caller_of(made.secret, KeyKind.SECRET) is None


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("name", {"name": ""}), ("name", {"name": "x" * 201}), ("scopes", {"scopes": []}),
        ("scopes", {"scopes": ["read", "all"]}), ("addresses", {"addresses": ["203.0.113"]}),
        ("addresses", {"addresses": ["10.0.0.1"] * 21}), ("refundMax", {"refund_max": {"NGN": 1}}),
        ("refundMax", {"scopes": ["refund"], "refund_max": {"XXX": 1}}),
        ("refundMax", {"scopes": ["refund"], "refund_max": {"NGN": -1}}), ("expiresAt", {"expires_at": NOW}),
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_and_named(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        terms_of(KeyRequest(**{**REQUEST, **changes}), now=NOW)
    assert [problem.field for problem in refused.value.problems] == [field]


# Refunds.


async def paid(new_checkout: MakeCheckout) -> Checkout:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100")
    return checkout


async def test_a_refund_above_the_keys_limit_needs_approval(
    db: Database, new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await paid(new_checkout)
    now = SystemClock().now()
    shop = await with_key(db, checkout.shop, now=now, scopes=["refund"], refund_max={"NGN": 40})
    answer = await assert_refused(admin, refund(shop, checkout.reference, amount=41), 422, "REFUND_NEEDS_APPROVAL")
    assert "at most NGN 40.00" in answer.json()["message"]
    # Without an amount it is all of it.
    await assert_refused(admin, refund(shop, checkout.reference), 422, "REFUND_NEEDS_APPROVAL")
    assert (await refund(shop, checkout.reference, amount=40)).status_code == 200
    without = await with_key(db, checkout.shop, now=now, scopes=["refund"])
    assert (await refund(without, checkout.reference, amount=50)).status_code == 200


async def test_another_currency_than_those_with_a_limit_needs_approval(db: Database, shop: Shop) -> None:
    made = await make(db, shop.business_id, scopes=["refund"], refund_max={"KES": 10, "UGX": 10})
    assert made.key.may_refund(Money(1_000, Currency.KES))
    assert not made.key.may_refund(Money(1_001, Currency.KES))
    assert made.key.may_refund(Money(10, Currency.UGX))
    assert not made.key.may_refund(Money(1, Currency.NGN))


# Rolled and revoked.


async def test_a_rolled_key_keeps_its_rights_and_the_old_one_ends_after_the_overlap(db: Database, shop: Shop) -> None:
    old = await make(db, shop.business_id, scopes=["refund"], refund_max={"NGN": 5}, addresses=["10.0.0.0/8"])
    new = await roll(db, shop.business_id, old.key.id, timedelta(days=7))
    assert (new.key.scopes, new.key.refund_max, new.key.networks, new.key.name) == (
        old.key.scopes, old.key.refund_max, old.key.networks, old.key.name,
    )  # fmt: skip
    clock = SettableClock(NOW + timedelta(days=6))
    cache = KeyCache(db, clock, Mode.SANDBOX)
    assert await cache.caller_of(old.secret, KeyKind.SECRET) is not None
    clock.advance(timedelta(days=1))
    assert await cache.caller_of(old.secret, KeyKind.SECRET) is None
    assert await cache.caller_of(new.secret, KeyKind.SECRET) is not None


async def test_rolling_is_refused_for_too_long_an_overlap_and_for_ended_keys(db: Database, shop: Shop) -> None:
    made = await make(db, shop.business_id)
    for overlap in (timedelta(days=7, seconds=1), timedelta(seconds=-1)):
        with pytest.raises(Invalid):
            await roll(db, shop.business_id, made.key.id, overlap)
    with pytest.raises(NotFound):
        await roll(db, shop.business_id, made.key.id + 1_000, timedelta(0))
    await commands.revoke_key(db, shop.business_id, made.key.id, now=NOW)
    with pytest.raises(Conflict):
        await roll(db, shop.business_id, made.key.id, timedelta(0))


async def test_rolling_the_key_with_all_rights_leaves_restricted_ones(db: Database, shop: Shop) -> None:
    made = await make(db, shop.business_id)
    await roll_secret_key(db, shop.business_id, overlap=timedelta(0), now=NOW)
    keys = {key.id: key for key in await commands.keys_of(db, shop.business_id)}
    assert keys[made.key.id].expires_at is None


async def test_every_act_on_a_key_is_audited_without_the_key(db: Database, shop: Shop, admin: Any) -> None:
    made = await make(db, shop.business_id)
    await roll(db, shop.business_id, made.key.id, timedelta(0))
    await commands.revoke_key(db, shop.business_id, made.key.id, now=NOW)
    rows = await admin.fetch("SELECT action, details::text FROM audit WHERE action <> 'business.changed' ORDER BY id")
    assert [row["action"] for row in rows] == ["key.created", "key.rolled", "key.revoked"]
    assert all(made.secret not in row["details"] for row in rows)


async def test_a_key_of_another_business_is_not_found(db: Database, shop: Shop) -> None:
    made = await make(db, shop.business_id)
    other = await commands.create(db, name="Other", email="o@example.com", mode=Mode.SANDBOX, now=NOW)
    with pytest.raises(NotFound):
        await commands.revoke_key(db, other.business.id, made.key.id, now=NOW)


# Last use.


async def test_the_last_use_is_written_at_most_once_a_minute(
    db: Database, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 1_000.0
    monkeypatch.setattr(key_use, "monotonic_s", lambda: seconds)
    made = await make(db, shop.business_id)
    clock = SettableClock(NOW)
    caller = await KeyCache(db, clock, Mode.SANDBOX).caller_of(made.secret, KeyKind.SECRET)
    assert caller is not None
    uses = KeyUses(db, clock)

    async def last_use() -> tuple[datetime | None, str | None]:
        found = next(key for key in await commands.keys_of(db, shop.business_id) if key.id == made.key.id)
        return found.used_at, found.used_from

    assert await last_use() == (None, None)
    uses.note(caller, "203.0.113.7")
    await uses.write()
    assert await last_use() == (NOW, "203.0.113.7")
    clock.advance(timedelta(seconds=30))
    uses.note(caller, "203.0.113.8")
    await uses.write()
    assert await last_use() == (NOW, "203.0.113.7")
    seconds += 60
    await uses.write()
    assert await last_use() == (NOW + timedelta(seconds=30), "203.0.113.8")
