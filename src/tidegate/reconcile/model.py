"""Lines of a statement, movements of our books, and the findings of their comparison."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

import msgspec

from tidegate.core.money import Money

DAY = timedelta(days=1)
# This close to midnight, money that only our books have may be in the neighbouring day's statement.
EDGE = timedelta(minutes=10)


class Direction(StrEnum):
    IN = "in"
    OUT = "out"

    @property
    def other(self) -> Direction:
        return Direction.OUT if self is Direction.IN else Direction.IN


class RailLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of a statement. The currency may be one we do not support, so the amount is not Money."""

    number: int
    transaction_id: str
    direction: Direction
    amount: Decimal
    currency: str
    booked_at: datetime
    # Our reference, where the rail repeats it.
    reference: str | None = None
    description: str | None = None


class MovementStatus(StrEnum):
    """Status of outgoing money. Incoming money is always done: it is recorded on arrival."""

    DONE = "done"
    UNDER_WAY = "under_way"
    FAILED = "failed"


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """Money that moved at the rail, according to our books."""

    kind: str
    direction: Direction
    # The rail's own; None where only our reference is known.
    transaction_id: str | None
    # Ours, as given to the rail; outgoing money only.
    reference: str | None
    amount: Money
    at: datetime
    status: MovementStatus = MovementStatus.DONE
    business_id: str | None = None
    # The pay code or the collection's reference.
    subject: str | None = None

    def is_same_money_as(self, line: RailLine) -> bool:
        return line.currency == self.amount.currency and line.amount == self.amount.major


class ReconcilePeriod(msgspec.Struct, frozen=True):
    """Whole days, UTC. Rail and books may date the same money differently, by up to the slack."""

    first: date
    last: date
    slack: timedelta

    @property
    def begin(self) -> datetime:
        return datetime.combine(self.first, time.min, UTC)

    @property
    def end(self) -> datetime:
        return datetime.combine(self.last, time.min, UTC) + DAY

    def holds(self, moment: datetime) -> bool:
        return self.begin <= moment < self.end

    def is_at_an_end(self, moment: datetime) -> bool:
        """Never without slack: then dates are taken as exact."""
        edge = min(self.slack, EDGE)
        return not self.begin + edge <= moment < self.end - edge


class DiscrepancyKind(StrEnum):
    """First the breaks, then what is reported without being a break."""

    MISSING = "missing"
    EXTRA = "extra"
    AMOUNT = "amount"
    CURRENCY = "currency"
    DIRECTION = "direction"
    DUPLICATE = "duplicate"
    EDGE = "edge"
    UNCONFIRMED = "unconfirmed"
    UNLISTED = "unlisted"

    @property
    def is_break(self) -> bool:
        return self not in (DiscrepancyKind.EDGE, DiscrepancyKind.UNCONFIRMED, DiscrepancyKind.UNLISTED)


class BreakExplanation(NamedTuple):
    """Why a break is none, in the words of the operator."""

    note: str
    by: str
    at: datetime


class Discrepancy(msgspec.Struct, frozen=True, kw_only=True):
    """Has a line, or a movement, or both."""

    kind: DiscrepancyKind
    line: RailLine | None = None
    movement: Movement | None = None
    explanation: BreakExplanation | None = None


class Balance(msgspec.Struct, frozen=True):
    """Over all rails and all time: money in less money out, and the ledger's account of it."""

    moved: Money
    ledger: Money

    @property
    def agrees(self) -> bool:
        return self.moved == self.ledger
