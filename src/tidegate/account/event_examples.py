"""The events of virtual accounts, as the reference shows them."""

from __future__ import annotations

from typing import Any

from tidegate.account.examples import PENDING_RECORD, RECORD
from tidegate.account.wire import AccountEvent
from tidegate.webhook.event_document import documented

_DATA: dict[str, dict[str, Any]] = {
    "virtualaccount.approved": RECORD,
    "virtualaccount.declined": {**PENDING_RECORD, "status": "declined", "reason": "the document cannot be read"},
    "virtualaccount.suspended": {**RECORD, "isActive": False, "isSuspended": True, "reason": "under review"},
    "virtualaccount.closed": {**RECORD, "isActive": False, "status": "closed", "reason": "asked for by the holder"},
}
EVENTS = tuple(documented(AccountEvent, {"event": name, "data": data}) for name, data in _DATA.items())
