"""SQL of people, their factors, and the links that are sent to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Row, Tx
from tidegate.member.model import Member


class Factors(NamedTuple):
    """What a person signs in with."""

    password_hash: str | None
    # Encrypted.
    totp_secret: str | None
    totp_step: int


async def insert_person(
    tx: Tx, *, person_id: str, email: str, name: str, password_hash: str | None, now: datetime
) -> Member | None:
    """None when the address is taken."""
    row = await tx.fetchrow(
        """
        INSERT INTO person (id, email, name, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT ON CONSTRAINT person_one_email DO NOTHING RETURNING *
        """,
        person_id, email, name, password_hash, now,
    )  # fmt: skip
    return member_of(row) if row else None


async def find_by_email(tx: Tx, email: str) -> tuple[Member, Factors] | None:
    row = await tx.fetchrow("SELECT * FROM person WHERE email = $1", email)
    return (member_of(row), factors_of(row)) if row else None


async def find(tx: Tx, person_id: str) -> Member | None:
    row = await tx.fetchrow("SELECT * FROM person WHERE id = $1", person_id)
    return member_of(row) if row else None


async def lock_factors(tx: Tx, person_id: str) -> Factors:
    """Two tries with one code wait for each other here."""
    row = await tx.fetchrow("SELECT * FROM person WHERE id = $1 FOR NO KEY UPDATE", person_id)
    assert row is not None
    return factors_of(row)


async def set_password(tx: Tx, person_id: str, password_hash: str) -> None:
    await tx.execute("UPDATE person SET password_hash = $2 WHERE id = $1", person_id, password_hash)


async def set_name(tx: Tx, person_id: str, name: str) -> None:
    await tx.execute("UPDATE person SET name = $2 WHERE id = $1", person_id, name)


async def set_totp(tx: Tx, person_id: str, sealed: str | None, *, step: int) -> None:
    await tx.execute("UPDATE person SET totp_secret = $2, totp_step = $3 WHERE id = $1", person_id, sealed, step)


async def set_totp_step(tx: Tx, person_id: str, step: int) -> None:
    await tx.execute("UPDATE person SET totp_step = $2 WHERE id = $1", person_id, step)


async def set_factors_end(tx: Tx, person_id: str, at: datetime | None) -> bool:
    """False where nothing changes."""
    done = await tx.fetchval(
        """
        UPDATE person SET factors_end_at = $2 WHERE id = $1 AND factors_end_at IS DISTINCT FROM $2 RETURNING true
        """,
        person_id, at,
    )  # fmt: skip
    return done is True


async def find_factors_end(tx: Tx, person_id: str) -> datetime | None:
    found: datetime | None = await tx.fetchval("SELECT factors_end_at FROM person WHERE id = $1", person_id)
    return found


async def delete_recovery_codes(tx: Tx, person_id: str) -> None:
    await tx.execute("DELETE FROM recovery_code WHERE person_id = $1", person_id)


async def replace_recovery_codes(tx: Tx, person_id: str, hashes: Sequence[bytes]) -> None:
    await delete_recovery_codes(tx, person_id)
    await tx.execute(
        "INSERT INTO recovery_code (person_id, code_hash) SELECT $1, unnest($2::bytea[])", person_id, list(hashes)
    )


async def use_recovery_code(tx: Tx, person_id: str, code_hash: bytes, *, now: datetime) -> bool:
    done = await tx.fetchval(
        """
        UPDATE recovery_code SET used_at = $3 WHERE person_id = $1 AND code_hash = $2 AND used_at IS NULL
        RETURNING true
        """,
        person_id, code_hash, now,
    )  # fmt: skip
    return done is True


async def count_recovery_codes(tx: Tx, person_id: str) -> int:
    question = "SELECT count(*) FROM recovery_code WHERE person_id = $1 AND used_at IS NULL"
    return int(await tx.fetchval(question, person_id))


async def is_known_device(tx: Tx, email: str, device_hash: bytes) -> bool:
    found = await tx.fetchval(
        """
        SELECT true FROM known_device JOIN person ON person.id = person_id WHERE email = $1 AND device_hash = $2
        """,
        email, device_hash,
    )  # fmt: skip
    return found is True


async def note_device(tx: Tx, person_id: str, device_hash: bytes, *, devices_max: int, now: datetime) -> None:
    """The newest stay."""
    await tx.execute(
        """
        INSERT INTO known_device (person_id, device_hash, seen_at) VALUES ($1, $2, $3)
            ON CONFLICT ON CONSTRAINT known_device_pk DO UPDATE SET seen_at = excluded.seen_at
        """,
        person_id, device_hash, now,
    )  # fmt: skip
    await tx.execute(
        """
        DELETE FROM known_device WHERE person_id = $1 AND device_hash NOT IN (
            SELECT device_hash FROM known_device WHERE person_id = $1 ORDER BY seen_at DESC LIMIT $2)
        """,
        person_id, devices_max,
    )  # fmt: skip


async def insert_link(
    tx: Tx, email: str, *, purpose: str, token_hash: bytes, expires_at: datetime, now: datetime,
    business_id: str | None = None,
) -> Member | None:  # fmt: skip
    """In one statement whether or not the address is known: None when it is unknown."""
    row = await tx.fetchrow(
        """
        WITH known AS (SELECT * FROM person WHERE email = $1),
        old AS (DELETE FROM one_time_link USING known WHERE person_id = known.id AND expires_at <= $5),
        made AS (
            INSERT INTO one_time_link (token_hash, person_id, purpose, expires_at, business)
            SELECT $3, id, $2, $4, $6 FROM known)
        SELECT * FROM known
        """,
        email, purpose, token_hash, expires_at, now, business_id,
    )  # fmt: skip
    return member_of(row) if row else None


async def find_link(tx: Tx, token_hash: bytes, *, purpose: str, now: datetime) -> Member | None:
    row = await tx.fetchrow(
        """
        SELECT person.* FROM one_time_link AS link JOIN person ON person.id = link.person_id
         WHERE link.token_hash = $1 AND link.purpose = $2 AND link.expires_at > $3
        """,
        token_hash, purpose, now,
    )  # fmt: skip
    return member_of(row) if row else None


async def find_viewed(tx: Tx, token_hash: bytes) -> str | None:
    """The business that a link looks at."""
    found: str | None = await tx.fetchval("SELECT business FROM one_time_link WHERE token_hash = $1", token_hash)
    return found


async def spend_link(tx: Tx, token_hash: bytes, *, purpose: str, now: datetime) -> str | None:
    """The person's id, once; all other links of this purpose go with it."""
    person_id: str | None = await tx.fetchval(
        """
        DELETE FROM one_time_link WHERE token_hash = $1 AND purpose = $2 AND expires_at > $3 RETURNING person_id
        """,
        token_hash, purpose, now,
    )  # fmt: skip
    if person_id is not None:
        await tx.execute("DELETE FROM one_time_link WHERE person_id = $1 AND purpose = $2", person_id, purpose)
    return person_id


def member_of(row: Row) -> Member:
    return Member(
        id=row["id"],
        email=row["email"],
        name=row["name"],
        has_password=row["password_hash"] is not None,
        has_totp=row["totp_secret"] is not None,
        has_passkey=row["has_passkey"],
    )


def factors_of(row: Row) -> Factors:
    return Factors(row["password_hash"], row["totp_secret"], row["totp_step"])
