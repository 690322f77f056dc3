"""Examples and texts for the API reference."""

from __future__ import annotations

from typing import Any

GROUP = (
    "Your server gets an event for every success. Verify the signature over the raw body, answer 2xx at once, and drop "
    "duplicates by `webhook-id`. Headers: `webhook-id`, `webhook-timestamp` and `webhook-signature` as in Standard "
    "Webhooks 1.0.0, and `signature`, the hexadecimal HMAC-SHA512 of the body with the whole secret as the key. "
    "A delivery is tried up to ten times over three days; the order is not guaranteed."
)
CREATE = (
    "Every endpoint gets `charge.successful` and `collection.successful`; list any others in `events`. The secret is "
    "shown only in this answer, not in the answer to a repeated `Idempotency-Key`; if you lose it, rotate. Earlier "
    "events are not sent; replay them if you need them."
)
LIST = "The oldest first; the first is the one that the business's webhook URL sets."
GET = "The endpoint without its secret."
CHANGE = "Absent fields stay as they are. Pending deliveries go to the new URL."
ROTATE = (
    "For 24 hours `webhook-signature` has a signature for each secret, new and old; `signature` uses the new secret at "
    "once. The new secret is shown only in this answer, not in the answer to a repeated `Idempotency-Key`."
)
DELETE = "Requests in flight may still arrive; no others follow."
TEST = "Sends an event `webhook.test` to this endpoint only. Get the delivery to see your server's answer."
DELIVERIES = "Each delivery, your server's answers, and the time of the next attempt. Filters are combined with AND."
DELIVERY = "The delivery with its payload, the last ten attempts, and the time of the next."
RESEND = "Sends the same event and body with a new timestamp at once; if it fails, the retry schedule starts again."
REPLAY = (
    "Counts the deliveries, and sends them only with `confirm`. Ids and bodies are unchanged. New events are sent "
    "before replayed ones. At most 20,000 deliveries per replay."
)

ENDPOINT_ID = "we_4Zk9wQ1mT7cYhN2bPs8LxR"
DELIVERY_ID = "dlv_1876543210987654321"
CREATE_REQUEST: dict[str, Any] = {
    "url": "https://shop.example.com/webhooks",
    "events": ["refund.successful"],
    "description": "Orders",
}
ENDPOINT: dict[str, Any] = {
    "id": ENDPOINT_ID,
    "url": "https://shop.example.com/webhooks",
    "events": ["charge.successful", "collection.successful", "refund.successful"],
    "description": "Orders",
    "status": "enabled",
    "disabledReason": None,
    "ratePerSecond": 25,
    "createdAt": "2026-11-15T09:30:00.000Z",
    "updatedAt": "2026-11-15T09:30:00.000Z",
}
ENDPOINT_WITH_SECRET: dict[str, Any] = {**ENDPOINT, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="}
CHANGE_REQUEST: dict[str, Any] = {"status": "enabled", "ratePerSecond": 50}
DELETED: dict[str, Any] = {"id": ENDPOINT_ID}

TEST_DELIVERY: dict[str, Any] = {
    "id": DELIVERY_ID,
    "eventId": "evt_7cYhN4mPs9Lx2b5RkWq0Zt",
    "event": "webhook.test",
    "reference": None,
    "endpointId": ENDPOINT_ID,
    "url": "https://shop.example.com/webhooks",
    "status": "pending",
    "attemptsMade": 0,
    "attempts": [],
    "nextAttemptAt": "2026-11-15T09:31:00.000Z",
    "payload": {
        "event": "webhook.test",
        "type": "test",
        "data": {
            "endpointId": ENDPOINT_ID,
            "message": "A test of this endpoint. No money moved.",
            "createdAt": "2026-11-15T09:31:00.000Z",
        },
    },
    "isErased": False,
    "createdAt": "2026-11-15T09:31:00.000Z",
    "deliveredAt": None,
}
DELIVERY_PAGE: dict[str, Any] = {
    "results": [
        {
            **TEST_DELIVERY,
            "status": "delivered",
            "attemptsMade": 1,
            "attempts": [
                {
                    "number": 1,
                    "url": "https://shop.example.com/webhooks",
                    "attemptedAt": "2026-11-15T09:31:00.000Z",
                    "durationMs": 48,
                    "statusCode": 200,
                    "error": None,
                    "responseBody": "ok",
                }
            ],
            "nextAttemptAt": None,
            "deliveredAt": "2026-11-15T09:31:00.000Z",
        }
    ],
    "nextCursor": None,
}
REPLAY_REQUEST: dict[str, Any] = {"dateFrom": "2026-11-15", "dateTo": "2026-11-16", "confirm": False}
REPLAY_ANSWER: dict[str, Any] = {"count": 128, "sent": False, "erased": 0}

ENDPOINT_PARAMETER: dict[str, Any] = {
    "endpointId": {
        "description": "The id of the endpoint.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": ENDPOINT_ID,
    }
}
DELIVERY_PARAMETER: dict[str, Any] = {
    "deliveryId": {
        "description": "The id of the delivery.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": DELIVERY_ID,
    }
}
