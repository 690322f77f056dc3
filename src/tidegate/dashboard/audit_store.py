"""SQL of the audit log as the dashboard shows it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tidegate.infra.db import Tx


class AuditFilter(NamedTuple):
    # `person/ID`, `operator`, `tidegate`; `key/` for every key.
    actor: str | None = None
    actions: tuple[str, ...] = ()
    start: datetime | None = None
    end: datetime | None = None


class AuditLogRow(NamedTuple):
    id: int
    at: datetime
    actor: str
    # Of a key that acted.
    key_name: str | None
    origin: str | None
    action: str
    subject: str
    # The name of an account's holder, a link, an endpoint or a key; the merchant's reference of a payment.
    thing: str | None
    # JSON.
    details: str


async def list_page(
    tx: Tx, business_id: str, wanted: AuditFilter, *, before_id: int | None, limit: int
) -> list[AuditLogRow]:
    """The newest first."""
    given = (business_id, wanted.actor, wanted.start, wanted.end, before_id, limit)
    found = (
        await tx.fetch(_IDS_OF_ACTIONS, *given, list(wanted.actions))
        if wanted.actions
        else await tx.fetch(_IDS, *given)
    )
    rows = await tx.fetch(_ROWS, business_id, [row["id"] for row in found])
    return [
        AuditLogRow(
            row["id"], row["created_at"], row["actor"], row["key_name"], row["origin"], row["action"], row["subject"],
            row["thing"], row["details"],
        )
        for row in rows
    ]  # fmt: skip


_IDS = """
    SELECT id FROM audit
     WHERE business_id = $1
       AND ($2::text IS NULL OR actor = $2 OR ($2 = 'key/' AND starts_with(actor, 'key/'))
            OR ($2 = 'operator' AND (starts_with(actor, 'operator/') OR starts_with(actor, 'staff/'))))
       AND ($3::timestamptz IS NULL OR created_at >= $3) AND ($4::timestamptz IS NULL OR created_at < $4)
       AND ($5::bigint IS NULL OR id < $5)
     ORDER BY id DESC LIMIT $6
"""
# The newest of each action, of which there are few; then the newest of those.
_IDS_OF_ACTIONS = """
    SELECT newest.id
      FROM unnest($7::text[]) AS wanted (action)
     CROSS JOIN LATERAL (
            SELECT id FROM audit
             WHERE business_id = $1 AND audit.action = wanted.action
               AND ($2::text IS NULL OR actor = $2 OR ($2 = 'key/' AND starts_with(actor, 'key/'))
                    OR ($2 = 'operator' AND (starts_with(actor, 'operator/') OR starts_with(actor, 'staff/'))))
               AND ($3::timestamptz IS NULL OR created_at >= $3) AND ($4::timestamptz IS NULL OR created_at < $4)
               AND ($5::bigint IS NULL OR id + 0 < $5)
             ORDER BY id + 0 DESC LIMIT $6) AS newest
     ORDER BY newest.id DESC LIMIT $6
"""
_ROWS = """
    SELECT audit.id, audit.created_at, audit.actor, audit.origin, audit.action, audit.subject, audit.details,
           coalesce(actor_key.name, '…' || actor_key.last_four) AS key_name,
           coalesce(virtual_account.holder, payment_link.name, webhook_endpoint.url,
                    subject_key.name, '…' || subject_key.last_four, payment.reference, refunded.reference) AS thing
      FROM audit
      LEFT JOIN credential AS actor_key ON actor_key.business_id = $1 AND 'key/' || actor_key.id = audit.actor
      LEFT JOIN credential AS subject_key ON subject_key.business_id = $1 AND 'key/' || subject_key.id = audit.subject
      LEFT JOIN virtual_account ON virtual_account.business_id = $1 AND virtual_account.id = audit.subject
      LEFT JOIN payment_link ON payment_link.business_id = $1 AND payment_link.id = audit.subject
      LEFT JOIN webhook_endpoint ON webhook_endpoint.business_id = $1 AND webhook_endpoint.id = audit.subject
      LEFT JOIN payment ON payment.business_id = $1 AND payment.pay_code = audit.subject
      LEFT JOIN refund ON refund.business_id = $1 AND refund.reference = audit.subject
      LEFT JOIN payment AS refunded ON refunded.business_id = $1 AND refunded.id = refund.payment_id
     WHERE audit.business_id = $1 AND audit.id = ANY ($2::bigint[])
     ORDER BY audit.id DESC
"""


async def list_about(tx: Tx, business_id: str, subject: str, *, limit: int) -> list[AuditLogRow]:
    """What was done to one thing, the oldest first."""
    rows = await tx.fetch(
        """
        SELECT id, created_at, actor, origin, action, subject, details FROM audit
         WHERE business_id = $1 AND subject = $2 ORDER BY id LIMIT $3
        """,
        business_id, subject, limit,
    )  # fmt: skip
    return [
        AuditLogRow(
            row["id"], row["created_at"], row["actor"], None, row["origin"], row["action"], row["subject"], None,
            row["details"],
        )
        for row in rows
    ]  # fmt: skip


async def names_of(tx: Tx, person_ids: Sequence[str]) -> dict[str, str]:
    """By `person/ID`."""
    rows = await tx.fetch("SELECT id, name FROM person WHERE id = ANY ($1::text[])", list(person_ids))
    return {"person/" + row["id"]: row["name"] for row in rows}
