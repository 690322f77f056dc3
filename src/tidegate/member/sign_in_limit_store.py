"""SQL of counted tries to sign in."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Tx


class CountedTries(NamedTuple):
    tries: int
    started_at: datetime
    last_at: datetime


async def lock(tx: Tx, subject_hash: bytes, *, now: datetime) -> CountedTries | None:
    """None for the first. The next try of the same subject waits."""
    is_first = await tx.fetchval(
        """
        INSERT INTO sign_in_try (subject_hash, tries, started_at, last_at) VALUES ($1, 1, $2, $2)
            ON CONFLICT ON CONSTRAINT sign_in_try_pk DO NOTHING RETURNING true
        """,
        subject_hash, now,
    )  # fmt: skip
    if is_first:
        return None
    row = await tx.fetchrow(
        "SELECT tries, started_at, last_at FROM sign_in_try WHERE subject_hash = $1 FOR UPDATE", subject_hash
    )
    return CountedTries(row["tries"], row["started_at"], row["last_at"]) if row else None


async def update(tx: Tx, subject_hash: bytes, counted: CountedTries) -> None:
    await tx.execute(
        "UPDATE sign_in_try SET tries = $2, started_at = $3, last_at = $4 WHERE subject_hash = $1",
        subject_hash, *counted,
    )  # fmt: skip


async def delete(tx: Tx, subject_hash: bytes) -> None:
    await tx.execute("DELETE FROM sign_in_try WHERE subject_hash = $1", subject_hash)


async def delete_old(tx: Tx, *, before: datetime) -> None:
    """A few with each try, so that the table stays as small as a day."""
    await tx.execute(
        """
        DELETE FROM sign_in_try WHERE subject_hash IN (
            SELECT subject_hash FROM sign_in_try WHERE last_at < $1 ORDER BY last_at LIMIT 100 FOR UPDATE SKIP LOCKED)
        """,
        before,
    )
