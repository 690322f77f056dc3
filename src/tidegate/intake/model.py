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
    # The rail's, that brought it.
    notification_id: str | None = None

    @property
    def cause(self) -> str:
        """The cause of its journals."""
        return f"{self.rail}/{self.transaction_id}"

    @property
    def remittance(self) -> str | None:
        return self.transfer.remittance if self.transfer else None


class TransferCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A payment that money in suspense may be for."""

    business_id: str
    business: str
    pay_code: str
    merchant_reference: str
    expected: Money
    status: str
    # Shown to the payer, for the narration; None where the rail has none.
    code: str | None
    # Otherwise it waits for a transfer of this amount.
    is_named: bool


class DecidedTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of money that was in suspense."""

    payer: str | None
    narration: str | None


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
    # Under which business it was in suspense, and what brought it there.
    business_id: str = ""
    rail: str = ""
    notification_id: str | None = None

    def __str__(self) -> str:
        what = {
            "assigned": f"assigned to {self.subject} of {self.given_to}",
            "returned": f"returned as {self.subject}",
            "closed": "closed",
        }[self.decision]
        return f"{what} by {self.decided_by}"
