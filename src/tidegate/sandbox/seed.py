"""The seeded business, and the file with its keys."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tidegate.account import commands as accounts
from tidegate.account.model import Account, AccountType
from tidegate.audit.model import OURSELVES
from tidegate.core import ids
from tidegate.core.clock import Clock
from tidegate.core.ids import Mode
from tidegate.core.money import ACCOUNT_OFFERS, Currency
from tidegate.infra.db import Database, Tx
from tidegate.member import sandbox_people
from tidegate.merchant import commands as merchants
from tidegate.merchant import store
from tidegate.merchant.model import Business, KeyKind, hash_of
from tidegate.rail.deps import PaymentDeps
from tidegate.settings import Settings
from tidegate.staff import sandbox_staff
from tidegate.webhook import commands as webhooks
from tidegate.webhook.commands import WebhookDeps

FILE_NAME = "sandbox.json"
# Fields of the file by the shell variables that samples and clients read.
VARIABLES = {
    "TIDEGATE_URL": "baseUrl",
    "TIDEGATE_SECRET_KEY": "secretKey",
    "TIDEGATE_PUBLIC_KEY": "publicKey",
    "TIDEGATE_BUSINESS_ID": "businessId",
}
# What receivers of webhooks read. A developer may have chosen another secret.
SECRET_VARIABLE, SECRET_FIELD = "WEBHOOK_SECRET", "webhookSecret"
_KIND_OF = {"secretKey": KeyKind.SECRET, "publicKey": KeyKind.PUBLIC}
_PROPOSED = "proposedSecretKey"
_NAME = "Sandbox Shop"
_EMAIL = "shop@example.com"
_ZONE = "Africa/Lagos"
_HOLDER = {"firstName": "Ada", "lastName": "Obi"}


async def seed(webhook_deps: WebhookDeps, deps: PaymentDeps, settings: Settings, clock: Clock) -> dict[str, Any]:
    """The seeded business. The same on every start; a lost file is written again, with new keys."""
    path = settings.home / FILE_NAME
    known = read_file(path)
    keys = await _known_keys(webhook_deps.db, known, clock) or await _new_business(webhook_deps.db, now=clock.now())
    now = clock.now_of(keys["businessId"])
    # There is no endpoint yet; the first one to be created gets this secret.
    secret = await webhooks.keep_for_first(webhook_deps, keys["businessId"], known.get(SECRET_FIELD), now=now)
    await sandbox_people.seed(deps.db, keys["businessId"], now=clock.now())
    await sandbox_staff.seed(deps.db, now=clock.now())
    addresses = {
        "baseUrl": settings.base_url,
        "checkoutUrl": settings.checkout_url,
        "dashboardUrl": await sandbox_people.new_link(deps.db, settings.base_url),
        "consoleUrl": await sandbox_staff.new_link(deps.db, settings.console_address),
        "mailUrl": f"{settings.base_url}/mail",
    }
    accounts = await _accounts(deps, keys["businessId"], now=now)
    sandbox = {**addresses, **keys, SECRET_FIELD: secret, "virtualAccounts": accounts}
    _write(path, sandbox)
    return sandbox


async def _accounts(deps: PaymentDeps, business_id: str, *, now: datetime) -> dict[str, dict[str, str]]:
    """One approved account per currency; those of the previous start where they still take money."""
    known = await accounts.list_active(deps.db, business_id, now=now)
    for currency in ACCOUNT_OFFERS:
        if currency not in known:
            asked = await accounts.request(deps.db, _new_account(business_id, currency, now), by=OURSELVES, now=now)
            known[currency] = await accounts.approve(deps, asked.id, by=OURSELVES, now=now)
    return {currency.value: _shown(known[currency]) for currency in ACCOUNT_OFFERS}


def _new_account(business_id: str, currency: Currency, now: datetime) -> Account:
    return Account(
        business_id=business_id,
        id=ids.new_account_id(),
        currency=currency,
        settlement_currency=currency,
        account_type=AccountType.INDIVIDUAL,
        holder=" ".join(_HOLDER.values()),
        kyc=json.dumps(_HOLDER),
        created_at=now,
        updated_at=now,
    )


def _shown(account: Account) -> dict[str, str]:
    assert account.details is not None
    return {"id": account.id, "accountNumber": account.details.account_number, "accountName": account.holder}


def read_file(path: Path) -> dict[str, str]:
    """The file's content; empty when it is missing or damaged."""
    try:
        return {name: value for name, value in json.loads(path.read_text()).items() if isinstance(value, str)}
    except (OSError, ValueError, AttributeError):
        return {}


async def _new_business(db: Database, *, now: datetime) -> dict[str, str]:
    new = await merchants.create(db, name=_NAME, email=_EMAIL, mode=Mode.SANDBOX, now=now)
    await merchants.change(db, new.business.id, {"time_zone": _ZONE}, by=OURSELVES, now=now)
    return {"businessId": new.business.id, "secretKey": new.secret_key, "publicKey": new.public_key}


async def _known_keys(db: Database, known: Mapping[str, str], clock: Clock) -> dict[str, str] | None:
    """The file's keys, with new ones for those that are missing, rolled or revoked. None without a seeded business."""
    async with db.connection() as tx:
        business = await _find_seeded(tx, known.get("businessId", ""))
        if business is None:
            return None
        keys = await store.list_keys(tx, business.id)
    lasting = {key.key_hash for key in keys if key.is_lasting}
    found, now = {"businessId": business.id}, clock.now_of(business.id)
    for name, kind in _KIND_OF.items():
        key = known.get(name, "")
        is_good = hash_of(key) in lasting
        found[name] = key if is_good else await merchants.add_key(db, business.id, kind, Mode.SANDBOX, now=now)
    return found


async def _find_seeded(tx: Tx, known_id: str) -> Business | None:
    """The file's business. When the file is lost, damaged or of another database, the oldest that was seeded; its name
    or its e-mail address may have been changed since."""
    of_file = await store.find_business(tx, known_id)
    if of_file is not None and of_file.is_active:
        return of_file
    seeded = (one for one in await store.list_businesses(tx) if one.name == _NAME or one.email == _EMAIL)
    return next((one for one in seeded if one.is_active), None)


def keep_rolled_key(path: Path, business_id: str, secret_key: str) -> None:
    """Keeps the file usable after a roll. A file of another business is left alone."""
    if read_file(path).get("businessId") == business_id:
        _write(path, {**json.loads(path.read_text()), "secretKey": secret_key})


def keep_proposed_key(path: Path, business_id: str, secret_key: str) -> None:
    """Of a roll that waits for an approval: the key is not shown again once it is approved."""
    if read_file(path).get("businessId") == business_id:
        _write(path, {**json.loads(path.read_text()), _PROPOSED: secret_key})


def take_proposed_key(path: Path, business_id: str, key_hash: bytes) -> None:
    """Once the roll is approved."""
    if hash_of(proposed := read_file(path).get(_PROPOSED, "")) != key_hash:
        return
    keep_rolled_key(path, business_id, proposed)
    _write(path, {name: value for name, value in json.loads(path.read_text()).items() if name != _PROPOSED})


def _write(path: Path, sandbox: dict[str, Any]) -> None:
    """Atomic, and readable only by the owner: it holds a secret key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(sandbox, file, indent=2)
        file.write("\n")
    draft.replace(path)
