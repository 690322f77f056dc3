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
    # One number for the chains of all businesses.
    head: bytes


async def insert(tx: Tx, proof: Proof) -> None:
    await tx.execute(
        """
        INSERT INTO proof (business_id, began_at, ended_at, checks, findings, journals, head)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        PLATFORM_BUSINESS_ID, *proof,
    )  # fmt: skip


async def list_newest(tx: Tx, *, limit: int) -> list[Proof]:
    rows = await tx.fetch(
        """
        SELECT began_at, ended_at, checks, findings, journals, head FROM proof
         WHERE business_id = $1 ORDER BY id DESC LIMIT $2
        """,
        PLATFORM_BUSINESS_ID, limit,
    )  # fmt: skip
    return [Proof(**row) for row in rows]


async def list_heads(tx: Tx) -> list[tuple[str, int, bytes]]:
    """Of every chain of journals: its business, its length and its newest link."""
    rows = await tx.fetch(
        """
        SELECT business.id, head.length, head.hash
          FROM business CROSS JOIN LATERAL head_of_journals(business.id) AS head
         WHERE head.length IS NOT NULL ORDER BY business.id
        """
    )
    return [(row["id"], row["length"], row["hash"]) for row in rows]
