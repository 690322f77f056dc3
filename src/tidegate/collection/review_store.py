"""SQL of the operator's queries on inflows, and of exchange rates, which operators set."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.collection.model import Collection
from tidegate.collection.rate import Rate
from tidegate.collection.store import collection_of, rate_of
from tidegate.infra.db import Tx
from tidegate.infra.leased_work import DueRow


async def find_unscoped(tx: Tx, reference: str) -> Collection | None:
    """A reference is 128 random bits, unique among all businesses. Each business is searched by its own index key."""
    row = await tx.fetchrow(
        """
        SELECT found.* FROM business CROSS JOIN LATERAL (
            SELECT * FROM collection WHERE business_id = business.id AND reference = $1) AS found
        """,
        reference,
    )
    return collection_of(row) if row else None


async def list_held(tx: Tx, *, business_id: str | None, limit: int) -> list[Collection]:
    """The oldest first."""
    rows = await tx.fetch(
        """
        SELECT * FROM collection
         WHERE status = 'pending' AND ($1::text IS NULL OR business_id = $1) ORDER BY id LIMIT $2
        """,
        business_id, limit,
    )  # fmt: skip
    return [collection_of(row) for row in rows]


async def list_returned(tx: Tx, *, before: tuple[datetime, int] | None, limit: int) -> list[Collection]:
    """Of all businesses, the newest first. `before` is when the last of the page before was returned, and its id."""
    rows = await tx.fetch(
        """
        SELECT * FROM collection
         WHERE return_asked_at IS NOT NULL
           AND (return_asked_at, id) < (coalesce($1::timestamptz, 'infinity'), coalesce($2::bigint, 0))
         ORDER BY return_asked_at DESC, id DESC LIMIT $3
        """,
        *(before or (None, None)), limit,
    )  # fmt: skip
    return [collection_of(row) for row in rows]


class HoldDecision(NamedTuple):
    """Who ended a hold, and as which action; as the audit trail has it."""

    actor: str
    action: str
    # Where the staff decided by two.
    proposed_by: str | None


async def list_decisions(tx: Tx, inflows: Sequence[Collection]) -> dict[str, HoldDecision]:
    """By reference. None of what is held, and of what never was."""
    rows = await tx.fetch(
        """
        SELECT subject, actor, action, details ->> 'proposedBy' AS proposed_by FROM audit
         WHERE business_id = ANY ($1) AND subject = ANY ($2)
           AND action IN ('collection.credited', 'collection.sent_back', 'collection.hold_ended',
                          'inflow.credit.approved', 'inflow.return.approved')
         ORDER BY id
        """,
        list({one.business_id for one in inflows}), [one.reference for one in inflows],
    )  # fmt: skip
    # An approval is written before what it does.
    proposed_by = {row["subject"]: row["proposed_by"] for row in rows if row["proposed_by"]}
    return {
        row["subject"]: HoldDecision(row["actor"], row["action"], proposed_by.get(row["subject"]))
        for row in rows
        if row["action"].startswith("collection.")
    }


# The kind of leased work. The statement below repeats the name.
RETURN_OVERDUE = "return_overdue_inflows"


async def list_overdue(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    """References of inflows that were held beyond the time limit."""
    rows = await tx.fetch(
        """
        SELECT business_id, reference FROM collection
         WHERE status = 'pending'
           AND is_due(business_id, held_until, $1)
           AND NOT is_held_back(business_id, 'return_overdue_inflows', reference, $1)
         ORDER BY held_until LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["reference"]) for row in rows]


async def find_overdue(tx: Tx, business_id: str, reference: str, now: datetime) -> Collection | None:
    row = await tx.fetchrow(
        """
        SELECT * FROM collection
         WHERE business_id = $1 AND reference = $2 AND status = 'pending' AND held_until <= $3
        """,
        business_id, reference, now,
    )  # fmt: skip
    return collection_of(row) if row else None


async def insert_rate(tx: Tx, rate: Rate, *, business_id: str, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO exchange_rate (business_id, base, quote, rate, spread_basis_points, source, quoted_at, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        business_id, rate.base, rate.quote, rate.rate, rate.spread_basis_points, rate.source, rate.quoted_at, now,
    )  # fmt: skip


async def list_rates(tx: Tx, business_id: str) -> list[Rate]:
    """The newest rate of each pair that was set for the business."""
    rows = await tx.fetch(
        """
        SELECT DISTINCT ON (base, quote) * FROM exchange_rate
         WHERE business_id = $1 ORDER BY base, quote, quoted_at DESC, id DESC
        """,
        business_id,
    )
    return [rate_of(row) for row in rows]
