"""SQL of refunds with who asked for them and who approved, as the dashboard shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from tidegate.infra.db import Row, Tx
from tidegate.refund.list_store import RefundFilter, view_of
from tidegate.refund.model import RefundStatus, RefundView

_START, _END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


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


class RefundPosition(NamedTuple):
    """Where a page ended."""

    at: datetime
    id: int


def position_of(listed: ListedRefund, wanted: RefundFilter) -> RefundPosition:
    refund = listed.view.refund
    ended_at = refund.completed_at if wanted.status is RefundStatus.FAILED else None
    return RefundPosition(ended_at or refund.initiated_at, refund.id)


async def list_page(
    tx: Tx, business_id: str, wanted: RefundFilter, *, before: RefundPosition | None, limit: int
) -> list[ListedRefund]:
    """The newest first. `start` and `end` are of when it began; where those that failed are asked for, of when they
    did."""
    # No id is 0, so this is the position just before everything of the end or later.
    end = RefundPosition(wanted.end or _END, 0)
    rows = await tx.fetch(
        _PAGE, business_id, wanted.status, None, wanted.start or _START, *min(end, before or end), limit, None
    )
    return [_listed(row) for row in rows]


async def list_of_inflow(tx: Tx, business_id: str, collection_id: int, *, limit: int) -> list[ListedRefund]:
    """The newest first."""
    rows = await tx.fetch(_PAGE, business_id, None, None, _START, _END, 0, limit, collection_id)
    return [_listed(row) for row in rows]


async def find(tx: Tx, business_id: str, reference: str) -> ListedRefund | None:
    row = await tx.fetchrow(_PAGE, business_id, None, reference, _START, _END, 0, 1, None)
    return _listed(row) if row else None


# Of the five ways to the ids one is taken; the others end before they read anything. Who began and who approved a
# refund is read in the audit trail, which cannot be changed.
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
     WHERE refund.business_id = $1 AND refund.id = ANY (ARRAY(
           (SELECT id FROM refund WHERE business_id = $1 AND reference = $3::text)
            UNION ALL
           (SELECT id FROM refund
             WHERE business_id = $1 AND collection_id = $8::bigint ORDER BY id DESC LIMIT $7)
            UNION ALL
           (SELECT id FROM refund
             WHERE $3 IS NULL AND $8 IS NULL AND ($2::text IS NULL OR ($2 = 'successful' AND status = 'successful'))
               AND business_id = $1 AND initiated_at >= $4 AND (initiated_at, id) < ($5, $6)
             ORDER BY initiated_at DESC, id DESC LIMIT $7)
            UNION ALL
           (SELECT id FROM refund
             WHERE $2 = 'processing' AND business_id = $1 AND status = 'processing' AND initiated_at >= $4
               AND (initiated_at, id) < ($5, $6)
             ORDER BY initiated_at DESC, id DESC LIMIT $7)
            UNION ALL
           (SELECT id FROM refund
             WHERE $2 = 'failed' AND business_id = $1 AND status = 'failed' AND completed_at >= $4
               AND (completed_at, id) < ($5, $6)
             ORDER BY completed_at DESC, id DESC LIMIT $7)))
     ORDER BY CASE WHEN $2 = 'failed' THEN refund.completed_at ELSE refund.initiated_at END DESC, refund.id DESC
"""


def _listed(row: Row) -> ListedRefund:
    approved_by = (row["approved_by"] or "a former member") if row["is_approved"] else None
    origin = RefundOrigin(row["actor"], row["asked_by"], row["key_name"], approved_by, row["proposed_by"])
    return ListedRefund(view_of(row), origin)
