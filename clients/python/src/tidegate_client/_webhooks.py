"""Verification of webhooks: from the raw bytes to a typed event, or a reason why not."""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from tidegate_client._errors import ConfigurationError, WebhookSignatureError
from tidegate_client._model import EventModel, read_model
from tidegate_client._types import EVENT_TYPES, Event

TOLERANCE_S = 300


class WebhookHeaders(Protocol):
    """What frameworks give: a mapping, or the `email.message.Message` of `http.server`."""

    def items(self) -> Iterable[tuple[str, str]]: ...


class UnknownEvent(EventModel, kw_only=True):
    """An event that this version does not know; `raw` has all of it."""

    # Its name. For type checkers it is none of the known ones, so that comparing with one of these tells them its data.
    if TYPE_CHECKING:
        event: Literal["unknown"]
    else:
        event: str
    data: dict[str, Any]


def verify(
    body: bytes,
    headers: WebhookHeaders,
    secret: str | Sequence[str],
    *,
    tolerance_s: int = TOLERANCE_S,
    now: float | None = None,
) -> Event | UnknownEvent:
    """The event, when one of the secrets has signed these very bytes within the tolerance.

    `body` is the raw body: JSON that was parsed and written again has another signature. `headers` is what your
    framework gives; the case of names does not matter. Drop duplicates by `event.id`. An event that is newer than this
    client is an UnknownEvent. Raises WebhookSignatureError.
    """
    if not isinstance(body, bytes):
        raise TypeError("body must be the raw bytes of the request, before anything parses them")
    event_id, sent_at, given = (_header(headers, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    _check_time(sent_at, time.time() if now is None else now, tolerance_s)
    signed = _bytes(f"{event_id}.{sent_at}.") + body
    secrets = [secret] if isinstance(secret, str) else list(secret)
    expected = [b"v1," + base64.b64encode(hmac.digest(_key_in(one), signed, "sha256")) for one in secrets]
    if not any(hmac.compare_digest(right, _bytes(one)) for right in expected for one in given.split()):
        raise WebhookSignatureError("wrong_signature", "the signature does not fit this body with this secret")
    return _read(body, event_id)


def _read(raw: bytes, event_id: str) -> Event | UnknownEvent:
    try:
        known = EVENT_TYPES.get(read_model(UnknownEvent, raw).event, UnknownEvent)
        event: Event | UnknownEvent
        try:
            event = read_model(known, raw)
        except msgspec.ValidationError:
            event = read_model(UnknownEvent, raw)
    except msgspec.DecodeError:
        raise WebhookSignatureError("not_an_event", "the body is not an event") from None
    event.__dict__["_event_id"] = event_id
    return event


def _header(headers: WebhookHeaders, name: str) -> str:
    value = next((value for key, value in headers.items() if key.lower() == name), None)
    if not value:
        raise WebhookSignatureError("missing_header", f"there is no header {name}")
    return value


def _bytes(text: str) -> bytes:
    """Also of what a framework could not decode: it fits no signature, and is no fault of the program."""
    return text.encode("utf-8", "surrogatepass")


def _check_time(sent_at: str, now: float, tolerance_s: int) -> None:
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) < 16):
        raise WebhookSignatureError("bad_timestamp", "webhook-timestamp is not a number of seconds")
    if now - int(sent_at) > tolerance_s:
        raise WebhookSignatureError("too_old", f"it was sent more than {tolerance_s} s ago")
    if int(sent_at) - now > tolerance_s:
        raise WebhookSignatureError("too_new", "its time is in the future: check this machine's clock")


def _key_in(secret: str) -> bytes:
    secret = secret.strip()
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith("whsec_") or not key:
        raise ConfigurationError("a webhook secret is whsec_ followed by base64")
    return key
