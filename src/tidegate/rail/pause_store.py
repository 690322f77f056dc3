"""SQL of rails that the operator has paused."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx


class RailPause(NamedTuple):
    id: int
    rail: str
    reason: str
    paused_by: str
    paused_at: datetime


async def list_open(tx: Tx) -> list[RailPause]:
    rows = await tx.fetch(
        """
        SELECT id, rail, reason, paused_by, paused_at FROM rail_pause
         WHERE business_id = $1 AND lifted_at IS NULL ORDER BY rail
        """,
        PLATFORM_BUSINESS_ID,
    )
    return [RailPause(**row) for row in rows]


async def list_of_rails(tx: Tx, rails: Collection[str]) -> list[RailPause]:
    """Of these rails alone."""
    return [one for one in await list_open(tx) if one.rail in rails]


async def insert(tx: Tx, rail: str, reason: str, *, by: str, now: datetime) -> bool:
    """False where it is paused already."""
    done = await tx.fetchval(
        """
        INSERT INTO rail_pause (business_id, rail, reason, paused_by, paused_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (business_id, rail) WHERE lifted_at IS NULL DO NOTHING RETURNING true
        """,
        PLATFORM_BUSINESS_ID, rail, reason, by, now,
    )  # fmt: skip
    return done is True


async def lift(tx: Tx, rail: str, *, by: str, now: datetime) -> bool:
    done = await tx.fetchval(
        """
        UPDATE rail_pause SET lifted_by = $3, lifted_at = $4
         WHERE business_id = $1 AND rail = $2 AND lifted_at IS NULL RETURNING true
        """,
        PLATFORM_BUSINESS_ID, rail, by, now,
    )  # fmt: skip
    return done is True
