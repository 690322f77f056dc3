"""What a rail lists, what our books hold, and what may be said of the two."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum

import msgspec

from tidegate.core.money import Money

DAY = timedelta(days=1)
# So near to midnight, money that only our books have may be in the statement of the day before or after.
EDGE = timedelta(minutes=10)


class Direction(StrEnum):
    IN = "in"
    OUT = "out"

    @property
    def other(self) -> Direction:
        return Direction.OUT if self is Direction.IN else Direction.IN


class Line(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of a statement. A rail may write a currency that is none of ours, so the amount is no Money."""

    number: int
    transaction_id: str
    direction: Direction
    amount: Decimal
    currency: str
    booked_at: datetime
    # Ours, where the rail repeats it.
    reference: str | None = None
    description: str | None = None


class Standing(StrEnum):
    """How far money that goes out has come. What comes in is always done: it is recorded when it has come."""

    DONE = "done"
    UNDER_WAY = "under_way"
    FAILED = "failed"


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """Money that moved at the rail, as our books have it."""

    kind: str
    direction: Direction
    # The rail's own; None where only our reference is known.
    transaction_id: str | None
    # Ours, which the rail was given; only of money that goes out.
    reference: str | None
    amount: Money
    at: datetime
    standing: Standing = Standing.DONE
    business_id: str | None = None
    # The pay code or the collection's reference.
    subject: str | None = None

    def is_same_money_as(self, line: Line) -> bool:
        return line.currency == self.amount.currency and line.amount == self.amount.major


class Period(msgspec.Struct, frozen=True):
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
        """Without slack nothing is: then dates are taken at their word."""
        edge = min(self.slack, EDGE)
        return not self.begin + edge <= moment < self.end - edge


class Kind(StrEnum):
    """The breaks, and after them what is worth a look and breaks nothing."""

    MISSING = "missing"
    EXTRA = "extra"
    AMOUNT = "amount"
    CURRENCY = "currency"
    DIRECTION = "direction"
    DUPLICATE = "duplicate"
    EDGE = "edge"
    UNCONFIRMED = "unconfirmed"

    @property
    def is_break(self) -> bool:
        return self not in (Kind.EDGE, Kind.UNCONFIRMED)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Has a line, or a movement, or both."""

    kind: Kind
    line: Line | None = None
    movement: Movement | None = None


class Balance(msgspec.Struct, frozen=True):
    """Of all rails and all times: money in less money out, and the ledger's account of the same."""

    moved: Money
    ledger: Money

    @property
    def agrees(self) -> bool:
        return self.moved == self.ledger
