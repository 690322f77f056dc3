"""The operator's commands on businesses and their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NoReturn

from tidegate.audit import store as audit
from tidegate.audit.model import OPERATOR, OURSELVES, Actor
from tidegate.core import ids
from tidegate.core.errors import Conflict, Invalid, NotFound, Problem
from tidegate.core.fee import FeeRule
from tidegate.core.method import Priced
from tidegate.core.money import Currency
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.merchant import store
from tidegate.merchant.key_terms import ALL_RIGHTS, KeyTerms
from tidegate.merchant.logo import logo_from
from tidegate.merchant.model import (
    ROLL_OVERLAP_MAX,
    ApiKey,
    Business,
    BusinessStatus,
    KeyKind,
    KeyPrint,
    hash_of,
    print_of,
)


@dataclass(frozen=True)
class NewBusiness:
    """The secret key is known only here; only its hash is stored."""

    business: Business
    secret_key: str
    public_key: str


@dataclass(frozen=True)
class NewKey:
    """The secret is known only here; only its hash is stored."""

    key: ApiKey
    secret: str


async def create(
    db: Database, *, name: str, email: str, mode: ids.Mode, now: datetime, by: Actor = OURSELVES
) -> NewBusiness:
    async with db.transaction() as tx:
        return await create_in(tx, name=name, email=email, mode=mode, now=now, by=by)


async def create_in(tx: Tx, *, name: str, email: str, mode: ids.Mode, now: datetime, by: Actor) -> NewBusiness:
    business = await store.insert_business(
        tx, business_id=ids.new_business_id(), code=ids.new_business_code(), name=name, email=email, now=now
    )
    secret_key, public_key = ids.new_secret_key(mode), ids.new_public_key(mode)
    await _add_key(tx, business.id, KeyKind.SECRET, secret_key, now)
    await _add_key(tx, business.id, KeyKind.PUBLIC, public_key, now)
    if by is not OURSELVES:
        details = {"name": name, "email": email}
        await audit.insert(
            tx, business.id, by, action="business.created", subject=business.id, details=details, now=now
        )
    return NewBusiness(business, secret_key, public_key)


async def list_all(db: Database) -> list[Business]:
    async with db.connection() as tx:
        return await store.list_businesses(tx)


async def get_or_only(db: Database, business_id: str | None) -> Business:
    """The one that is named, or the only one there is, as in a sandbox."""
    if business_id is not None:
        return await get(db, business_id)
    found = await list_all(db)
    if len(found) != 1:
        raise NotFound(f"there are {len(found)} businesses; name one, `tidegate merchant list` shows them")
    return found[0]


async def get(db: Database, business_id: str) -> Business:
    async with db.connection() as tx:
        return await store.find_business(tx, business_id) or _no_business(business_id)


async def change(
    db: Database, business_id: str, changes: dict[str, Any], *, now: datetime, by: Actor = OPERATOR,
    also: InSameTransaction = nothing_else, why: str | None = None,
) -> Business:  # fmt: skip
    """With its row in the audit trail: before → after, and why."""
    async with db.transaction() as tx:
        await also(tx)
        before = await store.find_business(tx, business_id) or _no_business(business_id)
        business = await store.update_business(tx, business_id, changes=changes, now=now)
        if business is None:
            return _no_business(business_id)
        given = [name for name, value in changes.items() if value is not None and hasattr(before, name)]
        details: dict[str, Any] = {name: [getattr(before, name), getattr(business, name)] for name in given}
        if why:
            details["why"] = why
        await audit.insert(
            tx, business_id, by, action="business.changed", subject=business_id, details=details, now=now
        )
    return business


async def refuse_needless(tx: Tx, business_id: str, changes: Mapping[str, Any]) -> None:
    """To reinstate a business that is active lets nothing out, but its approver would believe that it was stopped."""
    business = await store.find_business(tx, business_id) or _no_business(business_id)
    if changes.get("status") == BusinessStatus.ACTIVE and business.is_active:
        raise Conflict(f"{business.name} is active already; only a suspended merchant is reinstated")


async def suspend(db: Database, business_id: str, why: str, *, by: Actor, now: datetime) -> Business:
    """Stops money, so one person does it. The reason is kept with the business until it is reinstated."""
    return await change(db, business_id, {"status": "suspended", "suspended_for": why}, by=by, now=now, why=why)


async def set_logo(db: Database, business_id: str, body: bytes, *, now: datetime) -> Business:
    """Raises Invalid unless it is an image that the payer's pages can show."""
    logo = logo_from(body)
    async with db.transaction() as tx:
        business = await store.put_logo(tx, business_id, logo, now=now)
    return business or _no_business(business_id)


async def remove_logo(db: Database, business_id: str, *, now: datetime) -> Business:
    async with db.connection() as tx:
        business = await store.delete_logo(tx, business_id, now=now)
    return business or _no_business(business_id)


async def keys_of(db: Database, business_id: str) -> list[ApiKey]:
    async with db.connection() as tx:
        return await store.list_keys(tx, business_id)


async def replace_main_key(
    tx: Tx, business_id: str, secret: KeyPrint, *, overlap: timedelta, by: Actor, now: datetime
) -> ApiKey:
    if await store.find_business(tx, business_id) is None:
        _no_business(business_id)
    key = await _add_secret(tx, business_id, secret, now)
    await store.end_older_keys(tx, business_id, kind=KeyKind.SECRET, keep_id=key.id, at=now + overlap)
    await _note(tx, key, by, "key.rolled", now)
    return key


async def make_key(tx: Tx, business_id: str, terms: KeyTerms, *, mode: ids.Mode, by: Actor, now: datetime) -> NewKey:
    """A restricted secret key, known only here."""
    secret = ids.new_secret_key(mode)
    return NewKey(await add_restricted(tx, business_id, terms, print_of(secret), by=by, now=now), secret)


async def add_restricted(
    tx: Tx, business_id: str, terms: KeyTerms, secret: KeyPrint, *, by: Actor, now: datetime
) -> ApiKey:
    if await store.find_business(tx, business_id) is None:
        _no_business(business_id)
    key = await _add_secret(tx, business_id, secret, now, terms=terms)
    await _note(tx, key, by, "key.created", now)
    return key


async def roll_key(
    tx: Tx, business_id: str, key_id: int, *, overlap: timedelta, mode: ids.Mode, by: Actor, now: datetime
) -> NewKey:
    """A new key with the rights of this one, which still works for the overlap."""
    secret = ids.new_secret_key(mode)
    key = await replace_key(tx, business_id, key_id, print_of(secret), overlap=overlap, by=by, now=now)
    return NewKey(key, secret)


async def replace_key(
    tx: Tx, business_id: str, key_id: int, secret: KeyPrint, *, overlap: timedelta, by: Actor, now: datetime
) -> ApiKey:
    if not timedelta(0) <= overlap <= ROLL_OVERLAP_MAX:
        raise Invalid(Problem("overlap", f"must be from 0 to {ROLL_OVERLAP_MAX.days} days"))
    old = await store.find_key(tx, business_id, key_id)
    if old is None or old.kind is not KeyKind.SECRET:
        _no_key(business_id, key_id)
    if not old.is_valid_at(now):
        raise Conflict("this key has ended; make a new one")
    terms = KeyTerms(
        name=old.name, scopes=old.scopes, networks=old.networks, refund_max=old.refund_max,
        expires_at=old.expires_at,
    )  # fmt: skip
    key = await _add_secret(tx, business_id, secret, now, terms=terms)
    await store.end_key(tx, business_id, key_id, at=now + overlap)
    await _note(tx, key, by, "key.rolled", now, of=key_id)
    return key


async def add_key(db: Database, business_id: str, kind: KeyKind, mode: ids.Mode, *, now: datetime) -> str:
    """Another key of this kind; the others stay valid."""
    key = ids.new_secret_key(mode) if kind is KeyKind.SECRET else ids.new_public_key(mode)
    async with db.transaction() as tx:
        await _add_key(tx, business_id, kind, key, now)
    return key


async def revoke_key(
    db: Database, business_id: str, key_id: int, *, by: Actor = OPERATOR, now: datetime, why: str | None = None
) -> None:
    async with db.transaction() as tx:
        key = await store.find_key(tx, business_id, key_id)
        if key is None:
            _no_key(business_id, key_id)
        await store.revoke_key(tx, business_id, key_id, now=now)
        await _note(tx, key, by, "key.revoked", now, **({"why": why} if why else {}))


async def set_fee_rule(
    db: Database, business_id: str, *, currency: Currency, method: Priced, rule: FeeRule, now: datetime,
    by: Actor = OPERATOR, also: InSameTransaction = nothing_else,
) -> FeeRule:  # fmt: skip
    """A fee rule of this business, for payments from now on."""
    async with db.transaction() as tx:
        await also(tx)
        if await store.find_business(tx, business_id) is None:
            _no_business(business_id)
        details = {
            "basisPoints": rule.basis_points,
            "vatBasisPoints": rule.vat_basis_points,
            "fixedMinor": rule.fixed_minor,
            "capMinor": rule.cap_minor,
        }
        subject = f"{currency}/{method}"
        await audit.insert(tx, business_id, by, action="price.set", subject=subject, details=details, now=now)
        return await store.insert_fee_rule(tx, business_id, currency=currency, method=method, rule=rule, now=now)


async def _add_key(tx: Tx, business_id: str, kind: KeyKind, key: str, now: datetime) -> ApiKey:
    if kind is KeyKind.SECRET:
        return await _add_secret(tx, business_id, print_of(key), now)
    return await store.insert_key(
        tx, business_id=business_id, kind=kind, key_hash=hash_of(key), public_key=key, last_four=key[-4:], now=now
    )


async def _add_secret(
    tx: Tx, business_id: str, secret: KeyPrint, now: datetime, *, terms: KeyTerms = ALL_RIGHTS
) -> ApiKey:
    return await store.insert_key(
        tx, business_id=business_id, kind=KeyKind.SECRET, key_hash=secret.hash, public_key=None,
        last_four=secret.last_four, now=now, terms=terms,
    )  # fmt: skip


async def _note(tx: Tx, key: ApiKey, by: Actor, action: str, now: datetime, **details: int | str) -> None:
    scopes = sorted(key.scopes) if key.scopes is not None else "all"
    facts = {"name": key.name, "scopes": scopes, "lastFour": key.last_four, **details}
    await audit.insert(tx, key.business_id, by, action=action, subject="key/" + str(key.id), details=facts, now=now)


def _no_key(business_id: str, key_id: int) -> NoReturn:
    raise NotFound(f"business {business_id} has no key {key_id}; `tidegate merchant list` shows them")


def _no_business(business_id: str) -> Business:
    raise NotFound(f"there is no business {business_id}; `tidegate merchant list` shows them")
