"""SQL of sessions."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Row, Tx
from tidegate.member.model import Member, MemberSession, Membership
from tidegate.member.permission import Role
from tidegate.member.realm import DASHBOARD, Realm
from tidegate.member.store import member_of
from tidegate.merchant.model import Business
from tidegate.merchant.store import business_of


class OpenSession(NamedTuple):
    session: MemberSession
    # Of the business that was asked for.
    membership: Membership | None
    business: Business | None


async def insert(
    tx: Tx, token_hash: bytes, member: Member, *, is_complete: bool, browser: str, address: str, now: datetime,
    realm: Realm = DASHBOARD, viewed_business: str | None = None,
) -> None:  # fmt: skip
    """Sessions that are over go, so that the table stays small."""
    await tx.execute(
        "DELETE FROM member_session WHERE person_id = $1 AND created_at < $2::timestamptz - interval '12 hours'",
        member.id, now,
    )  # fmt: skip
    await tx.execute(
        """
        INSERT INTO member_session (token_hash, person_id, has_second_factor, stepped_up_at, browser, address,
                                    created_at, seen_at, realm, viewed_business)
        VALUES ($1, $2, $3, CASE WHEN $3 THEN $6::timestamptz END, $4, $5, $6, $6, $7, $8)
        """,
        token_hash, member.id, is_complete, browser, address, now, realm.name, viewed_business,
    )  # fmt: skip


async def find(tx: Tx, token_hash: bytes, business_code: str | None, *, realm: Realm = DASHBOARD) -> OpenSession | None:
    """With the membership in the business and the business itself: one round trip of every request."""
    row = await tx.fetchrow(
        """
        SELECT session, person, business,
               ARRAY(SELECT fee_rule FROM fee_rule WHERE business_id = business.id AND ended_at IS NULL) AS rules,
               CASE WHEN session.viewed_business IS NULL THEN membership.role
                    WHEN session.viewed_business = business.id
                         AND EXISTS (SELECT FROM staff WHERE person_id = person.id AND ended_at IS NULL)
                    THEN 'viewer' END AS role
          FROM member_session AS session
          JOIN person ON person.id = session.person_id
          LEFT JOIN business ON business.code = $2
          LEFT JOIN membership ON membership.business_id = business.id AND membership.person_id = person.id
         WHERE session.token_hash = $1 AND session.realm = $3
        """,
        token_hash, business_code, realm.name,
    )  # fmt: skip
    if row is None:
        return None
    membership = business = None
    if row["role"] is not None:
        business = business_of(row["business"], row["rules"])
        membership = Membership(
            business_id=business.id, business_code=business.code, business_name=business.name,
            role=Role(row["role"]), is_viewed=row["session"]["viewed_business"] is not None,
            two_step_for_all=business.two_step_for_all,
        )  # fmt: skip
    return OpenSession(session_of(row["session"], member_of(row["person"])), membership, business)


async def list_memberships(tx: Tx, person_id: str) -> list[Membership]:
    rows = await tx.fetch(
        """
        SELECT business.id AS business_id, business.code AS business_code, business.name AS business_name, role,
               business.two_step_for_all
          FROM membership JOIN business ON business.id = membership.business_id
         WHERE membership.person_id = $1 ORDER BY business.name, business.id
        """,
        person_id,
    )
    return [Membership(**{**row, "role": Role(row["role"])}) for row in rows]


async def note_seen(tx: Tx, token_hash: bytes, *, before: datetime, now: datetime) -> None:
    """Of one that was last seen before this."""
    await tx.execute(
        "UPDATE member_session SET seen_at = $3 WHERE token_hash = $1 AND seen_at <= $2", token_hash, before, now
    )


async def step_up(tx: Tx, token_hash: bytes, new_hash: bytes, *, now: datetime) -> bool:
    """After a factor was shown: under a new id, so that one that was seen before is worth nothing."""
    done = await tx.fetchval(
        """
        UPDATE member_session
           SET token_hash = $2, has_second_factor = true, stepped_up_at = $3, seen_at = $3, factor_failures = 0,
               pending_secret = NULL
         WHERE token_hash = $1 RETURNING true
        """,
        token_hash, new_hash, now,
    )  # fmt: skip
    return done is True


async def count_failure(tx: Tx, token_hash: bytes) -> int:
    failures = await tx.fetchval(
        """
        UPDATE member_session SET factor_failures = factor_failures + 1 WHERE token_hash = $1
        RETURNING factor_failures
        """,
        token_hash,
    )
    return int(failures or 0)


async def set_pending_secret(tx: Tx, token_hash: bytes, sealed: str) -> None:
    await tx.execute("UPDATE member_session SET pending_secret = $2 WHERE token_hash = $1", token_hash, sealed)


async def find_pending_secret(tx: Tx, token_hash: bytes) -> str | None:
    found: str | None = await tx.fetchval("SELECT pending_secret FROM member_session WHERE token_hash = $1", token_hash)
    return found


async def list_of(tx: Tx, member: Member, *, now: datetime) -> tuple[list[MemberSession], int]:
    """Open sessions, the newest first; and how many recovery codes are left, in the same round trip."""
    row = await tx.fetchrow(
        """
        SELECT ARRAY(
                   SELECT session FROM member_session AS session
                    WHERE person_id = $1 AND seen_at > $2::timestamptz - interval '30 minutes'
                      AND created_at > $2::timestamptz - interval '12 hours'
                    ORDER BY seen_at DESC LIMIT 50) AS sessions,
               (SELECT count(*) FROM recovery_code WHERE person_id = $1 AND used_at IS NULL) AS codes_left
        """,
        member.id, now,
    )  # fmt: skip
    assert row is not None
    return [session_of(session, member) for session in row["sessions"]], row["codes_left"]


async def delete(tx: Tx, token_hash: bytes) -> None:
    await tx.execute("DELETE FROM member_session WHERE token_hash = $1", token_hash)


async def delete_one(tx: Tx, person_id: str, session_id: int) -> bool:
    done = await tx.fetchval(
        "DELETE FROM member_session WHERE person_id = $1 AND id = $2 RETURNING true", person_id, session_id
    )
    return done is True


async def delete_others(tx: Tx, person_id: str, keep: bytes | None) -> None:
    await tx.execute(
        "DELETE FROM member_session WHERE person_id = $1 AND token_hash IS DISTINCT FROM $2", person_id, keep
    )


async def delete_realm(tx: Tx, person_id: str, realm: Realm) -> None:
    await tx.execute("DELETE FROM member_session WHERE person_id = $1 AND realm = $2", person_id, realm.name)


def session_of(row: Row, member: Member) -> MemberSession:
    return MemberSession(
        token_hash=row["token_hash"],
        id=row["id"],
        member=member,
        has_second_factor=row["has_second_factor"],
        stepped_up_at=row["stepped_up_at"],
        browser=row["browser"],
        address=row["address"],
        created_at=row["created_at"],
        seen_at=row["seen_at"],
        is_view=row["viewed_business"] is not None,
    )
