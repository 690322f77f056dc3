"""Exchange rates, insert only. The operator's apply to every business, others to one business only."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.collection import review_store
from tidegate.collection.rate import Rate
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.ledger.model import PLATFORM_BUSINESS_ID


async def set_rate(
    db: Database, rate: Rate, *, business_id: str = PLATFORM_BUSINESS_ID, by: Actor, now: datetime
) -> None:
    async with db.transaction() as tx:
        await _set(tx, rate, business_id=business_id, by=by, now=now)


async def set_rates(
    db: Database, rates: list[Rate], *, by: Actor, now: datetime, also: InSameTransaction = nothing_else
) -> list[Rate]:
    """For every business; all of them, or none."""
    async with db.transaction() as tx:
        await also(tx)
        for rate in rates:
            await _set(tx, rate, business_id=PLATFORM_BUSINESS_ID, by=by, now=now)
    return rates


async def _set(tx: Tx, rate: Rate, *, business_id: str, by: Actor, now: datetime) -> None:
    details = {
        "rate": str(rate.rate),
        "spreadBasisPoints": rate.spread_basis_points,
        "source": rate.source,
        "quotedAt": rate.quoted_at,
    }
    await review_store.insert_rate(tx, rate, business_id=business_id, now=now)
    await audit.insert(
        tx, business_id, by, action="rate.set", subject=f"{rate.base}/{rate.quote}", details=details, now=now
    )


async def list_rates(db: Database) -> list[Rate]:
    """The newest of each pair, of the rates for every business."""
    async with db.connection() as tx:
        return await review_store.list_rates(tx, PLATFORM_BUSINESS_ID)
