"""SQL of the staff."""

from __future__ import annotations

from datetime import datetime

from tidegate.infra.db import Row, Tx
from tidegate.member.store import member_of
from tidegate.staff.model import StaffMember
from tidegate.staff.permission import StaffRole


async def put(tx: Tx, person_id: str, role: StaffRole, *, by: str, now: datetime) -> None:
    """Also for one who has left and comes back."""
    await tx.execute(
        """
        INSERT INTO staff (person_id, role, added_by, created_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT ON CONSTRAINT staff_pk DO UPDATE SET role = excluded.role, ended_at = NULL
        """,
        person_id, role, by, now,
    )  # fmt: skip


async def end(tx: Tx, person_id: str, *, now: datetime) -> bool:
    done = await tx.fetchval(
        "UPDATE staff SET ended_at = $2 WHERE person_id = $1 AND ended_at IS NULL RETURNING true", person_id, now
    )
    return done is True


async def find(tx: Tx, person_id: str) -> StaffMember | None:
    """None for those who have left."""
    row = await tx.fetchrow(
        """
        SELECT person, staff.role, staff.created_at, NULL::timestamptz AS seen_at
          FROM staff JOIN person ON person.id = staff.person_id
         WHERE staff.person_id = $1 AND staff.ended_at IS NULL
        """,
        person_id,
    )
    return _staff_member(row) if row else None


async def find_by_email(tx: Tx, email: str) -> StaffMember | None:
    row = await tx.fetchrow(
        """
        SELECT person, staff.role, staff.created_at, NULL::timestamptz AS seen_at
          FROM staff JOIN person ON person.id = staff.person_id
         WHERE person.email = lower($1) AND staff.ended_at IS NULL
        """,
        email.strip(),
    )
    return _staff_member(row) if row else None


async def list_names(tx: Tx) -> dict[str, str]:
    """Of the staff, by what the audit trail calls them."""
    rows = await tx.fetch(
        "SELECT 'staff/' || person.id AS actor, name FROM staff JOIN person ON person.id = staff.person_id"
    )
    return {row["actor"]: row["name"] for row in rows}


async def list_all(tx: Tx) -> list[StaffMember]:
    rows = await tx.fetch(
        """
        SELECT person, staff.role, staff.created_at,
               (SELECT max(session.seen_at) FROM member_session AS session
                 WHERE session.person_id = person.id AND session.realm = 'console') AS seen_at
          FROM staff JOIN person ON person.id = staff.person_id
         WHERE staff.ended_at IS NULL ORDER BY person.name, person.id
        """
    )
    return [_staff_member(row) for row in rows]


def _staff_member(row: Row) -> StaffMember:
    return StaffMember(
        member=member_of(row["person"]),
        role=StaffRole(row["role"]),
        created_at=row["created_at"],
        seen_at=row["seen_at"],
    )
