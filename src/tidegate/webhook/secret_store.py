"""SQL of an endpoint's signing secrets."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Tx


async def list_valid(tx: Tx, business_id: str, endpoint_id: str, *, now: datetime) -> list[str]:
    """Encrypted, the current one first. Empty for a deleted endpoint."""
    rows = await tx.fetch(
        """
        SELECT sealed FROM webhook_secret
         WHERE business_id = $1 AND endpoint_id = $2 AND (expires_at IS NULL OR expires_at > $3) ORDER BY id DESC
        """,
        business_id, endpoint_id, now,
    )  # fmt: skip
    return [row["sealed"] for row in rows]
