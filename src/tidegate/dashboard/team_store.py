"""SQL of what Home says about a business's people, and about a sample month of trade.

On a cluster these tables are on the coordinator, so they are asked by themselves.
"""

from __future__ import annotations

from typing import NamedTuple

from tidegate.infra.db import Tx


class TeamFacts(NamedTuple):
    # Those besides who looks, whose role approves refunds.
    other_approvers: int
    # Days of a sample trade that are left, and of how many; None unless some are.
    trade: tuple[int, int] | None


async def get_facts(tx: Tx, business_id: str, person_id: str) -> TeamFacts:
    row = await tx.fetchrow(
        """
        SELECT (SELECT count(*) FROM membership
                 WHERE business_id = $1 AND person_id <> $2 AND role IN ('owner', 'admin', 'finance')) AS approvers,
               (SELECT ARRAY[days_left, days] FROM sandbox_trade WHERE business_id = $1 AND days_left > 0) AS trade
        """,
        business_id, person_id,
    )  # fmt: skip
    assert row is not None
    return TeamFacts(row["approvers"], tuple(row["trade"]) if row["trade"] else None)
