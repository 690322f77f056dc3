"""Examples and texts for the API reference: the operator's decisions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tidegate.account import examples as account
from tidegate.collection import examples as collection
from tidegate.infra.http.operation import Step

APPROVE = "The rail opens the account: its details are available at once, and it takes transfers."
DECLINE = "The account gets no details. To try again, request another account."
SUSPEND = "Money that arrives while the account is suspended is returned."
REINSTATE = "The account takes transfers again."
CLOSE = "Final. Money that arrives afterwards is returned."
CREDIT = "Credits a held inflow despite its review reason. Only while it is `pending`."
RETURN = "Returns a held inflow to its payer. Only while it is `pending`."
RATE = (
    "The rate for inflows whose account settles in another currency; without a current rate they are held. It applies "
    "to this business only; the newest of its own and the operator's rates is used until it expires."
)

_BANK: dict[str, Any] = account.RECORD["accountInformation"]
APPROVED: dict[str, Any] = {
    **account.RECORD,
    "accountNumber": account.NEW_IBAN,
    "accountInformation": {
        **_BANK,
        "accountNumber": account.NEW_IBAN,
        "otherInfo": {
            **_BANK["otherInfo"],
            "iban": account.NEW_IBAN,
            "accountNumber": "9000123456",
            "checkNumber": "02",
        },
    },
}
DECLINED: dict[str, Any] = {**account.PENDING_RECORD, "status": "declined", "reason": "the passport has expired"}
SUSPENDED: dict[str, Any] = {**APPROVED, "isActive": False, "isSuspended": True, "reason": "under review"}
CLOSED: dict[str, Any] = {**APPROVED, "status": "closed", "isActive": False, "reason": "no longer needed"}
CREDITED: dict[str, Any] = {**collection.RECORD, "payeeName": "A. Obi"}
SENT_BACK: dict[str, Any] = {
    **CREDITED,
    "status": "reversed",
    "reason": "it was looked at and not accepted",
    "destinationAmount": None,
    "amountReceived": None,
    "fee": 0,
    "refundInfo": {
        "amountRefunded": 250,
        "reason": "it was looked at and not accepted",
        "reasonCode": "review_refused",
        "status": "asked",
        "returnReference": "rt_7cYhN4mPs9Lx2b5RkWq0Zt",
        "askedAt": "2026-11-15T09:42:00.000Z",
        "confirmedAt": None,
    },
    "isReversed": 1,
}
DECLINE_REQUEST = {"reason": "the passport has expired"}
SUSPEND_REQUEST = {"reason": "under review"}
CLOSE_REQUEST = {"reason": "no longer needed"}
CREDIT_REQUEST = {"note": "the payer wrote the first name as an initial"}
RETURN_REQUEST = {"note": "meant for another recipient"}
RATE_REQUEST: dict[str, Any] = {
    "base": "EUR",
    "quote": "USD",
    "rate": Decimal("1.0842"),
    "spreadPercent": Decimal("0.5"),
}
RATE_SET: dict[str, Any] = {
    **RATE_REQUEST,
    "source": "sandbox",
    "quotedAt": "2026-11-15T09:30:00.000Z",
    "usableUntil": "2026-11-15T10:30:00.000Z",
}

A_REQUEST = (Step("requestAccount"),)
A_SUSPENDED_ACCOUNT = (*account.AN_ACCOUNT, Step("suspendAccount"))
A_HELD_INFLOW = (
    *account.AN_ACCOUNT,
    Step("sendTransfer", {**collection.TRANSFER, "payee": {"name": "A. Obi"}}),
    Step("listCollections", query={"status": "pending"}, is_awaited=True),
)
