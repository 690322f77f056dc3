"""SQL of who made the API keys of a business."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.infra.db import Tx


class KeyMaker(NamedTuple):
    # As the audit trail has it.
    actor: str
    # Of a person.
    name: str | None


async def list_makers(tx: Tx, business_id: str) -> dict[int, KeyMaker]:
    """By the key's id. A key that came with the business has no row of its own in the audit trail."""
    rows = await tx.fetch(
        """
        SELECT credential.id, made.actor, person.name
          FROM credential
         CROSS JOIN LATERAL (
                SELECT actor FROM audit
                 WHERE audit.business_id = $1 AND audit.subject = 'key/' || credential.id
                   AND audit.action IN ('key.created', 'key.rolled')
                 ORDER BY audit.id LIMIT 1) AS made
          LEFT JOIN person ON person.id = substring(made.actor FROM '^person/(.*)')
         WHERE credential.business_id = $1
        """,
        business_id,
    )
    return {row["id"]: KeyMaker(row["actor"], row["name"]) for row in rows}
