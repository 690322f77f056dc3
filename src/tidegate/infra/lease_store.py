"""SQL of leases on background work, and of its failures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from tidegate.infra.db import Tx


class Lease(NamedTuple):
    """The right to work on one row. A write under it is valid only while the row has this token."""

    business_id: str
    kind: str
    id: str
    token: str
    # Failures since the last success.
    failures: int = 0
    # How far the business's time is ahead of real time.
    ahead: timedelta = timedelta(0)


class FailedWork(NamedTuple):
    """A row whose work failed, as an operator sees it."""

    kind: str
    business_id: str
    id: str
    failures: int
    last_error: str
    is_parked: bool


async def claim(
    tx: Tx, kind: str, keys: Sequence[tuple[str, str]], *, token: str, now: datetime, lease_until: datetime
) -> list[Lease]:
    """Claims those keys (business, id) that no other worker holds. In no order."""
    rows = await tx.fetch(
        """
        INSERT INTO leased_work (business_id, kind, id, lease_token, next_try_at)
        SELECT business_id, $1, id, $4, $6 FROM unnest($2::text[], $3::text[]) AS due (business_id, id)
         -- Always in the same order, so that two workers do not deadlock.
         ORDER BY business_id, id
            ON CONFLICT ON CONSTRAINT leased_work_pk DO UPDATE
           SET lease_token = excluded.lease_token, next_try_at = excluded.next_try_at
         WHERE leased_work.next_try_at <= $5
        RETURNING business_id, id, failures, time_of(business_id, $5) - $5 AS ahead
        """,
        kind, [business_id for business_id, _ in keys], [id_ for _, id_ in keys], token, now, lease_until,
    )  # fmt: skip
    return [Lease(row["business_id"], kind, row["id"], token, row["failures"], row["ahead"]) for row in rows]


async def claim_one(
    tx: Tx, kind: str, key: tuple[str, str], *, token: str, now: datetime, lease_until: datetime
) -> Lease | None:
    """As `claim`, of one key: on a cluster, one node has it."""
    business_id, id_ = key
    failures: int | None = await tx.fetchval(
        """
        INSERT INTO leased_work (business_id, kind, id, lease_token, next_try_at) VALUES ($1, $2, $3, $4, $6)
            ON CONFLICT ON CONSTRAINT leased_work_pk DO UPDATE
           SET lease_token = excluded.lease_token, next_try_at = excluded.next_try_at
         WHERE leased_work.next_try_at <= $5
        RETURNING failures
        """,
        business_id, kind, id_, token, now, lease_until,
    )  # fmt: skip
    if failures is None:
        return None
    ahead: timedelta = await tx.fetchval("SELECT time_of($1, $2) - $2", business_id, now)
    return Lease(business_id, kind, id_, token, failures, ahead)


async def hold(tx: Tx, kind: str, key: tuple[str, str], *, token: str) -> Lease | None:
    """For a person who does the work instead: until the transaction ends, no worker begins with the row. None while one
    works on it, such as one that waits for the answer of a rail."""
    business_id, id_ = key
    # Leases are in real time; on a cluster the statement below may not ask for it itself.
    now: datetime = await tx.fetchval("SELECT now()")
    is_held = await tx.fetchval(
        """
        INSERT INTO leased_work (business_id, kind, id, lease_token, next_try_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT ON CONSTRAINT leased_work_pk DO UPDATE SET lease_token = excluded.lease_token
         WHERE leased_work.lease_token IS NULL OR leased_work.next_try_at <= $5
        RETURNING true
        """,
        business_id, kind, id_, token, now,
    )  # fmt: skip
    return Lease(business_id, kind, id_, token) if is_held else None


async def lock(tx: Tx, lease: Lease) -> bool:
    """Locks the row against other workers until the transaction ends. False when another worker has claimed it."""
    found = await tx.fetchval(
        """
        SELECT true FROM leased_work
         WHERE business_id = $1 AND kind = $2 AND id = $3 AND lease_token = $4 FOR UPDATE
        """,
        lease.business_id, lease.kind, lease.id, lease.token,
    )  # fmt: skip
    return found is True


async def release(tx: Tx, lease: Lease) -> None:
    """The work is done; its failures are deleted."""
    await tx.execute(
        "DELETE FROM leased_work WHERE business_id = $1 AND kind = $2 AND id = $3 AND lease_token = $4",
        lease.business_id, lease.kind, lease.id, lease.token,
    )  # fmt: skip


async def fail(tx: Tx, lease: Lease, error: str, *, next_try_at: datetime | None, now: datetime) -> None:
    """Parks the row when `next_try_at` is None."""
    await tx.execute(
        """
        UPDATE leased_work
           SET lease_token = NULL, failures = failures + 1, last_error = $5,
               next_try_at = coalesce($6::timestamptz, 'infinity'),
               parked_at = CASE WHEN $6 IS NULL THEN $7::timestamptz END
         WHERE business_id = $1 AND kind = $2 AND id = $3 AND lease_token = $4
        """,
        lease.business_id, lease.kind, lease.id, lease.token, error, next_try_at, now,
    )  # fmt: skip


async def list_failed(tx: Tx, *, only_parked: bool, limit: int) -> list[FailedWork]:
    rows = await tx.fetch(
        """
        SELECT kind, business_id, id, failures, last_error, parked_at IS NOT NULL AS is_parked FROM leased_work
         WHERE failures > 0 AND (parked_at IS NOT NULL OR NOT $1) ORDER BY kind, business_id, id LIMIT $2
        """,
        only_parked, limit,
    )  # fmt: skip
    return [FailedWork(**row) for row in rows]


async def retry(tx: Tx, kind: str, *, business_id: str | None, id_: str | None) -> list[tuple[str, str]]:
    """Resets failed rows, except those in progress. Returns their keys."""
    rows = await tx.fetch(
        """
        DELETE FROM leased_work
         WHERE failures > 0 AND lease_token IS NULL AND kind = $1 AND ($2::text IS NULL OR business_id = $2)
           AND ($3::text IS NULL OR id = $3)
        RETURNING business_id, id
        """,
        kind, business_id, id_,
    )  # fmt: skip
    return [(row["business_id"], row["id"]) for row in rows]


async def delete_forgotten(tx: Tx, before: datetime) -> int:
    """Deletes rows that could have been claimed for long and were not: their work is no longer due."""
    rows = await tx.fetch("DELETE FROM leased_work WHERE next_try_at < $1 RETURNING id", before)
    return len(rows)
