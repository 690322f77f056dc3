"""Webhook events of inflows."""

from __future__ import annotations

from typing import Any

from tidegate.collection import event_wire as wire
from tidegate.collection.model import Collection
from tidegate.core import ids
from tidegate.infra.http.operation import encode
from tidegate.infra.timestamp import to_iso
from tidegate.webhook.model import Event


def collection_successful(collection: Collection) -> Event:
    credited = collection.credited
    assert credited is not None
    data = wire.CreditedInflowData(
        **_facts(collection),
        destination_amount=credited.gross.major,
        amount_received=credited.net.major,
        fee=credited.fee.fee.major,
        vat=credited.fee.vat.major,
        exchange_rate=credited.applied_rate.rate if credited.applied_rate else None,
    )
    return _event(wire.CollectionSuccessful(data=data), collection)


def collection_returned(collection: Collection) -> Event:
    """After the rail has confirmed the return, or the bank has reversed the credit."""
    reason, sent_back = collection.reason, collection.sent_back
    assert reason is not None
    data = wire.ReturnedInflowData(
        **_facts(collection),
        reason=reason.sentence,
        reason_code=reason,
        return_reference=sent_back.reference if sent_back else None,
        returned_at=to_iso(collection.updated_at),
    )
    return _event(wire.CollectionReturned(data=data), collection)


def _event(payload: wire.CollectionSuccessful | wire.CollectionReturned, collection: Collection) -> Event:
    return Event(
        id=ids.new_event_id(),
        type=payload.event,
        cause=collection.cause,
        reference=collection.reference,
        payload=encode(payload),
    )


def _facts(collection: Collection) -> dict[str, Any]:
    return {
        "business": collection.business_id,
        "virtual_account": collection.account_id,
        "sender_address": collection.payer.account_number or "",
        "sender_bank": collection.payer.bank_name or "",
        "source_currency": collection.amount.currency,
        "destination_currency": collection.destination_currency,
        "source_amount": collection.amount.major,
        "description": description_of(collection),
        "customer_name": collection.payer.name or "",
        "status": collection.status,
        "initiated_at": to_iso(collection.valued_at),
        "created_at": to_iso(collection.created_at),
        "updated_at": to_iso(collection.updated_at),
        "reference": collection.reference,
        "merchant_reference": collection.merchant_reference,
        "payment_scheme": collection.scheme,
    }


def description_of(collection: Collection) -> str:
    """The payer's remittance text, or a default."""
    payer = collection.payer.name
    return collection.remittance or (f"Bank transfer from {payer}" if payer else "Bank transfer")
