"""SQL of the audit trail: insert only; each row waits for its link in the chain."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from tidegate.audit.model import Actor
from tidegate.infra.db import Tx


async def insert(
    tx: Tx, business_id: str, by: Actor, *, action: str, subject: str, details: Mapping[str, Any], now: datetime
) -> None:
    """In the transaction of the change, so that both commit or neither. No secrets in `details`."""
    await tx.execute(
        """
        WITH written AS (
            INSERT INTO audit (business_id, actor, origin, action, subject, details, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id)
        INSERT INTO audit_to_link (business_id, audit_id) SELECT $1, id FROM written
        """,
        business_id, by.actor, by.origin, action, subject, msgspec.json.encode(details).decode(), now,
    )  # fmt: skip


async def count(tx: Tx, business_id: str, action: str, subject: str, *, since: datetime) -> int:
    """How often it was done to one thing."""
    return int(
        await tx.fetchval(
            """
            SELECT count(*) FROM audit
             WHERE business_id = $1 AND subject = $3 AND action = $2 AND created_at > $4
            """,
            business_id, action, subject, since,
        )
    )  # fmt: skip
