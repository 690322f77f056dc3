"""SQL of disputes."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Tx
from tidegate.rail.event import DisputeChanged


async def record(tx: Tx, rail: str, dispute: DisputeChanged, *, now: datetime) -> bool:
    """False when the disputed money is not in our books. An ended dispute stays as it ended."""
    done = await tx.fetchval(
        """
        INSERT INTO dispute (business_id, rail, id, transaction_id, payment_id, currency, amount_minor, status, reason,
                             due_at, opened_at, updated_at)
        SELECT business_id, $1, $2, $3, payment_id, $4, $5, $6, $7, $8, $9, $9
          FROM receipt WHERE rail = $1 AND transaction_id = $3 LIMIT 1
        ON CONFLICT ON CONSTRAINT dispute_pk DO UPDATE
           SET status = CASE WHEN dispute.status = 'open' THEN excluded.status ELSE dispute.status END,
               due_at = excluded.due_at, reason = excluded.reason, updated_at = $9
        RETURNING true
        """,
        rail, dispute.dispute_id, dispute.transaction_id, dispute.amount.currency, dispute.amount.minor,
        dispute.status, dispute.reason, dispute.due_at, now,
    )  # fmt: skip
    return done is True
