"""SQL of contradictions of a rail, which an operator reviews."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Tx


def refund_in_doubt(reference: str) -> str:
    """The id under which the quarantine lists a refund that a rail contradicts itself about, or does not know."""
    return "refund-" + reference


def return_in_doubt(reference: str) -> str:
    return "return-" + reference


async def quarantine(tx: Tx, rail: str, id_: str, *, why: str, now: datetime) -> None:
    """A notification row of its own, once."""
    await tx.execute(
        """
        INSERT INTO notification (rail, id, state, body, note, received_at)
        VALUES ($1, $2, 'quarantined', '', $3, $4)
        ON CONFLICT ON CONSTRAINT notification_pk DO NOTHING
        """,
        rail, id_, why, now,
    )  # fmt: skip
