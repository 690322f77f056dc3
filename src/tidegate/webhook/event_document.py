"""What the reference says of events. Each concept documents its own with `documented`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.infra.http.openapi import EventDocument
from tidegate.webhook import examples, wire
from tidegate.webhook.model import EVENTS_ALWAYS, MEANING_OF_EVENT, TEST_EVENT

HEADERS = {
    "webhook-id": "Id of the event, the same in every attempt. Drop duplicates by it.",
    "webhook-timestamp": "When this attempt was sent, in seconds since 1970. Refuse one older than five minutes.",
    "webhook-signature": "One or more signatures as in Standard Webhooks 1.0.0, separated by spaces: `v1,` and the "
    "base64 HMAC-SHA256 of id, timestamp and raw body, joined by dots.",
    "signature": "Hexadecimal HMAC-SHA512 of the raw body, with the whole secret as the key.",
}


def documented(payload: type[msgspec.Struct], example: Mapping[str, Any]) -> EventDocument:
    """The example's own name decides which event it is."""
    name = example["event"]
    return EventDocument(
        name=name,
        description=MEANING_OF_EVENT[name],
        payload=payload,
        example=example,
        sent_to=_sent_to(name),
        headers=HEADERS,
    )


def _sent_to(name: str) -> str:
    if name in EVENTS_ALWAYS:
        return "Sent to every endpoint."
    if name == TEST_EVENT:
        return "Sent when you ask for a test event; no endpoint lists it."
    return "Sent to endpoints that list it in `events`."


TEST = documented(wire.TestEvent, {**examples.TEST_DELIVERY["payload"], "event": TEST_EVENT})
