"""SQL of the answers kept under an Idempotency-Key."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Row, Tx


async def lock(tx: Tx, business_id: str, key: str) -> bool:
    """False while another request holds the key. The lock ends with the transaction, also after a crash."""
    return bool(
        await tx.fetchval("SELECT pg_try_advisory_xact_lock(hashtextextended($1 || '/' || $2, 0))", business_id, key)
    )


async def find(tx: Tx, business_id: str, key: str) -> Row | None:
    """Given only when the transaction has committed: then the synchronous standby has it too."""
    return await tx.fetchrow(
        "SELECT request_hash, status, body, await_standby() FROM idempotency_key WHERE business_id = $1 AND key = $2",
        business_id,
        key,
    )


async def insert(
    tx: Tx, business_id: str, key: str, *, request_hash: bytes, status: int, body: bytes, now: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO idempotency_key (business_id, key, request_hash, status, body, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        business_id, key, request_hash, status, body, now,
    )  # fmt: skip
