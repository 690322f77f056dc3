"""Examples and descriptions for the API reference."""

from __future__ import annotations

from typing import Any

GROUP = "Your own business and its settings. The operator changes them with `tidegate merchant set`."
GET_DESCRIPTION = (
    "Returns the business that the `api-key` belongs to: its id, which other operations take as `x-business-id` or "
    "`business`, and its settings. It contains no key and no secret."
)

RECORD: dict[str, Any] = {
    "id": "65f0c9a1b2d3e4f5a6b7c8d9",
    "business": {"id": "65f0c9a1b2d3e4f5a6b7c8d9", "name": "Sandbox Shop"},
    "name": "Sandbox Shop",
    "email": "shop@example.com",
    "status": "active",
    "mode": "sandbox",
    "ratePerSecond": 50,
    "rateBurst": 100,
    "sessionMinutes": 120,
    "variancePolicy": "accept",
    "varianceToleranceMinor": 0,
    "inflowNamePolicy": "hold",
    "redirectHosts": [],
    "checkoutOrigins": ["https://shop.example.com"],
    "receiptsByMail": False,
    "feeBearer": "business",
    "accentColour": None,
    "logoUrl": None,
    "support": {"email": "shop@example.com", "phone": None, "url": None},
    "createdAt": "2026-11-15T09:00:00.000Z",
}
