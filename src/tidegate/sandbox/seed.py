"""One business with keys, and the file that tells them to whoever starts the sandbox."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

from tidegate.core.ids import Mode
from tidegate.infra.db import Database
from tidegate.merchant import commands as merchants
from tidegate.merchant import store
from tidegate.merchant.model import hash_of
from tidegate.settings import Settings
from tidegate.webhook import commands as webhooks
from tidegate.webhook.commands import Office

FILE_NAME = "sandbox.json"
_KEYS = ("businessId", "secretKey", "publicKey")
_NAME = "Sandbox Shop"
_EMAIL = "shop@example.com"


async def seed(office: Office, settings: Settings, *, now: datetime) -> dict[str, Any]:
    """The seeded business. The same one on every start, as long as the file and the database agree."""
    path = settings.home / FILE_NAME
    known = read_file(path)
    keys = {name: known[name] for name in _KEYS if name in known}
    if len(keys) < len(_KEYS) or not await _is_known(office.db, keys):
        new = await merchants.create(office.db, name=_NAME, email=_EMAIL, mode=Mode.SANDBOX, now=now)
        keys = {
            "businessId": new.business.id,
            "secretKey": new.secret_key,
            "publicKey": new.public_key,
        }
    # There is no endpoint to send to yet; the first one that is created gets this secret.
    secret = await webhooks.keep_for_first(office, keys["businessId"], known.get("webhookSecret"), now=now)
    addresses = {"baseUrl": settings.base_url, "checkoutUrl": settings.checkout_url}
    sandbox = {**addresses, **keys, "webhookSecret": secret}
    _write(path, sandbox)
    return sandbox


def read_file(path: Path) -> dict[str, str]:
    """What the file says; nothing when there is none, or somebody broke it."""
    try:
        return {name: value for name, value in json.loads(path.read_text()).items() if isinstance(value, str)}
    except (OSError, ValueError, AttributeError):
        return {}


async def _is_known(db: Database, keys: dict[str, str]) -> bool:
    """False when the file speaks of another database, or its key has ended."""
    async with db.connection() as tx:
        found = await store.find_key_and_business(tx, hash_of(keys["secretKey"]))
    if found is None:
        return False
    key, business = found
    return business.is_active and business.id == keys["businessId"] and key.revoked_at is key.expires_at is None


def _write(path: Path, sandbox: dict[str, Any]) -> None:
    """Whole or not at all, and readable by nobody else: it holds a secret key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".tmp")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(sandbox, file, indent=2)
        file.write("\n")
    draft.replace(path)
