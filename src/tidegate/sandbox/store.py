"""SQL of the sandbox's controls."""

from __future__ import annotations

from datetime import timedelta

from tidegate.infra.db import Tx


async def get_ahead(tx: Tx) -> timedelta:
    ahead: timedelta = await tx.fetchval("SELECT ahead FROM sandbox_clock")
    return ahead


async def advance(tx: Tx, by: timedelta, *, ahead_max: timedelta) -> timedelta | None:
    """How far it is ahead now; None when that would be too far."""
    ahead: timedelta | None = await tx.fetchval(
        "UPDATE sandbox_clock SET ahead = ahead + $1 WHERE ahead + $1 <= $2 RETURNING ahead", by, ahead_max
    )
    return ahead


async def reset(tx: Tx, business_id: str) -> None:
    await tx.execute("SELECT reset_sandbox($1)", business_id)
