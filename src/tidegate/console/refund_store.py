"""SQL of one refund: its parts, and what its rails answered."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.money import Currency, Money
from tidegate.infra.db import Tx


class RefundPart(NamedTuple):
    """Goes back by the way one transfer came."""

    reference: str
    rail: str
    # Of the money that came in, and of the money that went out.
    transaction_id: str
    sent_as: str | None
    amount: Money
    status: str
    failure: str | None
    polls: int
    next_poll_at: datetime | None
    completed_at: datetime | None
    # Of the last time that the rail was asked, where it failed.
    last_answer: str | None


async def find_reference(tx: Tx, business_id: str, part: str) -> str | None:
    """Of the refund that a part belongs to."""
    found: str | None = await tx.fetchval(
        """
        SELECT refund.reference FROM refund_leg AS leg
          JOIN refund ON refund.business_id = leg.business_id AND refund.id = leg.refund_id
         WHERE leg.business_id = $1 AND leg.reference = $2
        """,
        business_id, part,
    )  # fmt: skip
    return found


async def list_parts(tx: Tx, business_id: str, refund_id: int) -> list[RefundPart]:
    rows = await tx.fetch(
        """
        SELECT leg.reference, leg.rail, leg.transaction_id, leg.sent_as, leg.currency, leg.amount_minor, leg.status,
               leg.failure, leg.polls, leg.next_poll_at, leg.completed_at, work.last_error AS last_answer
          FROM refund_leg AS leg
          LEFT JOIN leased_work AS work
            ON work.business_id = leg.business_id AND work.kind = 'poll_refunds' AND work.id = leg.reference
         WHERE leg.business_id = $1 AND leg.refund_id = $2 ORDER BY leg.reference
        """,
        business_id, refund_id,
    )  # fmt: skip
    return [
        RefundPart(
            row["reference"], row["rail"], row["transaction_id"], row["sent_as"],
            Money(row["amount_minor"], Currency(row["currency"])), row["status"], row["failure"], row["polls"],
            row["next_poll_at"], row["completed_at"], row["last_answer"],
        )
        for row in rows
    ]  # fmt: skip
