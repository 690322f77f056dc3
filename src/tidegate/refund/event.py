"""Payload of the event for a refund that has ended, sent to endpoints that subscribe to it."""

from __future__ import annotations

from tidegate.core import ids
from tidegate.infra.http.operation import encode
from tidegate.refund import wire
from tidegate.refund.model import RefundStatus, RefundView
from tidegate.webhook.model import Event


def refund_ended(view: RefundView) -> Event:
    refund = view.refund
    event_type: wire.RefundEventName = (
        "refund.successful" if refund.status is RefundStatus.SUCCESSFUL else "refund.failed"
    )
    return Event(
        id=ids.new_event_id(),
        type=event_type,
        cause=refund.reference,
        reference=view.subject.merchant_reference or view.subject.reference,
        payload=encode(wire.RefundEvent(event=event_type, data=wire.record_of(view))),
    )
