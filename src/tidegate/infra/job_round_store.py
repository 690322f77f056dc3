"""SQL of the last round of each job of the workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.db import Tx


class JobRound(NamedTuple):
    job: str
    # Between rounds that find nothing to do.
    every_s: float
    ended_at: datetime
    lasted_ms: int
    # Rows since it was written before.
    done: int
    failed: int
    # Of the last round that failed as a whole.
    error: str | None = None
    failed_at: datetime | None = None
    # When an operator asked for a round at once.
    wanted_at: datetime | None = None

    @property
    def is_waiting(self) -> bool:
        return self.wanted_at is not None and self.wanted_at > self.ended_at


async def write(tx: Tx, rounds: Sequence[JobRound]) -> None:
    await tx.execute(
        """
        INSERT INTO job_round (business_id, job, every_s, ended_at, lasted_ms, done, failed, error, failed_at)
        SELECT $1, job, every_s, ended_at, lasted_ms, done, failed, error, failed_at
          FROM unnest($2::text[], $3::double precision[], $4::timestamptz[], $5::integer[], $6::integer[],
                      $7::integer[], $8::text[], $9::timestamptz[])
               AS one (job, every_s, ended_at, lasted_ms, done, failed, error, failed_at)
         -- Always in the same order, so that two workers do not deadlock.
         ORDER BY job
            ON CONFLICT ON CONSTRAINT job_round_pk DO UPDATE
           SET every_s = excluded.every_s, ended_at = greatest(job_round.ended_at, excluded.ended_at),
               lasted_ms = excluded.lasted_ms, done = excluded.done, failed = excluded.failed,
               error = coalesce(excluded.error, job_round.error),
               failed_at = coalesce(excluded.failed_at, job_round.failed_at)
        """,
        PLATFORM_BUSINESS_ID, *map(list, zip(*(one[:-1] for one in rounds), strict=True)),
    )  # fmt: skip


async def list_wanted(tx: Tx) -> dict[str, datetime]:
    """When an operator asked for a round at once, of each job that was asked for."""
    rows = await tx.fetch(
        "SELECT job, wanted_at FROM job_round WHERE business_id = $1 AND wanted_at IS NOT NULL", PLATFORM_BUSINESS_ID
    )
    return {row["job"]: row["wanted_at"] for row in rows}


async def list_all(tx: Tx) -> list[JobRound]:
    rows = await tx.fetch(
        """
        SELECT job, every_s, ended_at, lasted_ms, done, failed, error, failed_at, wanted_at FROM job_round
         WHERE business_id = $1 ORDER BY job
        """,
        PLATFORM_BUSINESS_ID,
    )
    return [JobRound(**row) for row in rows]


async def want(tx: Tx, job: str, *, now: datetime) -> bool:
    """False for a job that no worker has ever run."""
    found = await tx.fetchval(
        "UPDATE job_round SET wanted_at = $3 WHERE business_id = $1 AND job = $2 RETURNING true",
        PLATFORM_BUSINESS_ID, job, now,
    )  # fmt: skip
    return found is True
