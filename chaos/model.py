"""What the service has acknowledged. Whatever is in here must be in the database, once, at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

FINDINGS_MAX = 200


@dataclass
class AcknowledgedPayment:
    shop: str
    reference: str
    pay_code: str
    minor: int
    currency: str
    is_paid: bool = False


@dataclass(frozen=True)
class AcknowledgedTransfer:
    """What a bank was told to send: to a payment, or as an inflow."""

    shop: str
    reference: str
    minor: int
    currency: str


@dataclass(frozen=True)
class AcknowledgedRefund:
    shop: str
    reference: str
    minor: int


@dataclass
class Model:
    payments: dict[str, AcknowledgedPayment] = field(default_factory=dict)
    # Whose answer to a charge said "success".
    paid: list[AcknowledgedPayment] = field(default_factory=list)
    transfers: dict[str, AcknowledgedTransfer] = field(default_factory=dict)
    inflows: dict[str, AcknowledgedTransfer] = field(default_factory=dict)
    # By idempotency key.
    refunds: dict[str, AcknowledgedRefund] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def find(self, what: str) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(what)

    def pay(self, payment: AcknowledgedPayment) -> None:
        if not payment.is_paid:
            payment.is_paid = True
            self.paid.append(payment)
            self.done["paid"] += 1
