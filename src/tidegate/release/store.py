"""SQL of the versions that proposals are bound to. A thing that changes gets a higher number."""

from __future__ import annotations

from tidegate.infra.db import Tx


async def version_of_inflow(tx: Tx, business_id: str, reference: str) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT version FROM collection WHERE business_id = $1 AND reference = $2", business_id, reference
    )
    return found


async def version_of_account(tx: Tx, business_id: str, account_id: str) -> int | None:
    found: int | None = await tx.fetchval(
        "SELECT version FROM virtual_account WHERE business_id = $1 AND id = $2", business_id, account_id
    )
    return found


async def version_of_business(tx: Tx, business_id: str, _subject: str) -> int | None:
    """With its prices."""
    found: int | None = await tx.fetchval(
        """
        SELECT (extract(epoch FROM greatest(updated_at, (SELECT max(created_at) FROM fee_rule WHERE business_id = $1)))
                * 1000000)::bigint FROM business WHERE id = $1
        """,
        business_id,
    )
    return found


async def version_of_rate(tx: Tx, business_id: str, pair: str) -> int | None:
    found: int = await tx.fetchval(
        "SELECT coalesce(max(id), 0) FROM exchange_rate WHERE business_id = $1 AND base || '/' || quote = $2",
        business_id, pair,
    )  # fmt: skip
    return found


async def version_of_suspense(tx: Tx, business_id: str, receipt_id: str) -> int | None:
    """0 while it is in suspense: what is decided about it is decided once."""
    found: int | None = await tx.fetchval(
        """
        SELECT CASE WHEN outcome = 'suspense' THEN 0 ELSE 1 END FROM receipt
         WHERE business_id = $1 AND id::text = $2
        """,
        business_id, receipt_id,
    )  # fmt: skip
    return found


async def version_of_staff(tx: Tx, _business_id: str, email: str) -> int | None:
    """0 for an address that is not of the staff."""
    found: int | None = await tx.fetchval(
        """
        SELECT (extract(epoch FROM coalesce(ended_at, staff.created_at)) * 1000000)::bigint + length(role)
          FROM staff JOIN person ON person.id = staff.person_id WHERE person.email = $1
        """,
        email,
    )
    return found or 0


async def count_approvers(tx: Tx) -> int:
    return int(await tx.fetchval("SELECT count(*) FROM staff WHERE role = 'approver' AND ended_at IS NULL"))
