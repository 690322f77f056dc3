"""A business whose cards are tried out by strangers takes none until the operator lifts the pause."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict, RateLimited
from tidegate.infra.db import Database, Tx
from tidegate.merchant import card_pause_store as store

TRY_AGAIN_AFTER_S = 3_600
PAUSED = "this business takes no cards at the moment; pay by another method"


async def refuse_paused(db: Database, business_id: str) -> None:
    async with db.connection() as tx:
        if await store.find_open(tx, business_id) is not None:
            raise RateLimited(PAUSED, retry_after_s=TRY_AGAIN_AFTER_S)


async def pause(tx: Tx, business_id: str, reason: str, *, by: Actor, now: datetime) -> bool:
    """False where they are paused already."""
    if not await store.insert(tx, business_id, reason, by=by.actor, now=now):
        return False
    await _note(tx, business_id, by, "cards.paused", now, why=reason)
    return True


async def lift(tx: Tx, business_id: str, *, by: Actor, now: datetime) -> None:
    if not await store.lift(tx, business_id, by=by.actor, now=now):
        raise Conflict("cards of this business are not paused")
    await _note(tx, business_id, by, "cards.resumed", now)


async def _note(tx: Tx, business_id: str, by: Actor, action: str, now: datetime, **details: str) -> None:
    await audit.insert(tx, business_id, by, action=action, subject=business_id, details=details, now=now)
