"""Webhook events of virtual accounts, sent to endpoints that subscribe to them."""

from __future__ import annotations

from datetime import datetime

from tidegate.account import wire
from tidegate.account.model import Account, AccountAction
from tidegate.core import ids
from tidegate.infra.http.operation import encode
from tidegate.merchant.model import Business
from tidegate.webhook.model import Event

_TYPE_OF: dict[AccountAction, wire.AccountEventName] = {
    AccountAction.APPROVE: "virtualaccount.approved",
    AccountAction.DECLINE: "virtualaccount.declined",
    AccountAction.SUSPEND: "virtualaccount.suspended",
    AccountAction.CLOSE: "virtualaccount.closed",
}


def event_of(action: AccountAction, account: Account, business: Business, *, now: datetime) -> Event | None:
    """None for an action without an event. An account can be suspended repeatedly, so the cause holds its version."""
    event_type = _TYPE_OF.get(action)
    if event_type is None:
        return None
    return Event(
        id=ids.new_event_id(),
        type=event_type,
        cause=f"account/{account.id}/{account.version}",
        reference=account.merchant_reference or account.id,
        payload=encode(wire.AccountEvent(event=event_type, data=wire.record_of(account, business, now=now))),
    )
