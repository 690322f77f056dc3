"""Notifications in which a rail contradicts itself: closed by an operator, once the rail has said which is right."""

from __future__ import annotations

from datetime import datetime

from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import NotFound
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Database
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.intake import store


async def close(
    db: Database,
    rail: str,
    notification_id: str,
    *,
    note: str,
    by: Actor,
    now: datetime,
    also: InSameTransaction = nothing_else,
) -> str:
    """Books nothing: what the rail then says comes as a notification of its own."""
    async with db.transaction() as tx:
        await also(tx)
        if not await store.close_quarantined(tx, rail, notification_id):
            raise NotFound(
                f"no notification {notification_id} of {rail} is in quarantine; `tidegate quarantine list` shows them"
            )
        await audit.insert(
            tx, PLATFORM_BUSINESS_ID, by, action="quarantine.closed", subject=f"{rail}/{notification_id}",
            details={"why": note}, now=now,
        )  # fmt: skip
    return notification_id
