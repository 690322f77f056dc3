"""What the service has acknowledged. Whatever is in here must be in the database, once, at the end."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Mapping
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
    # Answers after which a client asks again.
    unknown: Counter[str] = field(default_factory=Counter)
    # When creates were acknowledged, by the monotonic clock.
    created_at: list[float] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    def find(self, what: str) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(what)

    def create(self, payment: AcknowledgedPayment) -> None:
        self.payments[payment.reference] = payment
        self.created_at.append(time.monotonic())
        self.done["created"] += 1

    def longest_pause_s(self, since: float) -> float:
        """Between two acknowledged creates, from that moment until now."""
        moments = [since, *(moment for moment in self.created_at if moment > since), time.monotonic()]
        return max(later - earlier for earlier, later in itertools.pairwise(moments))

    def pay(self, payment: AcknowledgedPayment) -> None:
        if not payment.is_paid:
            payment.is_paid = True
            self.paid.append(payment)
            self.done["paid"] += 1


def words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
