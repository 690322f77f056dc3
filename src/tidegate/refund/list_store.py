"""SQL that lists refunds."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.infra.db import Row, Tx
from tidegate.refund.model import RefundStatus, RefundView
from tidegate.refund.store import refund_of
from tidegate.refund.subject_store import SubjectKey, collection_subject, payment_subject


class RefundFilter(msgspec.Struct, frozen=True, kw_only=True):
    """None does not filter. `start` is included, `end` is not."""

    status: RefundStatus | None = None
    subject: SubjectKey | None = None
    start: datetime | None = None
    end: datetime | None = None


async def list_page(
    tx: Tx, business_id: str, wanted: RefundFilter, *, before_id: int | None, limit: int
) -> list[RefundView]:
    """The newest first."""
    key = wanted.subject or SubjectKey(business_id, None, None)
    rows = await tx.fetch(
        _PAGE, business_id, wanted.status, key.payment_id, key.collection_id, wanted.start, wanted.end, before_id, limit
    )
    return [view_of(row) for row in rows]


# A business refunds a small part of its sales, so an index per filter would cost more than it saves.
_PAGE = """
    SELECT refund, payment, collection
      FROM refund
      LEFT JOIN payment ON payment.business_id = $1 AND payment.id = refund.payment_id
      LEFT JOIN collection ON collection.business_id = $1 AND collection.id = refund.collection_id
     WHERE refund.business_id = $1 AND ($2::text IS NULL OR refund.status = $2)
       AND ($3::bigint IS NULL OR refund.payment_id = $3) AND ($4::bigint IS NULL OR refund.collection_id = $4)
       AND ($5::timestamptz IS NULL OR refund.initiated_at >= $5)
       AND ($6::timestamptz IS NULL OR refund.initiated_at < $6)
       AND ($7::bigint IS NULL OR refund.id < $7)
     ORDER BY refund.id DESC LIMIT $8
"""


def view_of(row: Row) -> RefundView:
    """Of a row with whole rows of the refund, and of the payment or collection."""
    payment, collection = row["payment"], row["collection"]
    subject = payment_subject(payment, None) if payment else collection_subject(collection, None)
    return RefundView(refund_of(row["refund"]), subject)
