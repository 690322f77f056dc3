"""SQL of when the books were proven."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx


class Proof(NamedTuple):
    began_at: datetime
    ended_at: datetime
    checks: int
    findings: list[str]
    journals: int


async def insert(tx: Tx, proof: Proof) -> None:
    await tx.execute(
        """
        INSERT INTO proof (business_id, began_at, ended_at, checks, findings, journals)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        PLATFORM_BUSINESS_ID, *proof,
    )  # fmt: skip


async def list_newest(tx: Tx, *, limit: int) -> list[Proof]:
    rows = await tx.fetch(
        """
        SELECT began_at, ended_at, checks, findings, journals FROM proof
         WHERE business_id = $1 ORDER BY id DESC LIMIT $2
        """,
        PLATFORM_BUSINESS_ID, limit,
    )  # fmt: skip
    return [Proof(**row) for row in rows]


async def count_journals(tx: Tx) -> int:
    """By the chains, whose length is known without counting."""
    return int(
        await tx.fetchval(
            """
            SELECT coalesce(sum(head.length), 0)
              FROM business CROSS JOIN LATERAL head_of_journals(business.id) AS head
            """
        )
    )
