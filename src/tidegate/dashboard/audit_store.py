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
    # By the clock of the business, or the real one.
    at: datetime
    # By the real one.
    written_at: datetime
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
    rows = await tx.fetch(
        _PAGE, business_id, wanted.actor, wanted.start, wanted.end, before_id, limit, list(wanted.actions)
    )
    return [
        AuditLogRow(
            row["id"], row["created_at"], row["written_at"], row["actor"], row["key_name"], row["origin"],
            row["action"], row["subject"], row["thing"], row["details"],
        )
        for row in rows
    ]  # fmt: skip


# Of some actions, of which there are few: the newest of each, and then the newest of those. One of the two ways to the
# ids ends before it reads anything.
_PAGE = """
    SELECT audit.id, audit.created_at, audit.written_at, audit.actor, audit.origin, audit.action, audit.subject,
           audit.details,
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
     WHERE audit.business_id = $1 AND audit.id = ANY (ARRAY(
           (SELECT id FROM audit
             WHERE cardinality($7::text[]) = 0 AND business_id = $1
               AND ($2::text IS NULL OR actor = $2 OR ($2 = 'key/' AND starts_with(actor, 'key/'))
                    OR ($2 = 'operator' AND (starts_with(actor, 'operator/') OR starts_with(actor, 'staff/'))))
               AND ($3::timestamptz IS NULL OR created_at >= $3) AND ($4::timestamptz IS NULL OR created_at < $4)
               AND ($5::bigint IS NULL OR id < $5)
             ORDER BY id DESC LIMIT $6)
            UNION ALL
           (SELECT newest.id
              FROM unnest($7::text[]) AS wanted (action)
             CROSS JOIN LATERAL (
                    SELECT id FROM audit
                     WHERE business_id = $1 AND audit.action = wanted.action
                       AND ($2::text IS NULL OR actor = $2 OR ($2 = 'key/' AND starts_with(actor, 'key/'))
                            OR ($2 = 'operator' AND (starts_with(actor, 'operator/') OR starts_with(actor, 'staff/'))))
                       AND ($3::timestamptz IS NULL OR created_at >= $3)
                       AND ($4::timestamptz IS NULL OR created_at < $4)
                       AND ($5::bigint IS NULL OR id + 0 < $5)
                     ORDER BY id + 0 DESC LIMIT $6) AS newest
             ORDER BY newest.id DESC LIMIT $6)))
     ORDER BY audit.id DESC
"""


class NamedPerson(NamedTuple):
    name: str
    # Of the team today.
    is_member: bool


async def list_people(tx: Tx, business_id: str, person_ids: Sequence[str]) -> dict[str, NamedPerson]:
    """The team and these persons, by `person/ID`, in the order of their names."""
    rows = await tx.fetch(
        """
        WITH team AS MATERIALIZED (SELECT person_id FROM membership WHERE business_id = $1)
        SELECT id, name, id IN (SELECT person_id FROM team) AS is_member FROM person
         WHERE id = ANY (ARRAY(SELECT person_id FROM team) || $2::text[]) ORDER BY name, id
        """,
        business_id, list(person_ids),
    )  # fmt: skip
    return {"person/" + row["id"]: NamedPerson(row["name"], row["is_member"]) for row in rows}
