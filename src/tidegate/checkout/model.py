"""What happened to the money of a payment, as its payer may see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.core.money import Money
from tidegate.money_return.reason import ReturnReason
from tidegate.refund.model import RefundStatus


class TakenAs(StrEnum):
    """What was done with money when it arrived. Held money stays `held` here, also when the rest has come since."""

    SETTLED = "settled"
    HELD = "held"
    RETURNED = "returned"
    SUSPENSE = "suspense"


class ReturnStatus(StrEnum):
    ASKED = "asked"
    SENT = "sent"
    CONFIRMED = "confirmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """Money that arrived. Whoever has the link sees it, so of an account only the end is there."""

    amount: Money
    at: datetime
    taken: TakenAs
    # Why it goes back.
    reason: ReturnReason | None
    payer_name: str | None
    payer_bank: str | None
    payer_account_end: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack:
    """Money on its way back: asked for, sent to the rail, confirmed by it. Of a receipt it may be only a part."""

    amount: Money
    reason: ReturnReason | None
    status: ReturnStatus
    asked_at: datetime
    confirmed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refunded:
    """Money that the merchant gives back. `reason` is the merchant's own words."""

    amount: Money
    status: RefundStatus
    reason: str | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """Money that the payer's bank took back."""

    amount: Money
    at: datetime


@dataclass(frozen=True, slots=True)
class Movements:
    """Each the oldest first."""

    receipts: tuple[Received, ...] = ()
    returns: tuple[SentBack, ...] = ()
    refunds: tuple[Refunded, ...] = ()
    reversals: tuple[TakenBack, ...] = ()


NO_MOVEMENTS = Movements()
