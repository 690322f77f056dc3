"""The events of refunds, as the reference shows them."""

from __future__ import annotations

from tidegate.refund.examples import RECORD
from tidegate.refund.wire import RefundEvent
from tidegate.webhook.event_document import documented

_FAILED = {**RECORD, "refundStatus": "failed", "amountRefunded": 0, "failureReason": "declined"}
EVENTS = (
    documented(RefundEvent, {"event": "refund.successful", "data": RECORD}),
    documented(RefundEvent, {"event": "refund.failed", "data": _FAILED}),
)
