"""The events of inflows, as the reference shows them."""

from __future__ import annotations

from typing import Any

from tidegate.account.examples import ACCOUNT_ID
from tidegate.collection import event_wire as wire
from tidegate.collection.examples import REFERENCE
from tidegate.webhook.event_document import documented

_INFLOW: dict[str, Any] = {
    "business": "65f0c9a1b2d3e4f5a6b7c8d9",
    "virtualAccount": ACCOUNT_ID,
    "senderAddress": "FR7630006000011234567890189",
    "senderBank": "Sample Bank",
    "sourceCurrency": "EUR",
    "destinationCurrency": "EUR",
    "sourceAmount": 250,
    "description": "Invoice 1001",
    "customerName": "Jean Dupont",
    "status": "successful",
    "initiatedAt": "2026-11-15T00:00:00.000Z",
    "createdAt": "2026-11-15T09:30:00.000Z",
    "updatedAt": "2026-11-15T09:30:00.000Z",
    "reference": REFERENCE,
    "merchantReference": None,
    "paymentScheme": "sepa",
}
_SUCCESSFUL: dict[str, Any] = {
    "event": "collection.successful",
    "data": {
        **_INFLOW,
        "destinationAmount": 250,
        "amountReceived": 245,
        "fee": 5,
        "vat": 0,
        "exchangeRate": None,
        "settlementDestination": "wallet",
    },
}
_RETURNED: dict[str, Any] = {
    "event": "collection.returned",
    "data": {
        **_INFLOW,
        "status": "reversed",
        "reason": "the name given is not the account holder's",
        "reasonCode": "name_differs",
        "returnReference": "sbx_ret_9a7b3d24680f9e1c",
        "returnedAt": "2026-11-15T09:30:04.000Z",
    },
}
EVENTS = (documented(wire.CollectionSuccessful, _SUCCESSFUL), documented(wire.CollectionReturned, _RETURNED))
