"""The operator's commands on businesses and their keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tidegate.core import ids
from tidegate.core.errors import NotFound
from tidegate.core.fee import FeeRule
from tidegate.core.method import Priced
from tidegate.core.money import Currency
from tidegate.infra.db import Database, Tx
from tidegate.merchant import store
from tidegate.merchant.logo import logo_from
from tidegate.merchant.model import ApiKey, Business, KeyKind, hash_of


@dataclass(frozen=True)
class NewBusiness:
    """The secret key is known only here; only its hash is stored."""

    business: Business
    secret_key: str
    public_key: str


async def create(db: Database, *, name: str, email: str, mode: ids.Mode, now: datetime) -> NewBusiness:
    async with db.transaction() as tx:
        business = await store.insert_business(
            tx, business_id=ids.new_business_id(), code=ids.new_business_code(), name=name, email=email, now=now
        )
        secret_key, public_key = ids.new_secret_key(mode), ids.new_public_key(mode)
        await _add_key(tx, business.id, KeyKind.SECRET, secret_key, now)
        await _add_key(tx, business.id, KeyKind.PUBLIC, public_key, now)
    return NewBusiness(business, secret_key, public_key)


async def list_all(db: Database) -> list[Business]:
    async with db.connection() as tx:
        return await store.list_businesses(tx)


async def get(db: Database, business_id: str) -> Business:
    async with db.connection() as tx:
        return await store.find_business(tx, business_id) or _no_business(business_id)


async def change(db: Database, business_id: str, changes: dict[str, Any], *, now: datetime) -> Business:
    async with db.connection() as tx:
        business = await store.update_business(tx, business_id, changes=changes, now=now)
    return business or _no_business(business_id)


async def set_logo(db: Database, business_id: str, body: bytes, *, now: datetime) -> Business:
    """Raises Invalid unless it is an image that the payer's pages can show."""
    logo = logo_from(body)
    async with db.connection() as tx:
        business = await store.put_logo(tx, business_id, logo, now=now)
    return business or _no_business(business_id)


async def remove_logo(db: Database, business_id: str, *, now: datetime) -> Business:
    async with db.connection() as tx:
        business = await store.delete_logo(tx, business_id, now=now)
    return business or _no_business(business_id)


async def keys_of(db: Database, business_id: str) -> list[ApiKey]:
    async with db.connection() as tx:
        return await store.list_keys(tx, business_id)


async def roll_secret_key(db: Database, business_id: str, *, mode: ids.Mode, overlap: timedelta, now: datetime) -> str:
    """A new secret key. Older ones expire after the overlap, or at their own expiry if that is sooner."""
    secret_key = ids.new_secret_key(mode)
    async with db.transaction() as tx:
        if await store.find_business(tx, business_id) is None:
            _no_business(business_id)
        key = await _add_key(tx, business_id, KeyKind.SECRET, secret_key, now)
        await store.end_older_keys(tx, business_id, kind=KeyKind.SECRET, keep_id=key.id, at=now + overlap)
    return secret_key


async def add_key(db: Database, business_id: str, kind: KeyKind, mode: ids.Mode, *, now: datetime) -> str:
    """Another key of this kind; the others stay valid."""
    key = ids.new_secret_key(mode) if kind is KeyKind.SECRET else ids.new_public_key(mode)
    async with db.transaction() as tx:
        await _add_key(tx, business_id, kind, key, now)
    return key


async def revoke_key(db: Database, business_id: str, key_id: int, *, now: datetime) -> None:
    async with db.connection() as tx:
        if not await store.revoke_key(tx, business_id, key_id, now=now):
            raise NotFound(f"business {business_id} has no key {key_id}; `tidegate merchant list` shows them")


async def set_fee_rule(
    db: Database, business_id: str, *, currency: Currency, method: Priced, rule: FeeRule, now: datetime
) -> FeeRule:
    """A fee rule of this business, for payments from now on."""
    async with db.transaction() as tx:
        if await store.find_business(tx, business_id) is None:
            _no_business(business_id)
        return await store.insert_fee_rule(tx, business_id, currency=currency, method=method, rule=rule, now=now)


async def _add_key(tx: Tx, business_id: str, kind: KeyKind, key: str, now: datetime) -> ApiKey:
    return await store.insert_key(
        tx,
        business_id=business_id,
        kind=kind,
        key_hash=hash_of(key),
        public_key=key if kind is KeyKind.PUBLIC else None,
        last_four=key[-4:],
        now=now,
    )


def _no_business(business_id: str) -> Business:
    raise NotFound(f"there is no business {business_id}; `tidegate merchant list` shows them")
