"""Examples and texts for the API reference. A test sends each request and compares each answer's fields."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

GROUP = "Operations for your server, authenticated with your keys."
CREATE_DESCRIPTION = (
    "Returns a link to the hosted checkout page. Send your customer there. When the payment has ended, successfully or "
    "not, the customer returns to `redirectUrl` with `?reference=…`. The redirect proves nothing: verify the payment."
)
VERIFY_DESCRIPTION = (
    "The payment as it is now. Deliver only when `status` is `success`, and check `varianceType`: a bank "
    "transfer can be more or less than `amountExpected`."
)

CREATE_REQUEST: dict[str, Any] = {
    "amount": 2500,
    "currency": "NGN",
    "customer": {"name": "Ada Obi", "email": "ada@example.com", "phoneNumber": "+2348012345678"},
    "feeBearer": "business",
    "reference": "ORDER-1001",
    "redirectUrl": "https://shop.example.com/thanks",
    "metadata": {"cart": "c-81", "items": 3},
    "successMessage": "Thank you! Your order is on its way.",
    "paymentMethods": ["card", "bank_transfer"],
    "defaultPaymentMethod": "card",
}

PAY_CODE = "tg_k3PzQ_5TqBn0yJ3mX8aVdWcR2sKe"

CREATED: dict[str, Any] = {
    "link": f"https://pay.example.com/pay/{PAY_CODE}",
    "payCode": PAY_CODE,
    "reference": "ORDER-1001",
}

RECORD: dict[str, Any] = {
    "id": 3208467514902773,
    "businessId": "65f0c9a1b2d3e4f5a6b7c8d9",
    "paymentLinkId": None,
    "amount": 2500,
    "currency": "NGN",
    "convertedAmount": 2500,
    "amountReceived": 0,
    "convertedCurrency": "NGN",
    "paymentMethods": ["card", "bank_transfer"],
    "defaultPaymentMethod": "card",
    "redirectUrl": "https://shop.example.com/thanks",
    "customUrl": None,
    "successMessage": "Thank you! Your order is on its way.",
    "settlementDestination": "wallet",
    "settlementTime": "instant",
    "feeBearer": "business",
    "reference": PAY_CODE,
    "merchantReference": "ORDER-1001",
    "isDisabled": False,
    "metadata": {"cart": "c-81", "items": 3},
    "status": "initiated",
    "varianceType": None,
    "createdAt": "2026-11-15T09:30:00.000Z",
    "updatedAt": "2026-11-15T09:30:00.000Z",
    "customer": {"name": "Ada Obi", "email": "ada@example.com", "phoneNumber": "+2348012345678"},
    "amountExpected": 2500,
    "amountRefunded": 0,
    "isReversed": False,
    "disputeStatus": None,
    "amountReversed": 0,
    "message": None,
    "actionRequired": None,
}

LIST_DESCRIPTION = (
    "Your payments, the newest first: all of them, or those that fit every filter. A page costs the same however many "
    "there are; go on with `nextCursor`. There is no total: to count them, read all "
    "pages or the file. `Accept: text/csv` gives a file of all rows that fit."
)
PAGE: dict[str, Any] = {"results": [RECORD], "nextCursor": None}

DISABLE_DESCRIPTION = (
    "The link takes no new attempts until you enable it again. Attempts already started can still be finished, and "
    "their money counts: a card that waits for its PIN, an approval on the phone, a transfer to an open account. "
    "Repeating the call changes nothing; a payment that has ended cannot be disabled."
)
ENABLE_DESCRIPTION = "The link works again until its checkout expires. Disabling does not extend the expiry."
DISABLED_RECORD: dict[str, Any] = {**RECORD, "isDisabled": True}

FEES_DESCRIPTION = (
    "The fee and the VAT on it, by the rule that would price the payment: your own where you have one. Nothing is "
    "created."
)
FEES_REQUEST: dict[str, Any] = {"currency": "NGN", "type": "bank_transfer", "amount": 100}
FEES_QUOTED: dict[str, Any] = {
    "currency": "NGN",
    "type": "bank_transfer",
    "amount": 100,
    "fee": Decimal("1.4"),
    "vat": Decimal("0.11"),
    "total": Decimal("1.51"),
    "amountExpectedFromCustomer": Decimal("101.51"),
    "amountToSettleWhenBusinessBears": Decimal("98.49"),
    "feeRule": "default-ngn-bank_transfer",
    "feeOnRefund": "kept",
}

REFERENCE_PARAMETER: dict[str, Any] = {
    "reference": {
        "description": "Your reference, or the pay code when you gave none.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": "ORDER-1001",
    }
}
