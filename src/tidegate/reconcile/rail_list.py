"""A rail's own list of what moved, as lines to compare."""

from __future__ import annotations

from tidegate.core.errors import Conflict
from tidegate.rail.interface import Rail
from tidegate.reconcile.model import Direction, RailLine, ReconcilePeriod


def kinds_left_out(rail: Rail) -> frozenset[str]:
    """Kinds of movements that its list never has."""
    return frozenset() if rail.capabilities.lists_reversals else frozenset({"reversal"})


async def fetch(rail: Rail, period: ReconcilePeriod) -> list[RailLine]:
    """Raises Conflict for a rail that has no list, and what its calls raise."""
    if not rail.capabilities.lists_transactions:
        raise Conflict(f"{rail.name} has no list of its transactions: give its statement as a file")
    lines: list[RailLine] = []
    async for one in rail.list_transactions(period.begin, period.end):
        lines.append(
            RailLine(
                number=len(lines) + 1,
                transaction_id=one.transaction_id,
                direction=Direction.IN if one.is_incoming else Direction.OUT,
                amount=one.amount.major,
                currency=one.amount.currency,
                booked_at=one.booked_at,
                reference=one.reference,
            )
        )
    return lines
