"""SQL of case links."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Tx


class NewCaseLink(NamedTuple):
    business_id: str
    token_hash: bytes
    payment_id: int
    shows: Sequence[str]
    created_by: str
    created_at: datetime
    expires_at: datetime


async def insert(tx: Tx, new: NewCaseLink) -> None:
    await tx.execute(
        """
        INSERT INTO case_link (business_id, token_hash, payment_id, shows, created_by, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        *new,
    )


async def open_once(tx: Tx, code: str, token_hash: bytes, *, now: datetime) -> tuple[str, int, list[str]] | None:
    """Counts the opening. The business, the payment and what is shown; None once it has lapsed or was revoked."""
    row = await tx.fetchrow(
        """
        UPDATE case_link SET openings = least(openings + 1, 1000000), last_opened_at = $3
         WHERE business_id = (SELECT id FROM business WHERE code = $1) AND token_hash = $2 AND expires_at > $3
           AND revoked_at IS NULL
        RETURNING business_id, payment_id, shows
        """,
        code, token_hash, now,
    )  # fmt: skip
    return (row["business_id"], row["payment_id"], row["shows"]) if row else None


async def revoke(tx: Tx, business_id: str, payment_id: int, token_hash: bytes, *, now: datetime) -> bool:
    """False where there is none to revoke."""
    found = await tx.fetchval(
        """
        UPDATE case_link SET revoked_at = $4
         WHERE business_id = $1 AND payment_id = $2 AND token_hash = $3 AND revoked_at IS NULL RETURNING true
        """,
        business_id, payment_id, token_hash, now,
    )  # fmt: skip
    return found is True


async def find_pay_code(tx: Tx, business_id: str, payment_id: int) -> str:
    code: str = await tx.fetchval(
        "SELECT pay_code FROM payment WHERE business_id = $1 AND id = $2", business_id, payment_id
    )
    return code
