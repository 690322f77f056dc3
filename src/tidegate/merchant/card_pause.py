"""A business whose cards are tried out by strangers takes none for a while: payers are offered its other methods.

A pause that an alarm made ends with the alarm; one that a person made, when a person lifts it.
"""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import OURSELVES, Actor
from tidegate.core.errors import Conflict
from tidegate.infra.db import Tx
from tidegate.merchant import card_pause_store as store


async def pause(tx: Tx, business_id: str, reason: str, *, by: Actor, now: datetime) -> bool:
    """False where they are paused already."""
    if not await store.insert(tx, business_id, reason, by=by.actor, now=now):
        return False
    await store.set_takes_cards(tx, business_id, takes_cards=False)
    await _note(tx, business_id, by, "cards.paused", now, why=reason)
    return True


async def lift(tx: Tx, business_id: str, *, by: Actor, now: datetime) -> None:
    if not await store.lift(tx, business_id, by=by.actor, now=now):
        raise Conflict("cards of this business are not paused")
    await store.set_takes_cards(tx, business_id, takes_cards=True)
    await _note(tx, business_id, by, "cards.resumed", now)


async def end_own(tx: Tx, business_id: str, *, now: datetime) -> None:
    """Once the alarm has ended. What a person paused stays."""
    found = await store.find_open(tx, business_id)
    if found is not None and found.paused_by == OURSELVES.actor:
        await lift(tx, business_id, by=OURSELVES, now=now)


async def _note(tx: Tx, business_id: str, by: Actor, action: str, now: datetime, **details: str) -> None:
    await audit.insert(tx, business_id, by, action=action, subject=business_id, details=details, now=now)
