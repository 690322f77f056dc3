"""Payers' data, masked for roles that do not see it."""

from __future__ import annotations

import json
from typing import Any

from tidegate.dashboard.shell import DashboardVisitor
from tidegate.member.permission import Permission

# Of events: fields whose values, and all below them, identify the payer, or are free text that may do so.
_OF_PAYERS = {
    "customer", "customerName", "senderAddress", "senderBank", "payerAccountName", "payerAccountNumber",
    "payerBankName", "payerBankCode", "description", "note", "reason", "metadata",
    # Of the holder of an account.
    "KYCInformation", "verifiedKYCData", "meansOfId", "utilityBill", "bankStatement", "attachments", "monthlyVolume",
    "paymentFlowDescription", "entityName",
}  # fmt: skip


def payer_of(visitor: DashboardVisitor, text: str) -> str:
    """As it is, or c…@gmail.com and C…"""
    return text if visitor.may(Permission.SEE_PAYER) else _masked(text)


def event_of(visitor: DashboardVisitor, payload: bytes | None) -> bytes | None:
    """The body of an event."""
    if payload is None or visitor.may(Permission.SEE_PAYER):
        return payload
    return json.dumps(without_payer(json.loads(payload)), ensure_ascii=False).encode()


def _masked(text: str) -> str:
    name, at, host = text.partition("@")
    return f"{name[:1]}…{at}{host}"


def without_payer(value: Any, *, is_payer: bool = False) -> Any:
    if isinstance(value, dict):
        return {name: without_payer(one, is_payer=is_payer or name in _OF_PAYERS) for name, one in value.items()}
    if isinstance(value, list):
        return [without_payer(one, is_payer=is_payer) for one in value]
    if not is_payer or value is None or isinstance(value, bool):
        return value
    return _masked(value if isinstance(value, str) else "")
