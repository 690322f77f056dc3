"""SQL of approvals and of the limits of refunds."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.approval.model import ApprovalRequest
from tidegate.core.money import Currency, Money
from tidegate.infra.db import Row, Tx


class RefundArguments(msgspec.Struct, frozen=True, kw_only=True):
    currency: Currency
    amount_minor: int
    reason: str | None = None
    note: str | None = None


_decode = msgspec.json.Decoder(RefundArguments).decode


async def insert(
    tx: Tx, business_id: str, arguments: RefundArguments, *, subject: str, version: int, why: str, asked_by: str,
    now: datetime, expires_at: datetime,
) -> int:  # fmt: skip
    approval_id: int = await tx.fetchval(
        """
        INSERT INTO approval (business_id, command, subject, subject_version, arguments, why, asked_by, asked_at,
                              expires_at)
        VALUES ($1, 'refund', $2, $3, $4, $5, $6, $7, $8) RETURNING id
        """,
        business_id, subject, version, msgspec.json.encode(arguments).decode(), why, asked_by, now, expires_at,
    )  # fmt: skip
    return approval_id


async def list_newest(tx: Tx, business_id: str, *, is_open: bool, limit: int) -> list[ApprovalRequest]:
    rows = await tx.fetch(
        """
        SELECT approval.*, asker.name AS asked_by_name, decider.name AS decided_by_name
          FROM approval JOIN person AS asker ON asker.id = asked_by
          LEFT JOIN person AS decider ON decider.id = decided_by
         WHERE approval.business_id = $1 AND (approval.status = 'open') = $2 ORDER BY approval.id DESC LIMIT $3
        """,
        business_id, is_open, limit,
    )  # fmt: skip
    return [_approval(row) for row in rows]


async def lock(tx: Tx, business_id: str, approval_id: int) -> ApprovalRequest | None:
    """Two who decide at once wait for each other here; the second finds it decided."""
    row = await tx.fetchrow(
        """
        SELECT approval.*, (SELECT name FROM person WHERE person.id = asked_by) AS asked_by_name,
               NULL AS decided_by_name
          FROM approval WHERE business_id = $1 AND id = $2 FOR UPDATE
        """,
        business_id, approval_id,
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


async def find_limit(tx: Tx, business_id: str, currency: Currency) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT limit_minor FROM refund_limit WHERE business_id = $1 AND currency = $2", business_id, currency
    )
    return found


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


async def count_other_approvers(tx: Tx, business_id: str, person_id: str) -> int:
    """Those whose role approves refunds; see the table of permissions."""
    return int(
        await tx.fetchval(
            """
            SELECT count(*) FROM membership
             WHERE business_id = $1 AND person_id <> $2 AND role IN ('owner', 'admin', 'finance')
            """,
            business_id, person_id,
        )
    )  # fmt: skip


def _approval(row: Row) -> ApprovalRequest:
    arguments = _decode(row["arguments"])
    return ApprovalRequest(
        business_id=row["business_id"],
        id=row["id"],
        subject=row["subject"],
        subject_version=row["subject_version"],
        amount=Money(arguments.amount_minor, arguments.currency),
        reason=arguments.reason,
        note=arguments.note,
        why=row["why"],
        asked_by=row["asked_by"],
        asked_by_name=row["asked_by_name"],
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        status=row["status"],
        decided_by_name=row["decided_by_name"],
        decided_at=row["decided_at"],
        outcome=row["outcome"],
    )
