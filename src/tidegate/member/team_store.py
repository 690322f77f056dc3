"""SQL of memberships and invitations."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Row, Tx
from tidegate.member.model import Invitation, TeamMember
from tidegate.member.permission import Role
from tidegate.member.store import member_of


class InvitedTo(NamedTuple):
    invitation: Invitation
    business_code: str
    business_name: str


async def put(tx: Tx, business_id: str, person_id: str, role: Role, *, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO membership (business_id, person_id, role, created_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT ON CONSTRAINT membership_pk DO UPDATE SET role = excluded.role
        """,
        business_id, person_id, role, now,
    )  # fmt: skip


async def lock(tx: Tx, business_id: str) -> list[tuple[str, Role]]:
    """All members, so that two changes at once never leave a business without an owner."""
    rows = await tx.fetch(
        "SELECT person_id, role FROM membership WHERE business_id = $1 ORDER BY person_id FOR UPDATE", business_id
    )
    return [(row["person_id"], Role(row["role"])) for row in rows]


async def remove(tx: Tx, business_id: str, person_id: str) -> None:
    await tx.execute("DELETE FROM membership WHERE business_id = $1 AND person_id = $2", business_id, person_id)


async def list_team(tx: Tx, business_id: str) -> list[TeamMember]:
    rows = await tx.fetch(
        """
        SELECT person, role,
               (SELECT max(seen_at) FROM member_session AS session WHERE session.person_id = person.id) AS seen_at
          FROM membership JOIN person ON person.id = membership.person_id
         WHERE membership.business_id = $1 ORDER BY person.name, person.id
        """,
        business_id,
    )
    return [TeamMember(member=member_of(row["person"]), role=Role(row["role"]), seen_at=row["seen_at"]) for row in rows]


async def insert_invitation(
    tx: Tx, business_id: str, email: str, role: Role, *, token_hash: bytes, by: str, now: datetime, expires_at: datetime
) -> int:
    """Takes the place of one that is open."""
    await tx.execute(
        "UPDATE invitation SET ending = 'withdrawn' WHERE business_id = $1 AND email = $2 AND ending IS NULL",
        business_id, email,
    )  # fmt: skip
    invitation_id: int = await tx.fetchval(
        """
        INSERT INTO invitation (business_id, email, role, token_hash, invited_by, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id
        """,
        business_id, email, role, token_hash, by, now, expires_at,
    )  # fmt: skip
    return invitation_id


async def list_invitations(tx: Tx, business_id: str) -> list[Invitation]:
    rows = await tx.fetch(
        "SELECT * FROM invitation WHERE business_id = $1 AND ending IS NULL ORDER BY id DESC LIMIT 100", business_id
    )
    return [_invitation(row) for row in rows]


async def find_invitation(tx: Tx, business_id: str, invitation_id: int) -> Invitation | None:
    row = await tx.fetchrow(
        "SELECT * FROM invitation WHERE business_id = $1 AND id = $2 AND ending IS NULL", business_id, invitation_id
    )
    return _invitation(row) if row else None


async def find_by_token(tx: Tx, token_hash: bytes) -> InvitedTo | None:
    row = await tx.fetchrow(
        """
        SELECT invitation, business.code, business.name
          FROM invitation JOIN business ON business.id = invitation.business_id WHERE invitation.token_hash = $1
        """,
        token_hash,
    )
    return InvitedTo(_invitation(row["invitation"]), row["code"], row["name"]) if row else None


async def end_invitation(tx: Tx, invitation: Invitation, ending: str) -> bool:
    done = await tx.fetchval(
        "UPDATE invitation SET ending = $3 WHERE business_id = $1 AND id = $2 AND ending IS NULL RETURNING true",
        invitation.business_id, invitation.id, ending,
    )  # fmt: skip
    return done is True


def _invitation(row: Row) -> Invitation:
    return Invitation(
        business_id=row["business_id"],
        id=row["id"],
        email=row["email"],
        role=Role(row["role"]),
        invited_by=row["invited_by"],
        expires_at=row["expires_at"],
        is_open=row["ending"] is None,
    )
