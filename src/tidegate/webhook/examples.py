"""Examples and words for the API reference."""

from __future__ import annotations

from typing import Any

GROUP = (
    "Your server is told of every success. Verify the signature over the raw body, answer 2xx at once, and drop "
    "duplicates by `webhook-id`. Headers: `webhook-id`, `webhook-timestamp` and `webhook-signature` as Standard "
    "Webhooks 1.0.0 says, and `signature`, the hexadecimal HMAC-SHA512 of the body with the whole secret as the key. "
    "Failed deliveries are tried ten times over three days; the order is not promised."
)
CREATE = (
    "`charge.successful` and `collection.successful` always come; name the others that you want. The secret is shown "
    "only now, not to a repeated `Idempotency-Key`; if this answer was lost, rotate. Events from before are not sent "
    "by themselves; replay them if you need them."
)
LIST = "The oldest first; it is the one that the business's webhook URL sets."
CHANGE = "Absent fields stay as they are. What waits goes to the new address."
ROTATE = (
    "For 24 hours `webhook-signature` carries a signature for each secret, new and old; `signature` is the new "
    "secret's at once. The new secret is shown only now, not to a repeated `Idempotency-Key`."
)
DELETE = "What is being sent at this moment may still arrive; nothing else follows."
TEST = "An event `webhook.test` for this endpoint alone. Look at the delivery to see what your server answered."
DELIVERIES = "What was sent, what your server answered, and when it is tried next. Every filter narrows."
RESEND = "The same event and body with a new timestamp, at once; if it fails, the schedule begins anew."
REPLAY = (
    "Counts what would be sent, and sends it only with `confirm`. Ids and bodies are the same as before. News goes "
    "first, so replay as much as you like, but at most 20,000 deliveries at a time."
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
REPLAY_ANSWER: dict[str, Any] = {"count": 128, "sent": False}

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
