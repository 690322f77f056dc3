"""Money without an owner, and what was decided about it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from tidegate.core.money import Money
from tidegate.rail.event import MoneyArrived


class SuspenseReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """Money without an owner. `id` is what operators name it by."""

    # The business whose account received it; the platform's when no account has the number.
    business_id: str
    id: int
    received_at: datetime
    amount: Money
    account_number: str | None
    reason: str
    rail: str
    transaction_id: str
    payer: dict[str, Any]
    # None for money of an attempt, which came without an account.
    transfer: MoneyArrived | None

    @property
    def cause(self) -> str:
        """The cause of its journals."""
        return f"{self.rail}/{self.transaction_id}"

    @property
    def remittance(self) -> str | None:
        return self.transfer.remittance if self.transfer else None


class SuspenseDecision(msgspec.Struct, frozen=True, kw_only=True):
    """`subject` is a pay code, the id of a virtual account, or the reference of a return."""

    receipt_id: int = 0
    amount: Money | None = None
    decision: str
    given_to: str | None
    subject: str | None
    note: str
    decided_by: str
    decided_at: datetime

    def __str__(self) -> str:
        what = {
            "assigned": f"assigned to {self.subject} of {self.given_to}",
            "returned": f"returned as {self.subject}",
            "closed": "closed",
        }[self.decision]
        return f"{what} by {self.decided_by}"
