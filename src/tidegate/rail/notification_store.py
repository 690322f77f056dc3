"""SQL of contradictions of a rail, which an operator reviews."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tidegate.infra.db import Tx


def refund_in_doubt(reference: str) -> str:
    """The id under which the quarantine lists a refund that a rail contradicts itself about, or does not know."""
    return "refund-" + reference


def return_in_doubt(reference: str) -> str:
    return "return-" + reference


def reversal_in_doubt(reversal_id: str) -> str:
    return "reversal-" + reversal_id


async def list_doubts(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """What is in quarantine under these ids, and why."""
    if not ids:
        return {}
    rows = await tx.fetch("SELECT id, note FROM notification WHERE id = ANY ($1) AND state = 'quarantined'", ids)
    return {row["id"]: row["note"] for row in rows}


async def quarantine(tx: Tx, rail: str, id_: str, *, why: str, now: datetime) -> None:
    """A notification row of its own, once. One that an operator has closed is opened again by another reason."""
    await tx.execute(
        """
        INSERT INTO notification (rail, id, state, body, note, received_at)
        VALUES ($1, $2, 'quarantined', '', $3, $4)
        ON CONFLICT ON CONSTRAINT notification_pk DO UPDATE SET state = 'quarantined', note = EXCLUDED.note
         WHERE notification.note IS DISTINCT FROM EXCLUDED.note
        """,
        rail, id_, why, now,
    )  # fmt: skip
