"""SQL of businesses and keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tidegate.infra.db import Row, Tx
from tidegate.merchant.model import Business, BusinessStatus, Key, KeyKind


async def insert_business(tx: Tx, *, business_id: str, code: str, name: str, email: str, now: datetime) -> Business:
    row = await tx.fetchrow(
        """
        INSERT INTO business (id, code, name, email, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $5)
        RETURNING *
        """,
        business_id, code, name, email, now,
    )  # fmt: skip
    assert row is not None
    return _business(row)


async def find_business(tx: Tx, business_id: str) -> Business | None:
    row = await tx.fetchrow("SELECT * FROM business WHERE id = $1", business_id)
    return _business(row) if row else None


async def find_business_by_code(tx: Tx, code: str) -> Business | None:
    row = await tx.fetchrow("SELECT * FROM business WHERE code = $1", code)
    return _business(row) if row else None


async def list_businesses(tx: Tx) -> list[Business]:
    return [_business(row) for row in await tx.fetch("SELECT * FROM business ORDER BY number")]


async def update_business(tx: Tx, business_id: str, *, changes: dict[str, Any], now: datetime) -> Business | None:
    """Absent settings stay as they are."""
    row = await tx.fetchrow(
        """
        UPDATE business
           SET name = coalesce($2, name), email = coalesce($3, email), status = coalesce($4, status),
               rate_per_second = coalesce($5, rate_per_second), rate_burst = coalesce($6, rate_burst),
               session_minutes = coalesce($7, session_minutes), redirect_hosts = coalesce($8, redirect_hosts),
               updated_at = $9
         WHERE id = $1
        RETURNING *
        """,
        business_id, changes.get("name"), changes.get("email"), changes.get("status"),
        changes.get("rate_per_second"), changes.get("rate_burst"), changes.get("session_minutes"),
        changes.get("redirect_hosts"), now,
    )  # fmt: skip
    return _business(row) if row else None


async def insert_key(
    tx: Tx, *, business_id: str, kind: KeyKind, key_hash: bytes, public_key: str | None, last_four: str, now: datetime
) -> Key:
    row = await tx.fetchrow(
        """
        INSERT INTO credential (business_id, kind, key_hash, public_key, last_four, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        RETURNING *
        """,
        business_id, kind, key_hash, public_key, last_four, now,
    )  # fmt: skip
    assert row is not None
    return _key(row)


async def list_keys(tx: Tx, business_id: str) -> list[Key]:
    rows = await tx.fetch("SELECT * FROM credential WHERE business_id = $1 ORDER BY id", business_id)
    return [_key(row) for row in rows]


async def find_key_and_business(tx: Tx, key_hash: bytes) -> tuple[Key, Business] | None:
    row = await tx.fetchrow(
        """
        SELECT credential AS key, business AS business
          FROM credential JOIN business ON business.id = credential.business_id
         WHERE credential.key_hash = $1
        """,
        key_hash,
    )
    return (_key(row["key"]), _business(row["business"])) if row else None


async def end_older_keys(tx: Tx, business_id: str, *, kind: KeyKind, keep_id: int, at: datetime) -> None:
    await tx.execute(
        """
        UPDATE credential SET expires_at = least(coalesce(expires_at, $4), $4)
         WHERE business_id = $1 AND kind = $2 AND id <> $3 AND revoked_at IS NULL
        """,
        business_id, kind, keep_id, at,
    )  # fmt: skip


async def revoke_key(tx: Tx, business_id: str, key_id: int, *, now: datetime) -> bool:
    done = await tx.fetchval(
        """
        UPDATE credential SET revoked_at = coalesce(revoked_at, $3)
         WHERE business_id = $1 AND id = $2
        RETURNING true
        """,
        business_id, key_id, now,
    )  # fmt: skip
    return done is True


async def get_epoch(tx: Tx) -> int:
    return int(await tx.fetchval("SELECT epoch FROM credential_epoch"))


def _business(row: Row) -> Business:
    return Business(
        id=row["id"],
        number=row["number"],
        code=row["code"],
        name=row["name"],
        email=row["email"],
        status=BusinessStatus(row["status"]),
        rate_per_second=row["rate_per_second"],
        rate_burst=row["rate_burst"],
        session_minutes=row["session_minutes"],
        redirect_hosts=tuple(row["redirect_hosts"]),
        created_at=row["created_at"],
    )


def _key(row: Row) -> Key:
    return Key(
        id=row["id"],
        business_id=row["business_id"],
        kind=KeyKind(row["kind"]),
        key_hash=row["key_hash"],
        public_key=row["public_key"],
        last_four=row["last_four"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
    )
