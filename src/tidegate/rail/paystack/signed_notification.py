"""Paystack's notifications: who may send them, and what they say."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec

from tidegate.rail.event import NUL, RawNotification
from tidegate.rail.interface import NotificationRefused, NotificationUnreadable
from tidegate.rail.paystack import wire
from tidegate.rail.paystack.wire import PaystackUnreadable, T
from tidegate.rail_settings import PaystackSettings

SIGNATURE_HEADER = "x-paystack-signature"
BODY_BYTES_MAX = 64 * 1024


class PaystackNotification(msgspec.Struct, frozen=True):
    """`id` is made of the event and the body: Paystack gives none."""

    id: str
    event: str
    data: Any

    def read(self, kind: type[T]) -> T:
        try:
            return wire.convert(self.data, kind)
        except PaystackUnreadable as error:
            raise self.unreadable(error) from None

    def unreadable(self, why: object) -> NotificationUnreadable:
        return NotificationUnreadable(self.id, f"{self.event}: {why}")


class _Body(msgspec.Struct, frozen=True):
    event: str
    data: dict[str, Any]


def sign(body: bytes, secret_key: str) -> str:
    return hmac.new(secret_key.encode(), body, hashlib.sha512).hexdigest()


def read(raw: RawNotification, settings: PaystackSettings) -> PaystackNotification:
    """Raises NotificationRefused, NotificationUnreadable."""
    _check_sender(raw, settings)
    digest = hashlib.sha256(raw.body).hexdigest()
    try:
        body = msgspec.json.decode(raw.body, type=_Body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise NotificationUnreadable(f"unreadable:{digest}", f"the body is not a notification: {error}") from None
    if NUL in raw.body:
        raise NotificationUnreadable(f"unreadable:{digest}", "a text in it has a NUL character")
    domain = body.data.get("domain")
    if domain is not None and domain != settings.domain:
        raise NotificationRefused(f"it is of Paystack's {domain!r} mode")
    return PaystackNotification(f"{body.event[:100]}:{digest}", body.event, body.data)


def _check_sender(raw: RawNotification, settings: PaystackSettings) -> None:
    if settings.webhook_ips and raw.peer not in settings.webhook_ips:
        raise NotificationRefused(f"{raw.peer or 'its sender'} is not an address of Paystack")
    if len(raw.body) > BODY_BYTES_MAX:
        raise NotificationRefused(f"the body is longer than {BODY_BYTES_MAX} bytes")
    given = raw.headers.get(SIGNATURE_HEADER)
    if given is None:
        raise NotificationRefused(f"the header {SIGNATURE_HEADER} is missing")
    keys = [key for key in (settings.secret_key, settings.old_secret_key) if key]
    # Bytes, since text must be ASCII to be compared.
    if not any(hmac.compare_digest(given.encode(), sign(raw.body, key).encode()) for key in keys):
        raise NotificationRefused("the signature is wrong")
