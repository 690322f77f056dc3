"""Documents about account holders: encrypted at rest, opened only with a reason, which is audited."""

from __future__ import annotations

import base64
from datetime import datetime

from tidegate.account import document_store as store
from tidegate.account.document_store import StoredDocument
from tidegate.account.model import Account
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict, Invalid, NotFound, Problem
from tidegate.infra.db import Tx
from tidegate.infra.vault import Vault
from tidegate.merchant.field import name_in

BYTES_MAX = 5 * 1024 * 1024
PER_ACCOUNT_MAX = 20
NAME_CHARS_MAX = 100
# By their first bytes, whatever a browser says they are.
_KINDS = {b"%PDF-": "application/pdf", b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


def media_type_of(body: bytes) -> str:
    for start, media_type in _KINDS.items():
        if body.startswith(start):
            return media_type
    raise Invalid(Problem("file", "Choose a PDF, PNG or JPEG file."))


async def add(tx: Tx, vault: Vault, account: Account, *, name: str, body: bytes, by: Actor, now: datetime) -> int:
    name = name_in(name, chars_max=NAME_CHARS_MAX)
    if len(body) > BYTES_MAX:
        raise Invalid(Problem("file", f"The file is larger than {BYTES_MAX // 1024 // 1024} MB."))
    media_type = media_type_of(body)
    if len(await store.list_of(tx, account.business_id, account.id)) >= PER_ACCOUNT_MAX:
        raise Conflict(f"this account has {PER_ACCOUNT_MAX} documents, the limit; none can be added or removed")
    sealed = vault.seal(base64.b64encode(body).decode(), owner=account.id)
    number = await store.insert(
        tx, account.business_id, account.id, name=name, media_type=media_type, sealed=sealed, by=by.actor, now=now
    )
    await audit.insert(
        tx, account.business_id, by, action="document.added", subject=account.id, details={"document": number}, now=now
    )
    return number


async def open_with_reason(
    tx: Tx, vault: Vault, account: Account, document_id: int, *, why: str, by: Actor, now: datetime
) -> tuple[StoredDocument, bytes]:
    found = await store.find_sealed(tx, account.business_id, account.id, document_id)
    if found is None:
        raise NotFound("this account has no such document")
    await audit.insert(
        tx, account.business_id, by, action="document.opened", subject=account.id,
        details={"document": document_id, "note": why}, now=now,
    )  # fmt: skip
    return found[0], base64.b64decode(vault.open(found[1], owner=account.id))
