"""Signatures: Standard Webhooks 1.0.0, and the published `signature` header. Pure.

Both are over the exact bytes of the body. JSON that is parsed and written again has other bytes.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 24, 64


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_in(secret: str) -> bytes:
    """The key bytes of Standard Webhooks. Raises ValueError for a malformed secret."""
    if not secret.startswith(PREFIX) or not secret.isascii():
        raise ValueError(f"must be {PREFIX} followed by base64")
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"must be {PREFIX} followed by base64") from None
    if not SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX:
        raise ValueError(f"must encode {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes")
    return key


def headers(event_id: str, body: bytes, secrets_: Sequence[str], *, timestamp_s: int) -> dict[str, str]:
    """The current secret first, then those still valid after a rotation.

    `signature` holds one value: the current secret's.
    """
    signed = b"%s.%d." % (event_id.encode(), timestamp_s) + body
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(_standard(key_in(secret), signed) for secret in secrets_),
        "signature": hmac.digest(secrets_[0].encode(), body, "sha512").hex(),
    }


def _standard(key: bytes, signed: bytes) -> str:
    return "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
