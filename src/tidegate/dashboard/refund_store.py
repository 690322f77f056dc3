"""SQL of refunds with who asked for them and who approved, as the dashboard shows them."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.infra.db import Row, Tx
from tidegate.refund.list_store import view_of
from tidegate.refund.model import RefundStatus, RefundView


class RefundOrigin(NamedTuple):
    # As the audit trail has it; None of a refund without a row there.
    actor: str | None
    # Of a person who asked for it, also where another one approved it and so began it.
    asked_by: str | None
    key_name: str | None
    # Of the person of the business who approved it.
    approved_by: str | None
    # As the audit trail has it, where the staff began it: who proposed what `actor` approved.
    proposed_by: str | None


class ListedRefund(NamedTuple):
    view: RefundView
    origin: RefundOrigin


async def list_page(
    tx: Tx, business_id: str, status: RefundStatus | None, *, before_id: int | None, limit: int
) -> list[ListedRefund]:
    """The newest first."""
    rows = await tx.fetch(_PAGE, business_id, status, None, before_id, limit)
    return [_listed(row) for row in rows]


async def find(tx: Tx, business_id: str, reference: str) -> ListedRefund | None:
    row = await tx.fetchrow(_PAGE, business_id, None, reference, None, 1)
    return _listed(row) if row else None


# Who began and who approved a refund is read where nobody can change it: in the audit trail.
_PAGE = """
    SELECT refund, payment, collection, started.actor, started.proposed_by, approved.actor IS NOT NULL AS is_approved,
           coalesce(actor_key.name, '…' || actor_key.last_four) AS key_name,
           asker.name AS asked_by, approver.name AS approved_by
      FROM refund
      LEFT JOIN payment ON payment.business_id = $1 AND payment.id = refund.payment_id
      LEFT JOIN collection ON collection.business_id = $1 AND collection.id = refund.collection_id
      LEFT JOIN LATERAL (
            SELECT actor, details ->> 'proposedBy' AS proposed_by FROM audit
             WHERE audit.business_id = $1 AND audit.subject = refund.reference AND audit.action = 'refund.started'
             ORDER BY audit.id LIMIT 1) AS started ON true
      LEFT JOIN LATERAL (
            SELECT actor, details ->> 'asked_by' AS asked_by FROM audit
             WHERE audit.business_id = $1 AND audit.subject = refund.reference AND audit.action = 'refund.approved'
             ORDER BY audit.id LIMIT 1) AS approved ON true
      LEFT JOIN credential AS actor_key ON actor_key.business_id = $1 AND 'key/' || actor_key.id = started.actor
      LEFT JOIN person AS asker ON asker.id = substring(coalesce(approved.asked_by, started.actor) FROM '^person/(.*)')
      LEFT JOIN person AS approver ON approver.id = substring(approved.actor FROM '^person/(.*)')
     WHERE refund.business_id = $1 AND ($2::text IS NULL OR refund.status = $2)
       AND ($3::text IS NULL OR refund.reference = $3) AND ($4::bigint IS NULL OR refund.id < $4)
     ORDER BY refund.id DESC LIMIT $5
"""


def _listed(row: Row) -> ListedRefund:
    approved_by = (row["approved_by"] or "a former member") if row["is_approved"] else None
    origin = RefundOrigin(row["actor"], row["asked_by"], row["key_name"], approved_by, row["proposed_by"])
    return ListedRefund(view_of(row), origin)
