"""The events of payments, as the reference shows them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tidegate.payment import event_wire as wire
from tidegate.payment.examples import PAY_CODE
from tidegate.webhook.event_document import documented

_CHARGE: dict[str, Any] = {
    "id": 3208467514902773,
    "authorization": {"mode": None, "redirect": None, "metadata": None},
    "auth_model": None,
    "amount": 2500,
    "amountReceived": 2500,
    "amountExpected": 2500,
    "amountToSettle": Decimal("2462.37"),
    "currency": "NGN",
    "fee": 35,
    "vat": Decimal("2.63"),
    "feeBearer": "business",
    "message": "Payment successful",
    "varianceType": None,
    "status": "success",
    "reference": PAY_CODE,
    "transactionReference": PAY_CODE,
    "merchantReference": "ORDER-1001",
    "paymentReference": "ORDER-1001",
    "chargeReference": "att_7cYhN4mPs9Lx2b5RkWq0Zt",
    "description": "Checkout payment ORDER-1001",
    "type": "bank_transfer",
    "method": "bank_transfer",
    "customer": {"name": "Ada Obi", "email": "ada@example.com", "phoneNumber": "+2348012345678"},
    "metadata": {"cart": "c-81", "items": 3},
    "settlementDestination": "wallet",
    "createdAt": "2026-11-15T09:30:00.000Z",
    "updatedAt": "2026-11-15T09:34:12.310Z",
}
_SUCCESSFUL: dict[str, Any] = {
    "event": "charge.successful",
    "type": "charge",
    "data": {
        **_CHARGE,
        "virtualAccount": {
            "id": "65f0c9a1b2d3e4f5a6b7c8e1",
            "bankName": "Tidegate Test Bank",
            "bankCode": "999999",
            "accountName": "Sample Shop Checkout",
            "accountNumber": "9000123456",
            "sessionId": "sbx_5f1c0e9a7b3d24680f9e1c22",
            "channelName": "sandbox",
            "payerAccountNumber": "0123456789",
            "payerAccountName": "Ada Obi",
            "payerBankName": "Sample Bank",
            "payerBankCode": None,
            "expiresAt": "2026-11-15T10:00:00.000Z",
            "business": "65f0c9a1b2d3e4f5a6b7c8d9",
        },
    },
}
_REVERSED: dict[str, Any] = {
    "event": "charge.reversed",
    "type": "charge",
    "data": {
        **_CHARGE,
        "message": "PAYMENT_REVERSED",
        "isReversed": True,
        "amountReversed": 2500,
        "reversal": {
            "sessionId": "sbx_5f1c0e9a7b3d24680f9e1c22",
            "amount": 2500,
            "reason": "sent by mistake",
            "createdAt": "2026-11-16T08:00:00.000Z",
        },
    },
}
_DISPUTED: dict[str, Any] = {
    "event": "charge.disputed",
    "type": "charge",
    "data": {
        **_CHARGE,
        "type": "card",
        "method": "card",
        "dispute": {
            "id": "358950",
            "status": "open",
            "sessionId": "3104021987",
            "amount": 2500,
            "reason": "chargeback awaiting-merchant-feedback",
            "dueAt": "2026-11-18T08:00:00.000Z",
        },
    },
}
EVENTS = (
    documented(wire.ChargeSuccessful, _SUCCESSFUL),
    documented(wire.ChargeReversed, _REVERSED),
    documented(wire.ChargeDisputed, _DISPUTED),
)
