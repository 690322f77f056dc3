"""SQL of endpoints and their secrets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidegate.infra.db import Row, Tx
from tidegate.webhook.model import DisabledReason, Endpoint, EndpointStatus


async def insert(tx: Tx, endpoint: Endpoint) -> None:
    """With its row in endpoint_state, in a transaction: a cluster takes no statement that writes both."""
    await tx.execute(
        """
        INSERT INTO webhook_endpoint (business_id, id, url, events, description, status, disabled_reason,
                                      rate_per_second, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
        """,
        endpoint.business_id, endpoint.id, endpoint.url, list(endpoint.events), endpoint.description,
        endpoint.status, endpoint.disabled_reason, endpoint.rate_per_second, endpoint.created_at,
    )  # fmt: skip
    await tx.execute(
        "INSERT INTO endpoint_state (business_id, endpoint_id, full_at) VALUES ($1, $2, $3)",
        endpoint.business_id, endpoint.id, endpoint.created_at,
    )  # fmt: skip


async def find(tx: Tx, business_id: str, endpoint_id: str) -> Endpoint | None:
    row = await tx.fetchrow(
        "SELECT * FROM webhook_endpoint WHERE business_id = $1 AND id = $2 AND deleted_at IS NULL",
        business_id, endpoint_id,
    )  # fmt: skip
    return endpoint_of(row) if row else None


async def list_all(tx: Tx, business_id: str) -> list[Endpoint]:
    """The oldest first: it is the specification's single one, set by the business's webhook URL."""
    rows = await tx.fetch(
        """
        SELECT * FROM webhook_endpoint WHERE business_id = $1 AND deleted_at IS NULL ORDER BY created_at, id
        """,
        business_id,
    )
    return [endpoint_of(row) for row in rows]


async def update(
    tx: Tx, business_id: str, endpoint_id: str, changes: Mapping[str, Any], *, now: datetime
) -> Endpoint | None:
    """Absent settings stay; a description may be removed. Pending deliveries are tried again at once."""
    row = await tx.fetchrow(
        """
        WITH state AS (
            SELECT business_id, endpoint_id FROM endpoint_state WHERE business_id = $1 AND endpoint_id = $2 FOR UPDATE),
        changed AS (
            UPDATE webhook_endpoint
               SET url = coalesce($3, url), events = coalesce($4, events),
                   description = CASE WHEN $5 THEN $6 ELSE description END, status = coalesce($7, status),
                   disabled_reason = CASE WHEN $7 IS NULL THEN disabled_reason
                                          WHEN $7 = 'disabled' THEN coalesce(disabled_reason, 'merchant') END,
                   rate_per_second = coalesce($8, rate_per_second), updated_at = $9
              FROM state
             WHERE webhook_endpoint.business_id = $1 AND id = state.endpoint_id AND deleted_at IS NULL
            RETURNING webhook_endpoint.*),
        looked AS (
            UPDATE endpoint_state
               SET next_poll_at = $9, failures = 0, failing_since = NULL, openings = 0, open_until = NULL
              FROM changed
             WHERE endpoint_state.business_id = $1 AND endpoint_state.endpoint_id = changed.id)
        SELECT * FROM changed
        """,
        business_id, endpoint_id, changes.get("url"), changes.get("events"), "description" in changes,
        changes.get("description"), changes.get("status"), changes.get("rate_per_second"), now,
    )  # fmt: skip
    return endpoint_of(row) if row else None


async def delete(tx: Tx, business_id: str, endpoint_id: str, *, now: datetime) -> bool:
    """Requests in flight may still arrive; no others follow."""
    done = await tx.fetchval(
        """
        WITH state AS (
            SELECT business_id, endpoint_id FROM endpoint_state WHERE business_id = $1 AND endpoint_id = $2 FOR UPDATE),
        deleted AS (
            UPDATE webhook_endpoint AS endpoint SET deleted_at = $3, updated_at = $3
              FROM state
             WHERE endpoint.business_id = $1 AND endpoint.id = state.endpoint_id
               AND endpoint.deleted_at IS NULL
            RETURNING endpoint.business_id, endpoint.id),
        forgotten AS (
            DELETE FROM webhook_secret AS secret USING deleted
             WHERE secret.business_id = $1 AND secret.endpoint_id = deleted.id),
        cancelled AS (
            UPDATE webhook_delivery AS delivery SET status = 'cancelled', due_at = NULL
              FROM deleted
             WHERE delivery.business_id = $1 AND delivery.endpoint_id = deleted.id
               AND delivery.due_at IS NOT NULL)
        SELECT EXISTS (SELECT FROM deleted)
        """,
        business_id, endpoint_id, now,
    )  # fmt: skip
    return done is True


async def lock(tx: Tx, business_id: str, endpoint_id: str) -> Endpoint | None:
    """By its row in endpoint_state, like every change of its deliveries; returns the endpoint as locked."""
    row = await tx.fetchrow(
        """
        SELECT endpoint.*
          FROM endpoint_state AS state
          JOIN webhook_endpoint AS endpoint ON endpoint.business_id = state.business_id
               AND endpoint.id = state.endpoint_id
         WHERE state.business_id = $1 AND state.endpoint_id = $2 AND endpoint.deleted_at IS NULL
           FOR UPDATE OF state FOR SHARE OF endpoint
        """,
        business_id, endpoint_id,
    )  # fmt: skip
    return endpoint_of(row) if row else None


async def insert_secret(tx: Tx, business_id: str, endpoint_id: str | None, sealed: str, *, now: datetime) -> None:
    await tx.execute(
        "INSERT INTO webhook_secret (business_id, endpoint_id, sealed, created_at) VALUES ($1, $2, $3, $4)",
        business_id, endpoint_id, sealed, now,
    )  # fmt: skip


async def end_secrets(tx: Tx, business_id: str, endpoint_id: str, *, now: datetime, at: datetime) -> int:
    """Sets the expiry of current secrets, deletes expired ones. Returns how many are still valid."""
    await tx.execute(
        "DELETE FROM webhook_secret WHERE business_id = $1 AND endpoint_id = $2 AND expires_at <= $3",
        business_id, endpoint_id, now,
    )  # fmt: skip
    await tx.execute(
        """
        UPDATE webhook_secret SET expires_at = $3
         WHERE business_id = $1 AND endpoint_id = $2 AND expires_at IS NULL
        """,
        business_id, endpoint_id, at,
    )  # fmt: skip
    return int(
        await tx.fetchval(
            "SELECT count(*) FROM webhook_secret WHERE business_id = $1 AND endpoint_id = $2", business_id, endpoint_id
        )
    )


async def list_sealed(tx: Tx, business_id: str) -> list[str]:
    """Every valid or reserved secret of a business, of all endpoints."""
    rows = await tx.fetch(
        "SELECT sealed FROM webhook_secret WHERE business_id = $1 AND expires_at IS NULL ORDER BY id", business_id
    )
    return [row["sealed"] for row in rows]


async def find_waiting(tx: Tx, business_id: str) -> str | None:
    """The one reserved for the first endpoint."""
    sealed: str | None = await tx.fetchval(
        "SELECT sealed FROM webhook_secret WHERE business_id = $1 AND endpoint_id IS NULL ORDER BY id DESC LIMIT 1",
        business_id,
    )
    return sealed


async def delete_waiting(tx: Tx, business_id: str) -> None:
    await tx.execute("DELETE FROM webhook_secret WHERE business_id = $1 AND endpoint_id IS NULL", business_id)


def endpoint_of(row: Row) -> Endpoint:
    return Endpoint(
        business_id=row["business_id"],
        id=row["id"],
        url=row["url"],
        events=tuple(row["events"]),
        description=row["description"],
        status=EndpointStatus(row["status"]),
        disabled_reason=DisabledReason(row["disabled_reason"]) if row["disabled_reason"] else None,
        rate_per_second=row["rate_per_second"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
