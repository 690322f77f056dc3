"""Webhook events of inflows."""

from __future__ import annotations

from typing import Any

from tidegate.collection.model import Collection
from tidegate.core import ids
from tidegate.infra.http.operation import encode
from tidegate.infra.timestamp import to_iso
from tidegate.webhook.model import Event

COLLECTION_SUCCESSFUL = "collection.successful"
COLLECTION_RETURNED = "collection.returned"


def collection_successful(collection: Collection) -> Event:
    credited = collection.credited
    assert credited is not None
    data = {
        **_common(collection),
        "destinationAmount": credited.gross.major,
        "amountReceived": credited.net.major,
        "fee": credited.fee.fee.major,
        "vat": credited.fee.vat.major,
        "exchangeRate": credited.exchanged.rate if credited.exchanged else None,
        "settlementDestination": "wallet",
    }
    return _event(COLLECTION_SUCCESSFUL, collection, data)


def collection_returned(collection: Collection) -> Event:
    """After the rail has confirmed the return, or the bank has reversed the credit."""
    reason, sent_back = collection.reason, collection.sent_back
    assert reason is not None
    data = {
        **_common(collection),
        "reason": reason.sentence,
        "reasonCode": reason.value,
        "returnReference": sent_back.reference if sent_back else None,
        "returnedAt": to_iso(collection.updated_at),
    }
    return _event(COLLECTION_RETURNED, collection, data)


def _event(event_type: str, collection: Collection, data: dict[str, Any]) -> Event:
    return Event(
        id=ids.new_event_id(),
        type=event_type,
        cause=collection.cause,
        reference=collection.reference,
        payload=encode({"event": event_type, "data": data}),
    )


def _common(collection: Collection) -> dict[str, Any]:
    return {
        "business": collection.business_id,
        "virtualAccount": collection.account_id,
        "senderAddress": collection.payer.account_number or "",
        "senderBank": collection.payer.bank_name or "",
        "sourceCurrency": collection.amount.currency,
        "destinationCurrency": collection.destination_currency,
        "sourceAmount": collection.amount.major,
        "description": description_of(collection),
        "customerName": collection.payer.name or "",
        "status": collection.status,
        "initiatedAt": to_iso(collection.valued_at),
        "createdAt": to_iso(collection.created_at),
        "updatedAt": to_iso(collection.updated_at),
        "reference": collection.reference,
        "merchantReference": collection.merchant_reference,
        "paymentScheme": collection.scheme,
    }


def description_of(collection: Collection) -> str:
    """The payer's remittance text, or a default."""
    payer = collection.payer.name
    return collection.remittance or (f"Bank transfer from {payer}" if payer else "Bank transfer")
