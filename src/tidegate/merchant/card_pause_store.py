"""SQL of businesses that take no cards for now."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Tx


class CardPause(NamedTuple):
    reason: str
    paused_by: str
    paused_at: datetime


async def insert(tx: Tx, business_id: str, reason: str, *, by: str, now: datetime) -> bool:
    """False where they are paused already."""
    done = await tx.fetchval(
        """
        INSERT INTO card_pause (business_id, reason, paused_by, paused_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT (business_id) WHERE lifted_at IS NULL DO NOTHING RETURNING true
        """,
        business_id, reason, by, now,
    )  # fmt: skip
    return done is True


async def set_takes_cards(tx: Tx, business_id: str, *, takes_cards: bool) -> None:
    """On the business itself, which every process keeps."""
    await tx.execute(
        """
        WITH counted AS (UPDATE credential_epoch SET epoch = epoch + 1)
        UPDATE business SET takes_cards = $2 WHERE id = $1
        """,
        business_id, takes_cards,
    )  # fmt: skip


async def find_open(tx: Tx, business_id: str) -> CardPause | None:
    row = await tx.fetchrow(
        "SELECT reason, paused_by, paused_at FROM card_pause WHERE business_id = $1 AND lifted_at IS NULL", business_id
    )
    return CardPause(**row) if row else None


async def lift(tx: Tx, business_id: str, *, by: str, now: datetime) -> bool:
    done = await tx.fetchval(
        """
        UPDATE card_pause SET lifted_by = $2, lifted_at = $3 WHERE business_id = $1 AND lifted_at IS NULL RETURNING true
        """,
        business_id, by, now,
    )  # fmt: skip
    return done is True
