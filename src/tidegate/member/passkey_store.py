"""SQL of passkeys, and of the challenges that they have answered."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Row, Tx
from tidegate.member.model import Passkey


async def insert(
    tx: Tx, person_id: str, *, credential_id: bytes, public_key: bytes, sign_count: int, name: str, now: datetime
) -> bool:
    """False when the passkey is registered already. The person's row is locked by now."""
    done = await tx.fetchval(
        """
        WITH made AS (
            INSERT INTO passkey (person_id, credential_id, public_key, sign_count, name, created_at)
            VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT ON CONSTRAINT passkey_one_credential DO NOTHING RETURNING person_id)
        UPDATE person SET has_passkey = true FROM made WHERE person.id = made.person_id RETURNING true
        """,
        person_id, credential_id, public_key, sign_count, name, now,
    )  # fmt: skip
    return done is True


async def lock(tx: Tx, credential_id: bytes) -> Passkey | None:
    """Two answers of one passkey wait for each other here, so that the newest count is compared with."""
    row = await tx.fetchrow("SELECT * FROM passkey WHERE credential_id = $1 FOR UPDATE", credential_id)
    return _passkey(row) if row else None


async def list_of(tx: Tx, person_id: str) -> list[Passkey]:
    rows = await tx.fetch("SELECT * FROM passkey WHERE person_id = $1 ORDER BY id", person_id)
    return [_passkey(row) for row in rows]


async def note_use(tx: Tx, passkey: Passkey, *, sign_count: int, now: datetime) -> None:
    await tx.execute(
        "UPDATE passkey SET sign_count = $3, used_at = $4 WHERE person_id = $1 AND id = $2",
        passkey.person_id, passkey.id, sign_count, now,
    )  # fmt: skip


async def delete(tx: Tx, person_id: str, passkey_id: int | None) -> int:
    """One, or all of them; how many. The person's row is locked by now."""
    gone = await tx.fetch(
        "DELETE FROM passkey WHERE person_id = $1 AND ($2::bigint IS NULL OR id = $2) RETURNING id",
        person_id, passkey_id,
    )  # fmt: skip
    await tx.execute(
        "UPDATE person SET has_passkey = EXISTS (SELECT FROM passkey WHERE person_id = $1) WHERE id = $1", person_id
    )
    return len(gone)


async def spend_challenge(tx: Tx, challenge_hash: bytes, *, expires_at: datetime, now: datetime) -> bool:
    """False when it was answered before."""
    await tx.execute("DELETE FROM used_challenge WHERE expires_at <= $1", now)
    done = await tx.fetchval(
        """
        INSERT INTO used_challenge (challenge_hash, expires_at) VALUES ($1, $2)
            ON CONFLICT ON CONSTRAINT used_challenge_pk DO NOTHING RETURNING true
        """,
        challenge_hash, expires_at,
    )  # fmt: skip
    return done is True


def _passkey(row: Row) -> Passkey:
    return Passkey(
        id=row["id"],
        person_id=row["person_id"],
        credential_id=row["credential_id"],
        public_key=row["public_key"],
        sign_count=row["sign_count"],
        name=row["name"],
        created_at=row["created_at"],
        used_at=row["used_at"],
    )
