"""SQL of the secrets that an endpoint signs with."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Tx


async def list_valid(tx: Tx, business_id: str, endpoint_id: str, *, now: datetime) -> list[str]:
    """Sealed, the current one first. None of an endpoint that was deleted."""
    rows = await tx.fetch(
        """
        SELECT sealed FROM webhook_secret
         WHERE business_id = $1 AND endpoint_id = $2 AND (expires_at IS NULL OR expires_at > $3) ORDER BY id DESC
        """,
        business_id, endpoint_id, now,
    )  # fmt: skip
    return [row["sealed"] for row in rows]
