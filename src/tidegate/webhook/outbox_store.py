"""SQL that writes an event, for every module that changes something. The sender does the rest."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Tx
from tidegate.webhook.model import Event


async def insert(tx: Tx, business_id: str, event: Event, *, now: datetime) -> None:
    """In the transaction of its change. Notify EVENT_CHANNEL after the commit."""
    await tx.execute(
        """
        INSERT INTO event (business_id, id, type, cause, payload, reference, request_id, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        business_id, event.id, event.type, event.cause, event.payload, event.reference, event.request_id, now,
    )  # fmt: skip
