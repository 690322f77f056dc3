"""Challenges for passkeys: made without a row, recognised by their MAC, and good for one scope and half an hour.

What was answered is remembered until it would have expired (`passkey_store.spend_challenge`), so each works once.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime, timedelta

LASTS = timedelta(minutes=30)
_SALT_BYTES, _TIME_BYTES, _MAC_BYTES = 16, 8, 32


def new(key: bytes, scope: str, *, now: datetime) -> bytes:
    head = secrets.token_bytes(_SALT_BYTES) + int(now.timestamp()).to_bytes(_TIME_BYTES)
    return head + _mac(key, head, scope)


def expiry_of(challenge: bytes, key: bytes, scope: str, *, now: datetime) -> datetime | None:
    """None when it is not one of ours for this scope, or too old."""
    if len(challenge) != _SALT_BYTES + _TIME_BYTES + _MAC_BYTES:
        return None
    head, mac = challenge[:-_MAC_BYTES], challenge[-_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(key, head, scope)):
        return None
    expires_at = datetime.fromtimestamp(int.from_bytes(head[_SALT_BYTES:]), UTC) + LASTS
    return expires_at if now < expires_at else None


def _mac(key: bytes, head: bytes, scope: str) -> bytes:
    return hmac.digest(key, b"challenge of a passkey" + head + scope.encode(), hashlib.sha256)
