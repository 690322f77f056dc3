"""Rates of exchange: set by operators, never changed, used by every business."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import By
from tidegate.collection import review_store
from tidegate.collection.rate import Rate
from tidegate.infra.db import Database
from tidegate.ledger.model import HOUSE_BUSINESS_ID


async def set_rate(db: Database, rate: Rate, *, by: By, now: datetime) -> None:
    details = {
        "rate": str(rate.rate),
        "spreadBasisPoints": rate.spread_basis_points,
        "source": rate.source,
        "quotedAt": rate.quoted_at,
    }
    async with db.transaction() as tx:
        await review_store.insert_rate(tx, rate, now=now)
        # The inflows of all businesses are converted at it, so that it stands in the trail of none but the house.
        await audit.insert(
            tx, HOUSE_BUSINESS_ID, by, action="rate.set", subject=f"{rate.base}/{rate.quote}", details=details, now=now
        )


async def list_rates(db: Database) -> list[Rate]:
    """The newest of each pair: those that are used."""
    async with db.connection() as tx:
        return await review_store.list_rates(tx)
