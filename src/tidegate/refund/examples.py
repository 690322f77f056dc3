"""Examples and texts for the API reference."""

from __future__ import annotations

from typing import Any

from tidegate.infra.http.operation import Step
from tidegate.payment.examples import PAY_CODE

GROUP = (
    "Refund all of a payment, a part, or the excess of an overpayment. Your wallet is debited when a refund starts, "
    "and credited again with any part that fails. Our fee is kept unless your price list says otherwise. The webhooks "
    "`refund.successful` and `refund.failed` are sent to endpoints that subscribe to them."
)
CREATE_DESCRIPTION = (
    "`transReference` is your reference, a pay code, or the reference of a collection. The amount is limited to what "
    "was received and not yet refunded, and to your wallet's balance. In the sandbox a refund takes two seconds; an "
    "amount that ends in .13 is declined, and one that ends in .17 is not answered at first."
)
GET_DESCRIPTION = "The refund as it is now. `successful` and `failed` are final."
LIST_DESCRIPTION = "The newest first. Filters are combined with AND."

REFERENCE = "rf_2b5RkWq0Zt7cYhN4mPs9Lx"
REFERENCE_PARAMETER: dict[str, Any] = {
    "reference": {
        "description": "The `reference` of the refund.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 100},
        "example": REFERENCE,
    }
}
# A payment paid by a test card.
PAID = (
    Step(
        "createPayment",
        {"amount": 2500, "currency": "NGN", "customer": {"name": "Ada Obi", "email": "ada@example.com"}},
    ),
    Step(
        "chargeCheckout",
        {"type": "card", "card": {"number": "5319317801366660", "expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}},
    ),
)
REQUEST: dict[str, Any] = {"transReference": PAY_CODE, "amount": 1000, "reason": "One of the two was sold out"}
PROCESSING: dict[str, Any] = {
    "reference": REFERENCE,
    "collectionReference": PAY_CODE,
    "collectionMerchantReference": "ORDER-1001",
    "currency": "NGN",
    "amountRefunded": 1000,
    "amountRequested": 1000,
    "feeReturned": 0,
    "vatReturned": 0,
    "collectionAmountExpected": 2500,
    "collectionAmountReceived": 2500,
    "collectionAmountSettled": 2462.37,
    "collectionVarianceType": None,
    "refundStatus": "processing",
    "failureReason": None,
    "reason": "One of the two was sold out",
    "note": None,
    "initiatedAt": "2026-11-15T09:30:00.000Z",
    "completedAt": None,
}
RECORD: dict[str, Any] = {
    **PROCESSING,
    "refundStatus": "successful",
    "completedAt": "2026-11-15T09:30:02.114Z",
}
PAGE: dict[str, Any] = {"results": [RECORD], "nextCursor": None}
