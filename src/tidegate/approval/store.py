"""SQL of approvals and of the limits of refunds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tidegate.approval.model import ApprovalRequest, DecidedRequest, Proposal, WaitingRequest
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx, naming
from tidegate.member.realm import Realm

_LOCK_NOT_AVAILABLE = "55P03"


async def insert(tx: Tx, proposal: Proposal, *, now: datetime, expires_at: datetime) -> int | None:
    """None where the staff have decided nothing yet about the same: `find_rival` has it. One that has lapsed, or that
    is about another version, is void."""
    await tx.execute(
        """
        UPDATE approval SET status = 'void', decided_at = $5,
                            outcome = CASE WHEN expires_at <= $5 THEN 'lapsed' ELSE 'changed' END
         WHERE business_id = $1 AND realm = $2 AND topic = $3 AND subject = $4 AND status = 'open'
           AND (expires_at <= $5 OR (realm = 'console' AND subject_version <> $6))
        """,
        proposal.business_id, proposal.realm.name, proposal.topic, proposal.subject, now, proposal.version,
    )  # fmt: skip
    approval_id: int | None = await tx.fetchval(
        """
        INSERT INTO approval (business_id, realm, command, topic, subject, subject_version, arguments, reason, asked_by,
                              asked_at, expires_at, facts)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            ON CONFLICT (business_id, topic, subject) WHERE status = 'open' AND realm = 'console' DO NOTHING
        RETURNING id
        """,
        proposal.business_id, proposal.realm.name, proposal.command, proposal.topic, proposal.subject,
        proposal.version, msgspec.json.encode(proposal.arguments).decode(), proposal.reason, proposal.asked_by, now,
        expires_at, proposal.facts,
    )  # fmt: skip
    return approval_id


async def find_rival(tx: Tx, proposal: Proposal) -> ApprovalRequest | None:
    """What the staff have open about the same."""
    row = await tx.fetchrow(
        """
        SELECT approval.*, asker.name AS asked_by_name, NULL AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by
         WHERE business_id = $1 AND topic = $2 AND subject = $3 AND status = 'open' AND realm = 'console'
        """,
        proposal.business_id, proposal.topic, proposal.subject,
    )  # fmt: skip
    return _approval(row) if row else None


async def find(tx: Tx, business_id: str, approval_id: int, realm: Realm) -> ApprovalRequest | None:
    row = await tx.fetchrow(
        """
        SELECT approval.*, asker.name AS asked_by_name, decider.name AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by
          LEFT JOIN person AS decider ON decider.id = decided_by
         WHERE business_id = $1 AND approval.id = $2 AND realm = $3
        """,
        business_id, approval_id, realm.name,
    )  # fmt: skip
    return _approval(row) if row else None


async def list_waiting(tx: Tx, business_id: str, *, now: datetime, limit: int) -> list[WaitingRequest]:
    """Of a merchant's people, the newest first."""
    rows = await tx.fetch(
        """
        SELECT approval.*, asker.name AS asked_by_name, NULL AS decided_by_name,
               ARRAY(SELECT other.name FROM membership JOIN person AS other ON other.id = membership.person_id
                      WHERE membership.business_id = $1 AND membership.person_id <> approval.asked_by
                        AND membership.role IN ('owner', 'admin', 'finance')
                      ORDER BY other.name) AS approvers,
               coalesce(payment.reference, subject) AS reference,
               subject_version IS DISTINCT FROM coalesce(payment.version, collection.version) AS is_outdated,
               count(*) OVER (PARTITION BY subject, subject_version) - 1 AS others
          FROM approval JOIN person AS asker ON asker.id = asked_by
          LEFT JOIN payment ON payment.business_id = $1 AND payment.pay_code = subject
          LEFT JOIN collection ON collection.business_id = $1 AND collection.reference = subject
         WHERE approval.business_id = $1 AND realm = 'dashboard' AND approval.status = 'open'
           AND approval.expires_at > $2
         ORDER BY approval.id DESC LIMIT $3
        """,
        business_id, now, limit,
    )  # fmt: skip
    return [
        WaitingRequest(
            _approval(row), tuple(row["approvers"]), row["reference"], row["is_outdated"], others=row["others"]
        )
        for row in rows
    ]


async def sum_waiting(tx: Tx, business_id: str, subject: str, version: int, *, now: datetime) -> int:
    """What a merchant's people have asked to refund of this version of a payment or inflow, in minor units."""
    return int(
        await tx.fetchval(
            """
            SELECT coalesce(sum((arguments ->> 'amount_minor')::bigint), 0) FROM approval
             WHERE business_id = $1 AND realm = 'dashboard' AND topic = 'refund' AND subject = $2
               AND subject_version = $3 AND status = 'open' AND expires_at > $4
            """,
            business_id, subject, version, now,
        )
    )  # fmt: skip


async def list_decided(tx: Tx, business_id: str, *, now: datetime, limit: int) -> list[DecidedRequest]:
    """Of a merchant's people, also those whose time ran out; the newest first."""
    rows = await tx.fetch(
        """
        SELECT approval.*, asker.name AS asked_by_name, decider.name AS decided_by_name,
               coalesce(payment.reference, subject) AS reference
          FROM approval JOIN person AS asker ON asker.id = asked_by
          LEFT JOIN person AS decider ON decider.id = decided_by
          LEFT JOIN payment ON payment.business_id = $1 AND payment.pay_code = subject
         WHERE approval.business_id = $1 AND realm = 'dashboard'
           AND NOT (approval.status = 'open' AND approval.expires_at > $2)
         ORDER BY approval.id DESC LIMIT $3
        """,
        business_id, now, limit,
    )  # fmt: skip
    return [DecidedRequest(_approval(row), row["reference"]) for row in rows]


async def list_of_staff(tx: Tx, *, is_open: bool, limit: int) -> list[ApprovalRequest]:
    """Of all businesses: the open ones oldest first, the decided ones newest first."""
    rows = await tx.fetch(
        """
        SELECT approval.*, asker.name AS asked_by_name, decider.name AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by
          LEFT JOIN person AS decider ON decider.id = decided_by
         WHERE realm = 'console' AND (approval.status = 'open') = $1
         ORDER BY CASE WHEN $1 THEN approval.id ELSE -approval.id END LIMIT $2
        """,
        is_open, limit,
    )  # fmt: skip
    return [_approval(row) for row in rows]


async def list_decisions(tx: Tx, business_id: str, topic: str, subject: str) -> list[ApprovalRequest]:
    """What the staff approved about a thing, the newest first."""
    rows = await tx.fetch(
        """
        SELECT approval.*, asker.name AS asked_by_name, decider.name AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by JOIN person AS decider ON decider.id = decided_by
         WHERE business_id = $1 AND realm = 'console' AND topic = $2 AND subject = $3 AND approval.status = 'approved'
         ORDER BY approval.id DESC LIMIT 10
        """,
        business_id, topic, subject,
    )  # fmt: skip
    return [_approval(row) for row in rows]


async def find_last_approved(tx: Tx, commands: Sequence[str], subject: str) -> ApprovalRequest | None:
    row = await tx.fetchrow(
        """
        SELECT approval.*, asker.name AS asked_by_name, decider.name AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by JOIN person AS decider ON decider.id = decided_by
         WHERE realm = 'console' AND command = ANY ($1) AND subject = $2 AND approval.status = 'approved'
         ORDER BY decided_at DESC LIMIT 1
        """,
        list(commands), subject,
    )  # fmt: skip
    return _approval(row) if row else None


async def end_void(tx: Tx, approval: ApprovalRequest, *, outcome: str, now: datetime) -> bool:
    ended = await tx.fetchval(
        """
        UPDATE approval SET status = 'void', decided_at = $3, outcome = $4
         WHERE business_id = $1 AND id = $2 AND status = 'open' RETURNING true
        """,
        approval.business_id, approval.id, now, outcome,
    )  # fmt: skip
    return ended is True


async def list_about(tx: Tx, business_id: str, *subjects: str) -> list[ApprovalRequest]:
    """What the staff have open about a thing, or about its parts."""
    rows = await tx.fetch(
        """
        SELECT approval.*, asker.name AS asked_by_name, NULL AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by
         WHERE business_id = $1 AND realm = 'console' AND status = 'open' AND subject = ANY ($2) ORDER BY approval.id
        """,
        business_id, subjects,
    )  # fmt: skip
    return [_approval(row) for row in rows]


async def list_of_business(tx: Tx, business_id: str) -> list[ApprovalRequest]:
    """What the staff have open about a merchant and its things."""
    rows = await tx.fetch(
        """
        SELECT approval.*, asker.name AS asked_by_name, NULL AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by
         WHERE business_id = $1 AND realm = 'console' AND status = 'open' ORDER BY approval.id LIMIT 20
        """,
        business_id,
    )
    return [_approval(row) for row in rows]


class BeingDecided(Exception):
    """Another person decides on it, for longer than a lock is waited for."""


async def lock(tx: Tx, business_id: str, approval_id: int, realm: Realm) -> ApprovalRequest | None:
    """Two who decide at once wait for each other here; the second finds it decided, or raises BeingDecided."""
    with naming({_LOCK_NOT_AVAILABLE: BeingDecided}):
        row = await tx.fetchrow(
            """
            SELECT approval.*,
                   (SELECT name FROM person WHERE person.id = asked_by) AS asked_by_name,
                   (SELECT name FROM person WHERE person.id = decided_by) AS decided_by_name
              FROM approval WHERE business_id = $1 AND id = $2 AND realm = $3 FOR UPDATE
            """,
            business_id, approval_id, realm.name,
        )  # fmt: skip
    return _approval(row) if row else None


async def decide(
    tx: Tx, approval: ApprovalRequest, *, status: str, by: str, outcome: str | None, now: datetime
) -> None:
    await tx.execute(
        """
        UPDATE approval SET status = $3, decided_by = $4, decided_at = $5, outcome = $6
         WHERE business_id = $1 AND id = $2 AND status = 'open'
        """,
        approval.business_id, approval.id, status, by, now, outcome,
    )  # fmt: skip


async def list_limits(tx: Tx, business_id: str) -> dict[Currency, Money]:
    rows = await tx.fetch("SELECT currency, limit_minor FROM refund_limit WHERE business_id = $1", business_id)
    return {Currency(row["currency"]): Money(row["limit_minor"], Currency(row["currency"])) for row in rows}


async def set_limit(tx: Tx, business_id: str, limit: Money) -> None:
    await tx.execute(
        """
        INSERT INTO refund_limit (business_id, currency, limit_minor) VALUES ($1, $2, $3)
            ON CONFLICT ON CONSTRAINT refund_limit_pk DO UPDATE SET limit_minor = excluded.limit_minor
        """,
        business_id, limit.currency, limit.minor,
    )  # fmt: skip


async def find_terms(tx: Tx, business_id: str, currency: Currency, person_id: str) -> tuple[int | None, int]:
    """The limit of refunds, None where the business has set none; and how many others may approve them, by their role
    in the table of permissions."""
    row = await tx.fetchrow(
        """
        SELECT (SELECT limit_minor FROM refund_limit WHERE business_id = $1 AND currency = $2),
               (SELECT count(*) FROM membership
                 WHERE business_id = $1 AND person_id <> $3 AND role IN ('owner', 'admin', 'finance')) AS others
        """,
        business_id, currency, person_id,
    )  # fmt: skip
    assert row is not None
    return row["limit_minor"], row["others"]


def _approval(row: Row) -> ApprovalRequest:
    return ApprovalRequest(
        business_id=row["business_id"],
        id=row["id"],
        realm=row["realm"],
        command=row["command"],
        subject=row["subject"],
        subject_version=row["subject_version"],
        arguments=row["arguments"],
        facts=row["facts"],
        reason=row["reason"],
        asked_by=row["asked_by"],
        asked_by_name=row["asked_by_name"],
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        status=row["status"],
        decided_by=row["decided_by"],
        decided_by_name=row["decided_by_name"],
        decided_at=row["decided_at"],
        outcome=row["outcome"],
    )
