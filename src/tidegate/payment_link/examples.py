"""Examples and texts for the API reference. A test sends each request and compares each answer's fields."""

from __future__ import annotations

from typing import Any

from tidegate.infra.http.operation import Step

GROUP = "Links to share: each customer who opens one and goes on makes an ordinary payment."
CREATE_DESCRIPTION = (
    "A link with a page of its own, a QR code and a poster. The amount is fixed, or the customer's choice within your "
    "bounds. The page asks for name and e-mail address, and for a phone number and a note where you say so. "
    "Payments made by it carry its id as `paymentLinkId`, in the record, in lists and in their events."
)
LIST_DESCRIPTION = "Your payment links, the newest first, with what became of each."
GET_DESCRIPTION = "A payment link as it is now."
END_DESCRIPTION = (
    "It takes no new payments until you reopen it. Payments already begun can still be paid. Repeating the call "
    "changes nothing."
)
REOPEN_DESCRIPTION = "It takes payments again. Refused when its end date has passed or it is used up: duplicate it."
DUPLICATE_DESCRIPTION = "A new link with the same terms and another address. An end date that has passed is left out."

REQUEST: dict[str, Any] = {
    "name": "Workshop ticket",
    "kind": "reusable",
    "currency": "NGN",
    "amount": 2500,
    "paymentsMax": 40,
    "paymentMethods": ["card", "bank_transfer"],
    "askPhoneNumber": "optional",
    "askNote": "required",
    "noteLabel": "T-shirt size",
    "successMessage": "See you on Saturday!",
    "redirectUrl": "https://shop.example.com/thanks",
}
LINK_ID = "pl_k3PzQ_5TqBn0yJ3mX8aVdWcR2sKe"
RECORD: dict[str, Any] = {
    "id": LINK_ID,
    "businessId": "65f0c9a1b2d3e4f5a6b7c8d9",
    "name": "Workshop ticket",
    "kind": "reusable",
    "state": "open",
    "link": f"https://pay.example.com/link/{LINK_ID}",
    "qrSvg": f"https://pay.example.com/link/{LINK_ID}/qr.svg",
    "qrPng": f"https://pay.example.com/link/{LINK_ID}/qr.png",
    "poster": f"https://pay.example.com/link/{LINK_ID}/poster.pdf",
    "currency": "NGN",
    "amount": 2500,
    "amountMin": None,
    "amountMax": None,
    "feeBearer": "business",
    "paymentMethods": ["card", "bank_transfer"],
    "askPhoneNumber": "optional",
    "askNote": "required",
    "noteLabel": "T-shirt size",
    "successMessage": "See you on Saturday!",
    "redirectUrl": "https://shop.example.com/thanks",
    "paymentsMax": 40,
    "timesOpened": 0,
    "paymentsMade": 0,
    "paymentsPaid": 0,
    "amountReceived": 0,
    "endsAt": None,
    "endedAt": None,
    "createdAt": "2026-11-15T09:30:00.000Z",
}
ENDED_RECORD: dict[str, Any] = {**RECORD, "state": "ended", "endedAt": "2026-11-16T09:30:00.000Z"}
PAGE: dict[str, Any] = {"results": [RECORD], "nextCursor": None}
LINK_PARAMETER: dict[str, Any] = {
    "linkId": {
        "description": "The id of the payment link.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": LINK_ID,
    }
}
A_LINK = (Step("createPaymentLink"),)
