"""A refund or a return without an answer: its rail is asked at once. Asked again, it changes nothing."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict, NotFound
from tidegate.infra.db import Database
from tidegate.money_return import store as returns
from tidegate.rail import pause_store
from tidegate.refund import store as refunds

_POLL_NOW = {"refund": refunds.poll_now, "return": returns.poll_now}


async def ask(
    db: Database, kind: str, business_id: str, reference: str, *, rail: str, by: Actor, now: datetime
) -> None:
    """The worker asks within seconds. Of a refund, `reference` is that of the part that goes by the rail."""
    poll_now = _POLL_NOW.get(kind)
    if poll_now is None:
        raise NotFound("there is nothing at this address")
    async with db.transaction() as tx:
        if rail in {one.rail for one in await pause_store.list_open(tx)}:
            raise Conflict(f"the rail {rail} is paused, so it is not asked; it is asked again once it is resumed")
        if not await poll_now(tx, business_id, reference, rail=rail, now=now):
            raise Conflict("this has ended, or is not of this rail; look again")
        await audit.insert(tx, business_id, by, action=f"{kind}.asked", subject=reference, details={}, now=now)
