"""SQL of returns without an end, over all businesses."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx


class StuckReturn(NamedTuple):
    business_id: str
    reference: str
    rail: str
    amount: Money
    status: str
    failure: str | None
    asked_at: datetime


async def list_stuck(tx: Tx, *, before: datetime, limit: int) -> list[StuckReturn]:
    """Failed, or without an end since before then, by the time of each merchant."""
    rows = await tx.fetch(
        """
        SELECT business_id, reference, rail, currency, amount_minor, status, failure, asked_at FROM money_return
         WHERE status = 'failed' OR (next_try_at IS NOT NULL AND is_due(business_id, asked_at, $1))
         ORDER BY asked_at LIMIT $2
        """,
        before, limit,
    )  # fmt: skip
    return [
        StuckReturn(
            row["business_id"], row["reference"], row["rail"],
            Money(row["amount_minor"], Currency(row["currency"])), row["status"], row["failure"],
            row["asked_at"],
        )
        for row in rows
    ]  # fmt: skip
