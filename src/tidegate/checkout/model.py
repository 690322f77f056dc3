"""What happened to the money of a payment, as shown to its payer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.core.money import Money
from tidegate.money_return.reason import ReturnReason
from tidegate.refund.model import RefundStatus


class ReceivedAs(StrEnum):
    """What was done with money on arrival. Held money stays `held` here, even when the rest has come since."""

    SETTLED = "settled"
    HELD = "held"
    RETURNED = "returned"
    SUSPENSE = "suspense"
    # It was in suspense; an operator returned it, or settled it outside.
    DECIDED = "decided"


class ReturnStatus(StrEnum):
    ASKED = "asked"
    SENT = "sent"
    CONFIRMED = "confirmed"
    # The rail did not return it; an operator does, in another way.
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """Money that arrived. Visible with the link alone, so only the end of the account number is included."""

    amount: Money
    at: datetime
    outcome: ReceivedAs
    # Why it is returned.
    reason: ReturnReason | None
    payer_name: str | None
    payer_bank: str | None
    payer_account_end: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PayerReturn:
    """A return: requested, sent to the rail, confirmed by it. It may be only a part of a receipt."""

    amount: Money
    reason: ReturnReason | None
    status: ReturnStatus
    asked_at: datetime
    confirmed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refunded:
    """A refund by the merchant. `reason` is the merchant's text."""

    amount: Money
    status: RefundStatus
    reason: str | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """A reversal by the payer's bank."""

    amount: Money
    at: datetime


@dataclass(frozen=True, slots=True)
class Movements:
    """Each the oldest first."""

    receipts: tuple[Received, ...] = ()
    returns: tuple[PayerReturn, ...] = ()
    refunds: tuple[Refunded, ...] = ()
    reversals: tuple[TakenBack, ...] = ()


NO_MOVEMENTS = Movements()
