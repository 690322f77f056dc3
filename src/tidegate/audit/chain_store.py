"""SQL of the audit trail's hash chain, and of the trail as the operator reads it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Row, Tx
from tidegate.infra.leased_work import DueRow

# The kind of leased work. The statement below repeats the name.
EXTEND_AUDIT = "extend_audit_chain"


class AuditRow(NamedTuple):
    business_id: str
    id: int
    actor: str
    origin: str | None
    action: str
    subject: str
    # As the database writes it; without what may be erased.
    details: str
    created_at: datetime
    written_at: datetime


class AuditLink(NamedTuple):
    position: int
    audit_id: int
    hash: bytes


async def list_businesses_to_link(tx: Tx, now: datetime, *, limit: int) -> list[DueRow]:
    rows = await tx.fetch(
        """
        SELECT business_id FROM audit_to_link
         GROUP BY business_id HAVING NOT is_held_back(business_id, 'extend_audit_chain', business_id, $1)
         ORDER BY min(audit_id) LIMIT $2
        """,
        now, limit,
    )  # fmt: skip
    return [DueRow(row["business_id"], row["business_id"]) for row in rows]


async def lock_chain(tx: Tx, business_id: str) -> bool:
    """False while another worker extends this chain."""
    return bool(
        await tx.fetchval("SELECT pg_try_advisory_xact_lock(hashtextextended('audit_link/' || $1, 0))", business_id)
    )


async def list_to_link(tx: Tx, business_id: str, *, limit: int) -> list[AuditRow]:
    rows = await tx.fetch(
        """
        SELECT audit.business_id, id, actor, origin, action, subject,
               (details - 'note' - 'holder' - 'reason')::text AS details, created_at, written_at
          FROM audit_to_link AS waiting
          JOIN audit ON audit.business_id = waiting.business_id AND audit.id = waiting.audit_id
         WHERE waiting.business_id = $1 ORDER BY waiting.audit_id LIMIT $2
        """,
        business_id, limit,
    )  # fmt: skip
    return [_audit_row(row) for row in rows]


async def find_head(tx: Tx, business_id: str) -> AuditLink | None:
    row = await tx.fetchrow(
        "SELECT position, audit_id, hash FROM audit_link WHERE business_id = $1 ORDER BY position DESC LIMIT 1",
        business_id,
    )  # fmt: skip
    return AuditLink(**row) if row else None


async def insert_links(tx: Tx, business_id: str, links: Sequence[AuditLink]) -> None:
    await tx.execute(
        """
        INSERT INTO audit_link (business_id, position, audit_id, hash)
        SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[])
        """,
        business_id, [one.position for one in links], [one.audit_id for one in links], [one.hash for one in links],
    )  # fmt: skip
    await tx.execute(
        "DELETE FROM audit_to_link WHERE business_id = $1 AND audit_id = ANY($2)",
        business_id, [one.audit_id for one in links],
    )  # fmt: skip


async def list_links(tx: Tx, business_id: str, *, after: int, limit: int) -> list[tuple[AuditLink, AuditRow | None]]:
    rows = await tx.fetch(
        """
        SELECT link.position, link.audit_id, link.hash, audit.business_id, audit.id, actor, origin, action, subject,
               (details - 'note' - 'holder' - 'reason')::text AS details, created_at, written_at
          FROM audit_link AS link
          LEFT JOIN audit ON audit.business_id = link.business_id AND audit.id = link.audit_id
         WHERE link.business_id = $1 AND link.position > $2 ORDER BY link.position LIMIT $3
        """,
        business_id, after, limit,
    )  # fmt: skip
    return [
        (AuditLink(row["position"], row["audit_id"], row["hash"]), _audit_row(row) if row["id"] is not None else None)
        for row in rows
    ]


async def list_unlinked(tx: Tx, business_id: str, *, before: datetime, limit: int) -> list[int]:
    """Rows that are neither linked nor wait for it, or wait too long."""
    rows = await tx.fetch(
        """
        SELECT id FROM audit
         WHERE business_id = $1
           AND NOT EXISTS (SELECT FROM audit_link AS link WHERE link.business_id = $1 AND link.audit_id = audit.id)
           AND (written_at < $2 OR NOT EXISTS (SELECT FROM audit_to_link AS waiting
                                                WHERE waiting.business_id = $1 AND waiting.audit_id = audit.id))
         ORDER BY id LIMIT $3
        """,
        business_id, before, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]


class ChainHead(NamedTuple):
    """Of one business; without a length where its chain has not begun."""

    business_id: str
    name: str
    length: int | None
    hash: bytes | None


async def list_heads(tx: Tx, *, after: str, limit: int) -> list[ChainHead]:
    """Of every business, by its id: one whose links are all gone has rows to verify, too."""
    rows = await tx.fetch(
        """
        SELECT business.id AS business_id, business.name, head.length, head.hash
          FROM business CROSS JOIN LATERAL head_of_audits(business.id) AS head
         WHERE business.id > $1 ORDER BY business.id LIMIT $2
        """,
        after, limit,
    )  # fmt: skip
    return [ChainHead(**row) for row in rows]


class TrailFilter(NamedTuple):
    """What is empty leaves all. The end is not included."""

    business_id: str | None = None
    subject: str = ""
    # As the trail has it; where it ends with a slash, everybody of that kind.
    actor: str = ""
    start: datetime | None = None
    end: datetime | None = None


async def list_trail(tx: Tx, wanted: TrailFilter, *, before: tuple[datetime, int] | None, limit: int) -> list[AuditRow]:
    """The newest first, of one business or of all, by the time of writing: the clocks of businesses differ."""
    rows = await tx.fetch(
        """
        SELECT business_id, id, actor, origin, action, subject, details::text AS details, created_at, written_at
          FROM audit
         WHERE ($1::text IS NULL OR business_id = $1) AND ($2 = '' OR subject = $2)
           AND ($3 = '' OR actor = $3 OR (right($3, 1) = '/' AND starts_with(actor, $3)))
           AND written_at >= coalesce($4::timestamptz, '-infinity')
           AND written_at < coalesce($5::timestamptz, 'infinity')
           AND (written_at, id) < (coalesce($6::timestamptz, 'infinity'), $7)
         ORDER BY written_at DESC, id DESC LIMIT $8
        """,
        *wanted, before[0] if before else None, before[1] if before else 0, limit,
    )  # fmt: skip
    return [_audit_row(row) for row in rows]


def _audit_row(row: Row) -> AuditRow:
    return AuditRow(*(row[name] for name in AuditRow._fields))
