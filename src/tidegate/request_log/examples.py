"""Examples and texts for the API reference."""

from __future__ import annotations

from typing import Any

GROUP = "What your own programs asked, and how it was answered."
LIST_DESCRIPTION = (
    "Requests made with your keys, the newest first, about a second after they were answered. They are kept for 7 "
    "days, those that failed for 30, unless this installation is set otherwise. When very many come at once, some that "
    "succeeded are left out. Bodies are kept of failed requests only, with texts and long numbers masked."
)
RECORD: dict[str, Any] = {
    "requestId": "req_5f1c2a7b9d3e4f60",
    "createdAt": "2026-11-15T09:30:00.000Z",
    "method": "POST",
    "path": "/checkout/payments",
    "operation": "createPayment",
    "status": 422,
    "durationMs": 3,
    "keyId": 12,
    "address": "203.0.113.7",
    "errorType": "VALIDATION_FAILED",
    "message": "amount must be at least 1",
    "body": '{"amount":0,"currency":"NGN","customer":{"name":"(7 characters)","email":"(15 characters)"}}',
}
PAGE: dict[str, Any] = {"results": [RECORD], "nextCursor": None}
